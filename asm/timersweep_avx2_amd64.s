//go:build amd64 && !purego

#include "textflag.h"

// SWEEP clears the timers of all lines that are not live and returns how many. A timer
// is 0 after it more often than before by those that it clears.
#define SWEEP(SUB, MIN, EQ) \
	MOVQ lines+0(FP), DI           \
	MOVQ count+8(FP), CX           \
	VPBROADCASTQ now+16(FP), Y1    \
	VPBROADCASTQ oldest+24(FP), Y2 \
	VPXOR Y4, Y4, Y4               \
	VPXOR Y5, Y5, Y5               \
	ADDQ CX, CX                    \
half:                              \
	VMOVDQU (DI), Y0               \
	SUB Y0, Y1, Y3                 \
	MIN Y2, Y3, Y6                 \
	EQ Y6, Y3, Y3                  \
	VPAND Y0, Y3, Y3               \
	VMOVDQU Y3, (DI)               \
	EQ Y4, Y0, Y0                  \
	EQ Y4, Y3, Y3                  \
	SUB Y3, Y0, Y0                 \
	VPSADBW Y4, Y0, Y0             \
	VPADDQ Y0, Y5, Y5              \
	ADDQ $32, DI                   \
	DECQ CX                        \
	JNZ  half                      \
	VEXTRACTI128 $1, Y5, X0        \
	VPADDQ X0, X5, X5              \
	VPSRLDQ $8, X5, X0             \
	VPADDQ X0, X5, X5              \
	VMOVQ X5, AX                   \
	MOVQ AX, cleared+32(FP)        \
	VZEROUPPER                     \
	RET

// func sweepTimers8AVX2(lines *[8]uint64, count int, now, oldest uint64) (cleared uint64)
TEXT ·sweepTimers8AVX2(SB), NOSPLIT, $0-40
	SWEEP(VPSUBB, VPMINUB, VPCMPEQB)

// func sweepTimers16AVX2(lines *[8]uint64, count int, now, oldest uint64) (cleared uint64)
TEXT ·sweepTimers16AVX2(SB), NOSPLIT, $0-40
	SWEEP(VPSUBW, VPMINUW, VPCMPEQW)
