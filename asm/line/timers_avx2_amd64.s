// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "common_amd64.h"
#include "timers_amd64.h"

// Timer lines, a line two registers (AVX2). Registers in addition to those of
// timers_amd64.h: Y0 and Y1 are the line, Y2 the stamp in all timers, Y4 and Y5 all bits
// of the element's timers, Y6 and Y7 of its timers that are 0, Y8 and Y9 of live ones,
// later of the element's timers that are not live. Y15 is 0, Y14 has for each byte the
// number of its timer in its word, Y13 counts filled timers, Y12 and Y11 have the bytes'
// words. R13 is TimerRule.set[1].

// The word that a byte of a line lies in.
DATA wordOfByte<>+0(SB)/8, $0
DATA wordOfByte<>+8(SB)/8, $0x0101010101010101
DATA wordOfByte<>+16(SB)/8, $0x0202020202020202
DATA wordOfByte<>+24(SB)/8, $0x0303030303030303
DATA wordOfByte<>+32(SB)/8, $0x0404040404040404
DATA wordOfByte<>+40(SB)/8, $0x0505050505050505
DATA wordOfByte<>+48(SB)/8, $0x0606060606060606
DATA wordOfByte<>+56(SB)/8, $0x0707070707070707
GLOBL wordOfByte<>(SB), RODATA|NOPTR, $64

// The timer of its word that a byte belongs to, if timers have 8 or 16 bits.
DATA timerOf8<>+0(SB)/8, $0x0706050403020100
GLOBL timerOf8<>(SB), RODATA|NOPTR, $8
DATA timerOf16<>+0(SB)/8, $0x0303020201010000
GLOBL timerOf16<>(SB), RODATA|NOPTR, $8

#define CONSTANTS(TIMEROF) \
	LEAQ (TimerRule_set+8)(DX), R13    \
	VPXOR Y15, Y15, Y15                \
	VPBROADCASTQ TIMEROF<>(SB), Y14    \
	VPXOR Y13, Y13, Y13                \
	VMOVDQU wordOfByte<>(SB), Y12      \
	VMOVDQU wordOfByte<>+32(SB), Y11

// LOOK loads the line and finds the element's timers, the zero ones and the live ones.
#define LOOK(SUB, MIN, EQ) \
	FETCH                                  \
	VMOVDQU (DI)(BX*1), Y0                 \
	VMOVDQU 32(DI)(BX*1), Y1               \
	VPBROADCASTQ batch_low(SI)(CX*8), Y5 \
	VPSHUFB Y12, Y5, Y4                    \
	VPSHUFB Y11, Y5, Y5                    \
	VPCMPEQB Y14, Y4, Y4                   \
	VPCMPEQB Y14, Y5, Y5                   \
	VPBROADCASTQ (R12)(CX*8), Y2           \
	VPBROADCASTQ timerStamps_oldest(R12)(CX*8), Y3     \
	SUB Y0, Y2, Y8                         \
	SUB Y1, Y2, Y9                         \
	MIN Y3, Y8, Y6                         \
	MIN Y3, Y9, Y7                         \
	EQ Y6, Y8, Y8                          \
	EQ Y7, Y9, Y9                          \
	EQ Y15, Y0, Y6                         \
	EQ Y15, Y1, Y7                         \
	VPANDN Y8, Y6, Y8                      \
	VPANDN Y9, Y7, Y9

// JUDGE sets DX to -1 and sets the carry if all timers of the element are live.
#define JUDGE \
	VPANDN Y4, Y8, Y8                      \
	VPANDN Y5, Y9, Y9                      \
	VPOR Y8, Y9, Y8                        \
	VPTEST Y8, Y15                         \
	SBBQ DX, DX

// SET collects the carry and sets the timers.
#define SET(SUB, LOOP) \
	ADCQ R8, R8                            \
	VPBROADCASTQ (R13)(DX*8), Y3           \
	VPAND Y3, Y4, Y4                       \
	VPAND Y3, Y5, Y5                       \
	VPXOR Y2, Y0, Y8                       \
	VPXOR Y2, Y1, Y9                       \
	VPAND Y4, Y8, Y8                       \
	VPAND Y5, Y9, Y9                       \
	VPXOR Y8, Y0, Y0                       \
	VPXOR Y9, Y1, Y1                       \
	VMOVDQU Y0, (DI)(BX*1)                 \
	VMOVDQU Y1, 32(DI)(BX*1)               \
	VPAND Y4, Y6, Y6                       \
	VPAND Y5, Y7, Y7                       \
	SUB Y6, Y13, Y13                       \
	SUB Y7, Y13, Y13                       \
	NEXTTIMER(LOOP)

// BITS sets R14 to a bit for each timer that is set in A and B.
#define BITS(A, B, ONE) \
	VPMOVMSKB A, R14                       \
	VPMOVMSKB B, DX                        \
	ONE(R14)                               \
	ONE(DX)                                \
	SHLQ $32, DX                           \
	ORQ  DX, R14

// ONE8 and ONE16 leave one bit of each timer.
#define ONE8(R)
#define ONE16(R) ANDL $0x55555555, R

// EQUAL sets R15 to the size of the largest group of the element's timers that are equal.
#define EQUAL(BROADCAST, EQ, ONE, TIMER) \
	BITS(Y4, Y5, ONE)                      \
	MOVQ R14, DX                           \
	ROUNDS                                 \
TIMER:                                     \
	TZCNTQ R10, R14                        \
	BLSRQ R10, R10                         \
	ADDQ BX, R14                           \
	BROADCAST (DI)(R14*1), Y3              \
	EQ Y3, Y0, Y10                         \
	EQ Y3, Y1, Y3                          \
	VPAND Y4, Y10, Y10                     \
	VPAND Y5, Y3, Y3                       \
	BITS(Y10, Y3, ONE)                     \
	GROUP(TIMER)

// JUDGEGROUP sets DX to 0 if the largest group is too small, and brings it to the carry.
#define JUDGEGROUP \
	XORL AX, AX       \
	SMALL             \
	ANDNQ DX, AX, DX  \
	MOVQ DX, AX       \
	NEGQ AX

// FINISH adds up the bytes of Y13 and returns.
#define FINISH \
	VPSADBW Y15, Y13, Y13                  \
	VEXTRACTI128 $1, Y13, X0               \
	VPADDQ X0, X13, X13                    \
	VPSRLDQ $8, X13, X0                    \
	VPADDQ X0, X13, X13                    \
	VMOVQ X13, AX                          \
	ENDTIMERS

// Stamps of ticks (AVX2).

// BEGINSTAMPS loads the arguments, and Y0 to Y5: 1, 2^bits - 1, the window, the window
// less 1, 2^32 - 1, and the shuffle that copies a stamp to all timers of its word.
#define BEGINSTAMPS(BITS, EACH) \
	MOVQ s+0(FP), DI               \
	MOVQ ticks+8(FP), SI           \
	MOVQ groups+16(FP), CX         \
	VPBROADCASTQ window+24(FP), Y2 \
	VPCMPEQB Y4, Y4, Y4            \
	VPSRLQ $63, Y4, Y0             \
	VPSRLQ $(64-BITS), Y4, Y1      \
	VPSUBQ Y0, Y2, Y3              \
	VPSRLQ $32, Y4, Y4             \
	VMOVDQU EACH<>(SB), Y5

// FOLD replaces Y6 by a smaller number that is equal modulo 2^SHIFT - 1, MASK: the upper
// bits are added to the lower ones. It never makes 0 of another number.
#define FOLD(SHIFT, MASK) \
	VPSRLQ $SHIFT, Y6, Y7        \
	VPAND MASK, Y6, Y6           \
	VPADDQ Y7, Y6, Y6

// PUTSTAMPS stores the stamps Y6 and the differences that belong to them.
#define PUTSTAMPS(LOOP) \
	VPCMPGTQ Y6, Y2, Y7          \
	VPSUBQ Y7, Y3, Y7            \
	VPSHUFB Y5, Y6, Y6           \
	VPSHUFB Y5, Y7, Y7           \
	VMOVDQU Y6, (DI)             \
	VMOVDQU Y7, timerStamps_oldest(DI)       \
	ADDQ $32, SI                 \
	ADDQ $32, DI                 \
	DECQ CX                      \
	JNZ  LOOP                    \
	VZEROUPPER                   \
	RET

// SWEEP clears the timers of all lines that are not live and returns how many. The excess
// of zero timers after it over before is the number that it clears.
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

// TIMERS looks up the elements.
#define TIMERS(SUB, MIN, EQ, BROADCAST, ONE) \
	CMPQ TimerRule_equal(DX), $2                \
	JCC  equal                                  \
element:                                            \
	LOOK(SUB, MIN, EQ)                          \
	JUDGE                                       \
	SET(SUB, element)                           \
	FINISH                                      \
equal:                                              \
	LOOK(SUB, MIN, EQ)                          \
	EQUAL(BROADCAST, EQ, ONE, timer)            \
	JUDGE                                       \
	JUDGEGROUP                                  \
	SET(SUB, equal)                             \
	FINISH

// func timers8AVX2(lines *[8]uint64, current, ahead *batch, n int, s *timerStamps, r *TimerRule) (found, filled uint64)
TEXT ·timers8AVX2(SB), NOSPLIT, $0-64
	BEGINTIMERS
	CONSTANTS(timerOf8)
	TIMERS(VPSUBB, VPMINUB, VPCMPEQB, VPBROADCASTB, ONE8)

// func timers16AVX2(lines *[8]uint64, current, ahead *batch, n int, s *timerStamps, r *TimerRule) (found, filled uint64)
TEXT ·timers16AVX2(SB), NOSPLIT, $0-64
	BEGINTIMERS
	CONSTANTS(timerOf16)
	TIMERS(VPSUBW, VPMINUW, VPCMPEQW, VPBROADCASTW, ONE16)

// func stamps8AVX2(s *timerStamps, ticks *uint64, groups int, window uint64)
//
// In the way of stamps8AVX512.
TEXT ·stamps8AVX2(SB), NOSPLIT, $0-32
	BEGINSTAMPS(8, eachByte)
	VPXOR Y8, Y8, Y8

group:
	VMOVDQU (SI), Y6
	VPSADBW Y8, Y6, Y6
	VPADDQ Y0, Y6, Y6
	FOLD(8, Y1)
	FOLD(8, Y1)
	PUTSTAMPS(group)

// func stamps16AVX2(s *timerStamps, ticks *uint64, groups int, window uint64)
TEXT ·stamps16AVX2(SB), NOSPLIT, $0-32
	BEGINSTAMPS(16, eachPair)

group:
	VMOVDQU (SI), Y6
	FOLD(32, Y4)
	FOLD(16, Y1)
	VPADDQ Y0, Y6, Y6
	FOLD(16, Y1)
	FOLD(16, Y1)
	PUTSTAMPS(group)

// func decreasingAVX2(ticks *uint64, groups int) (fell bool)
//
// With the top bits inverted, numbers without a sign compare as those with one do.
TEXT ·decreasingAVX2(SB), NOSPLIT, $0-17
	MOVQ ticks+0(FP), SI
	MOVQ groups+8(FP), CX
	VPCMPEQQ Y3, Y3, Y3
	VPSLLQ $63, Y3, Y3
	VPXOR Y2, Y2, Y2

group:
	VPXOR (SI), Y3, Y0
	VPXOR 8(SI), Y3, Y1
	VPCMPGTQ Y1, Y0, Y0
	VPOR Y0, Y2, Y2
	ADDQ $32, SI
	DECQ CX
	JNZ  group
	VPTEST Y2, Y2
	SETNE fell+16(FP)
	VZEROUPPER
	RET

// func sweepTimers8AVX2(lines *[8]uint64, count int, now, oldest uint64) (cleared uint64)
TEXT ·sweepTimers8AVX2(SB), NOSPLIT, $0-40
	SWEEP(VPSUBB, VPMINUB, VPCMPEQB)

// func sweepTimers16AVX2(lines *[8]uint64, count int, now, oldest uint64) (cleared uint64)
TEXT ·sweepTimers16AVX2(SB), NOSPLIT, $0-40
	SWEEP(VPSUBW, VPMINUW, VPCMPEQW)
