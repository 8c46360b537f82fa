//go:build arm64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "common_arm64.h"

// Coarse rows, a line four registers (Advanced SIMD). R4 is the coarseRule, R11 to R14 and
// R19 are its window, above, latest, old and masks. R5 collects the elements near their
// cell, R6 those that are found, R20 those whose cell is taken: each bit is shifted in from
// below.

// BEGIN leaves the number of elements of the second half in the frame.
#define BEGIN \
	BEGINHALVES                          \
	MOVD R13, half-8(SP)                 \
	MOVD r+32(FP), R4                    \
	MOVD coarseRule_window(R4), R11      \
	MOVD coarseRule_above(R4), R12       \
	MOVD coarseRule_tooLate(R4), R13      \
	MOVD $const_coarseOld, R14           \
	MOVD coarseRule_masks(R4), R19       \
	ADD  $64, R19                        \
	MOVD ZR, R20                         \
	MOVD $0x8040201008040201, R8         \
	VDUP R8, V20.D2                      \
	VDUP R14, V21.S4

// AGE sets R21 to the clock, R22 to how late the element is, and R23 to how much cells age.
// A byte that is at most V17 grows by V18; others stop at 255.
#define AGE \
	LOADLINE                          \
	MOVWU 60(R7), R21                 \
	MOVD  504(R1), R8                 \
	LSR   $32, R8, R24                \
	SUBW  R24, R21, R22               \
	SUBW  R21, R24, R23               \
	CMP   R14, R23                    \
	CSEL  HI, R14, R23, R23           \
	CMP   R13, R22                    \
	CSEL  HS, R24, R21, R21           \
	CSEL  HS, ZR, R22, R22            \
	CSEL  HS, R23, ZR, R23            \
	MVNW  R23, R24                    \
	VDUP  R24, V17.S4                 \
	VDUP  R23, V18.S4                 \
	VUMIN V17.B16, V0.B16, V0.B16     \
	VUMIN V17.B16, V1.B16, V1.B16     \
	VUMIN V17.B16, V2.B16, V2.B16     \
	VUMIN V17.B16, V3.B16, V3.B16     \
	VADD  V18.B16, V0.B16, V0.B16     \
	VADD  V18.B16, V1.B16, V1.B16     \
	VADD  V18.B16, V2.B16, V2.B16     \
	VADD  V18.B16, V3.B16, V3.B16

// FIND sets R9 to the number of the cell that goes, R10 to its age, and R24 to 1 if that is
// near the element, R25 to 1 if it has the fingerprint. R8 is the new cell with age 255.
#define FIND \
	AGE                               \
	VDUP  R8, V4.S4                   \
	VORR  V21.B16, V0.B16, V5.B16     \
	VORR  V21.B16, V1.B16, V6.B16     \
	VORR  V21.B16, V2.B16, V7.B16     \
	VORR  V21.B16, V3.B16, V16.B16    \
	VCMEQ V4.S4, V5.S4, V5.S4         \
	VCMEQ V4.S4, V6.S4, V6.S4         \
	VCMEQ V4.S4, V7.S4, V7.S4         \
	VCMEQ V4.S4, V16.S4, V16.S4       \
	VUZP1 V6.H8, V5.H8, V5.H8         \
	VUZP1 V16.H8, V7.H8, V6.H8        \
	VUZP1 V6.B16, V5.B16, V5.B16      \
	VEXT  $8, V5.B16, V5.B16, V6.B16  \
	VAND  V20.B16, V5.B16, V5.B16     \
	VAND  V20.B16, V6.B16, V6.B16     \
	VADDP V6.B16, V5.B16, V5.B16      \
	VADDP V5.B16, V5.B16, V5.B16      \
	VADDP V5.B16, V5.B16, V5.B16      \
	VMOV  V5.H[0], R9                 \
	ANDS  $0x7fff, R9, R9             \
	CSET  NE, R25                     \
	ADD   R6<<1, R25, R6              \
	ORR   $0x4000, R9, R9             \
	RBIT  R9, R9                      \
	CLZ   R9, R9                      \
	MOVWU (R7)(R9<<2), R10            \
	CMP   R14, R10                    \
	CSET  HI, R24                     \
	ADD   R20<<1, R24, R20            \
	AND   $0xff, R10, R10             \
	ADD   R23, R10, R10               \
	CMP   R14, R10                    \
	CSEL  HI, R14, R10, R10           \
	ADD   R11, R10, R24               \
	SUB   R22, R24, R24               \
	CMP   R12, R24                    \
	CSET  LO, R24                     \
	ADD   R5<<1, R24, R5

// KEEP makes a copy move no cell: none is before number -1.
#define KEEP \
	AND  R25, R24, R24 \
	NEG  R24, R24      \
	ORR  R24, R9, R9

// RENEW gives a copy the later one of both times in R22.
#define RENEW \
	AND  R25, R24, R24         \
	CMP  R22, R10              \
	CSEL LO, R10, R22, R10     \
	CMP  $0, R24               \
	CSEL NE, R10, R22, R22

// MOVE moves the cells up to number R9 on by one, with the new cell in front, and stores
// the line.
#define MOVE(LOOP) \
	EOR  $255, R22, R22                               \
	EORW R22, R8, R8                                  \
	VDUP R8, V4.S4                                    \
	ADD  R9<<6, R19, R9                               \
	VLD1 (R9), [V16.B16, V17.B16, V18.B16, V19.B16]   \
	VEXT $12, V0.B16, V4.B16, V5.B16                  \
	VEXT $12, V1.B16, V0.B16, V6.B16                  \
	VEXT $12, V2.B16, V1.B16, V7.B16                  \
	VEXT $12, V3.B16, V2.B16, V8.B16                  \
	VBIT V16.B16, V5.B16, V0.B16                      \
	VBIT V17.B16, V6.B16, V1.B16                      \
	VBIT V18.B16, V7.B16, V2.B16                      \
	VBIT V19.B16, V8.B16, V3.B16                      \
	VST1 [V0.B16, V1.B16, V2.B16, V3.B16], (R7)       \
	MOVW R21, 60(R7)                                  \
	SUBS $1, R3, R3                                   \
	BNE  LOOP

// HALF goes on with the second half, if there is one.
#define HALF(LOOP) \
	MOVD ahead+16(FP), R2 \
	MOVD half-8(SP), R3   \
	MOVD ZR, half-8(SP)   \
	CBNZ R3, LOOP

#define END \
	MOVD R5, near+40(FP)   \
	MOVD R6, found+48(FP)  \
	MOVD R20, taken+56(FP) \
	RET

// func coarseRowsNEON(lines *[8]uint64, current, ahead *batch, n int, r *coarseRule) (near, found, taken uint64)
TEXT ·coarseRowsNEON(SB), NOSPLIT, $16-64
	BEGIN
	MOVBU coarseRule_refresh(R4), R8
	CBNZ  R8, refresh

plain:
	FIND
	KEEP
	MOVE(plain)
	HALF(plain)
	END

refresh:
	FIND
	RENEW
	MOVE(refresh)
	HALF(refresh)
	END
