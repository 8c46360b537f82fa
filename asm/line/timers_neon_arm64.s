// SPDX-License-Identifier: Apache-2.0

//go:build arm64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "common_arm64.h"

// Timer lines, a line four registers (Advanced SIMD). Registers are as in common_arm64.h:
// R5 collects the elements that are found, R6 the timers of elements that are not 0. V0
// to V3 are the line, V4 the stamp in all timers, V5 the largest difference of a live
// stamp from it. V16 to V19 have the word of each byte, V20 the number of its timer in
// that word. R12 and R14 go through stamps and differences. R10 is minus the number of
// bytes that the element's timers have, in 8 bits, R11 TimerRule.set[0].

// The place of an element's cells in the batch, when R1 has moved on by one element.
#define CELLS (batch_low-8)

DATA wordOf<>+0(SB)/8, $0
DATA wordOf<>+8(SB)/8, $0x0101010101010101
DATA wordOf<>+16(SB)/8, $0x0202020202020202
DATA wordOf<>+24(SB)/8, $0x0303030303030303
DATA wordOf<>+32(SB)/8, $0x0404040404040404
DATA wordOf<>+40(SB)/8, $0x0505050505050505
DATA wordOf<>+48(SB)/8, $0x0606060606060606
DATA wordOf<>+56(SB)/8, $0x0707070707070707
GLOBL wordOf<>(SB), RODATA|NOPTR, $64

// BEGINTIMERS has the numbers of a word's timers in NUMBERS, which have 2^LOGBYTES bytes.
#define BEGINTIMERS(NUMBERS, LOGBYTES) \
	BEGINHALVES                                       \
	MOVD s+32(FP), R12                                \
	ADD  $timerStamps_oldest, R12, R14                \
	MOVD r+40(FP), R8                                 \
	MOVD TimerRule_set(R8), R11                       \
	MOVD TimerRule_k(R8), R10                         \
	LSL  $LOGBYTES, R10, R10                          \
	NEG  R10, R10                                     \
	AND  $255, R10, R10                               \
	MOVD $NUMBERS, R9                                 \
	VDUP R9, V20.D2                                   \
	MOVD $wordOf<>(SB), R9                            \
	VLD1 (R9), [V16.B16, V17.B16, V18.B16, V19.B16]

// OWN sets A to the timers of the element in LINE, and B to the live ones of them. A
// timer that is 0 is not live.
#define OWN(WORDS, LINE, A, B, T, LANES) \
	VTBL WORDS.B16, [V6.B16], A.B16   \
	VCMEQ V20.B16, A.B16, A.B16       \
	VCMTST LINE.LANES, LINE.LANES, T.LANES \
	VAND A.B16, T.B16, T.B16          \
	VSUB LINE.LANES, V4.LANES, B.LANES \
	VUMIN V5.LANES, B.LANES, V7.LANES \
	VCMEQ V7.LANES, B.LANES, B.LANES  \
	VAND T.B16, B.B16, B.B16

// TOTAL sets R to the sum of the bytes of four registers, and overwrites SUM and Y.
#define TOTAL(SUM, X, Y, Z, R) \
	VADD X.B16, SUM.B16, SUM.B16 \
	VADD Z.B16, Y.B16, Y.B16     \
	VADD Y.B16, SUM.B16, SUM.B16 \
	VADDV SUM.B16, SUM           \
	VMOV SUM.B[0], R

// ELEMENT takes an element. It is found if all its timers are live, which are all ones.
// Then all its timers are also nonzero.
#define ELEMENT(LANES, LOOP) \
	LOADLINE                                       \
	FMOVD CELLS(R1), F6                            \
	VLD1R.P 8(R12), [V4.D2]                        \
	VLD1R.P 8(R14), [V5.D2]                        \
	OWN(V16, V0, V8, V12, V24, LANES)              \
	OWN(V17, V1, V9, V13, V25, LANES)              \
	OWN(V18, V2, V10, V14, V26, LANES)             \
	OWN(V19, V3, V11, V15, V27, LANES)             \
	TOTAL(V12, V13, V14, V15, R8)                  \
	TOTAL(V24, V25, V26, V27, R9)                  \
	NEG  R9, R9                                    \
	AND  $255, R9, R9                              \
	ADD  R9, R6, R6                                \
	CMP  R10, R8                                   \
	CSET EQ, R8                                    \
	ADD  R5<<1, R8, R5                             \
	MOVD $-1, R8                                   \
	CSEL EQ, R11, R8, R8                           \
	VDUP R8, V12.D2                                \
	VAND V12.B16, V8.B16, V8.B16                   \
	VAND V12.B16, V9.B16, V9.B16                   \
	VAND V12.B16, V10.B16, V10.B16                 \
	VAND V12.B16, V11.B16, V11.B16                 \
	VBIT V8.B16, V4.B16, V0.B16                    \
	VBIT V9.B16, V4.B16, V1.B16                    \
	VBIT V10.B16, V4.B16, V2.B16                   \
	VBIT V11.B16, V4.B16, V3.B16                   \
	VST1 [V0.B16, V1.B16, V2.B16, V3.B16], (R7)    \
	NEXT(LOOP)

// END returns verdicts, and the number of timers filled: all timers of the elements, less
// the nonzero ones.
#define END(LOGBYTES) \
	MOVD r+40(FP), R8              \
	MOVD TimerRule_k(R8), R8       \
	MOVD n+24(FP), R9              \
	MUL  R9, R8, R8                \
	SUB  R6>>LOGBYTES, R8, R8      \
	MOVD R5, found+48(FP)          \
	MOVD R8, filled+56(FP)         \
	RET

// CLEAR clears the timers of A that are not live, given the present stamp V4 and the
// largest difference V5, and sets C to 1 for each.
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

// func timers8NEON(lines *[8]uint64, current, ahead *batch, n int, s *timerStamps, r *TimerRule) (found, filled uint64)
TEXT ·timers8NEON(SB), NOSPLIT, $0-64
	BEGINTIMERS(0x0706050403020100, 0)

element:
	ELEMENT(B16, element)
	END(0)

// func timers16NEON(lines *[8]uint64, current, ahead *batch, n int, s *timerStamps, r *TimerRule) (found, filled uint64)
TEXT ·timers16NEON(SB), NOSPLIT, $0-64
	BEGINTIMERS(0x0303020201010000, 1)

element:
	ELEMENT(H8, element)
	END(1)

// func sweepTimers8NEON(lines *[8]uint64, count int, now, oldest uint64) (cleared uint64)
TEXT ·sweepTimers8NEON(SB), NOSPLIT, $0-40
	SWEEP(B16)

// func sweepTimers16NEON(lines *[8]uint64, count int, now, oldest uint64) (cleared uint64)
TEXT ·sweepTimers16NEON(SB), NOSPLIT, $0-40
	SWEEP(H8)
