//go:build arm64 && !purego

#include "textflag.h"

// CLEAR clears the timers of A that are not live, of which V4 has the present stamp and V5
// the largest difference, and makes C 1 for each.
#define CLEAR(A, B, C, LANES) \
	VSUB A.LANES, V4.LANES, B.LANES   \
	VUMIN V5.LANES, B.LANES, C.LANES  \
	VCMEQ C.LANES, B.LANES, B.LANES   \
	VCMTST A.LANES, A.LANES, C.LANES  \
	VAND B.B16, A.B16, A.B16          \
	VCMTST A.LANES, A.LANES, B.LANES  \
	VSUB C.LANES, B.LANES, C.LANES

// SWEEP clears the timers of all lines that are not live and returns how many.
#define SWEEP(LANES) \
	MOVD lines+0(FP), R0                           \
	MOVD count+8(FP), R1                           \
	MOVD now+16(FP), R2                            \
	MOVD oldest+24(FP), R3                         \
	VDUP R2, V4.D2                                 \
	VDUP R3, V5.D2                                 \
	MOVD ZR, R6                                    \
line:                                              \
	VLD1 (R0), [V0.B16, V1.B16, V2.B16, V3.B16]    \
	CLEAR(V0, V6, V8, LANES)                       \
	CLEAR(V1, V6, V9, LANES)                       \
	CLEAR(V2, V6, V10, LANES)                      \
	CLEAR(V3, V6, V11, LANES)                      \
	VST1.P [V0.B16, V1.B16, V2.B16, V3.B16], 64(R0) \
	VADD V9.B16, V8.B16, V8.B16                    \
	VADD V11.B16, V10.B16, V10.B16                 \
	VADD V10.B16, V8.B16, V8.B16                   \
	VUADDLV V8.B16, V8                             \
	VMOV V8.H[0], R2                               \
	ADD  R2, R6, R6                                \
	SUBS $1, R1, R1                                \
	BNE  line                                      \
	MOVD R6, cleared+32(FP)                        \
	RET

// func sweepTimers8NEON(lines *[8]uint64, count int, now, oldest uint64) (cleared uint64)
TEXT ·sweepTimers8NEON(SB), NOSPLIT, $0-40
	SWEEP(B16)

// func sweepTimers16NEON(lines *[8]uint64, count int, now, oldest uint64) (cleared uint64)
TEXT ·sweepTimers16NEON(SB), NOSPLIT, $0-40
	SWEEP(H8)
