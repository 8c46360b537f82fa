// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "common_amd64.h"
#include "timers_amd64.h"

// Timer lines (AVX-512 BW): a line is one register, and a set of its timers a mask.
// Registers in addition to those of timers_amd64.h: Z0 the line, Z1 the stamp in all
// timers, DX the element's timers, K1 the timers of the line that are not 0, Z14 how
// often each was filled, Z15 a one of all timers, less than 0.

// The masks of numbers from 0 to 7, none for cellNone.
DATA timerPowers<>+0(SB)/8, $0x8040201008040201
DATA timerPowers<>+8(SB)/8, $0
GLOBL timerPowers<>(SB), RODATA|NOPTR, $16

// MASKS replaces the cells of the batch by masks of timers.
#define MASKS(PACK, MASKED) \
	MOVQ current+8(FP), R14                     \
	LEAQ 512(R14), R15                        \
	VBROADCASTI64X2 timerPowers<>(SB), Z2     \
MASKED:                                       \
	VMOVDQU64 batch_low(R14), Z0          \
	VPSHUFB Z0, Z2, Z0                        \
	PACK                                      \
	VMOVDQU64 Z0, batch_low(R14)          \
	ADDQ $64, R14                             \
	CMPQ R14, R15                             \
	JNE  MASKED

// PACK16 joins the four bits of each byte of a word; PACK8 has nothing to do.
#define PACK8

#define PACK16 \
	VPSRLQ $4, Z0, Z1         \
	VPORQ Z1, Z0, Z0          \
	VPSHUFB Z3, Z0, Z0

DATA evenBytes<>+0(SB)/8, $0x8080808006040200
DATA evenBytes<>+8(SB)/8, $0x808080800e0c0a08
GLOBL evenBytes<>(SB), RODATA|NOPTR, $16

// LOOK sets K2 to the timers of the line that are live.
#define LOOK(TEST, SUB, COMPARE) \
	FETCH                                \
	VMOVDQU64 (DI)(BX*1), Z0             \
	VPBROADCASTQ (R12)(CX*8), Z1         \
	VPBROADCASTQ timerStamps_oldest(R12)(CX*8), Z2   \
	MOVQ batch_low(SI)(CX*8), DX     \
	TEST Z0, Z0, K1                      \
	SUB  Z0, Z1, Z3                      \
	COMPARE $2, Z2, Z3, K1, K2

// MISSING sets AX to the element's timers that are not live.
#define MISSING(KMOV) \
	KMOV K2, AX       \
	ANDNQ DX, AX, AX

// SET sets the timers of an element that is not found, given by AX, or with R13 of every
// element.
#define SET(KMOV, KANDN, SUB, MOVE, LOOP) \
	MOVQ DX, R14               \
	ANDQ R13, R14              \
	CMPQ AX, $1                \
	CMOVQCS R14, DX            \
	ADCQ R8, R8                \
	KMOV DX, K3                \
	KANDN K3, K1, K4           \
	MOVE Z1, K3, Z0            \
	VMOVDQU64 Z0, (DI)(BX*1)   \
	SUB  Z15, Z14, K4, Z14     \
	NEXTTIMER(LOOP)

// EQUAL sets R15 to the size of the largest group of the element's timers that are equal.
#define EQUAL(KMOV, WIDTH, BROADCAST, COMPARE, TIMER) \
	KMOV DX, K3                      \
	ROUNDS                           \
TIMER:                               \
	TZCNTQ R10, R14                  \
	BLSRQ R10, R10                   \
	LEAQ (BX)(R14*WIDTH), R14        \
	BROADCAST (DI)(R14*1), Z3        \
	COMPARE Z3, Z0, K3, K4           \
	KMOV K4, R14                     \
	GROUP(TIMER)

// SUM sets AX to the sum of the words of Z14.
#define SUM \
	VEXTRACTI64X4 $1, Z14, Y0     \
	VPADDQ Y0, Y14, Y14           \
	VEXTRACTI128 $1, Y14, X0      \
	VPADDQ X0, X14, X14           \
	VPSRLDQ $8, X14, X0           \
	VPADDQ X0, X14, X14           \
	VMOVQ X14, AX

// Stamps of ticks (AVX-512).

// BEGINSTAMPS loads the arguments, and Z0 to Z5: 1, 2^bits - 1, the window, the window
// less 1, 2^32 - 1, and the shuffle that copies a stamp to all timers of its word.
#define BEGINSTAMPS(PERIOD, EACH) \
	MOVQ s+0(FP), DI             \
	MOVQ ticks+8(FP), SI         \
	MOVQ groups+16(FP), CX       \
	VPBROADCASTQ window+24(FP), Z2 \
	MOVL $1, AX                  \
	VPBROADCASTQ AX, Z0          \
	MOVL $PERIOD, AX             \
	VPBROADCASTQ AX, Z1          \
	VPSUBQ Z0, Z2, Z3            \
	MOVL $-1, AX                 \
	VPBROADCASTQ AX, Z4          \
	VBROADCASTI64X4 EACH<>(SB), Z5

// FOLD replaces Z6 by a smaller number that is equal modulo 2^SHIFT - 1, MASK: the upper
// bits are added to the lower ones. It never makes 0 of another number.
#define FOLD(SHIFT, MASK) \
	VPSRLQ $SHIFT, Z6, Z7        \
	VPANDQ MASK, Z6, Z6          \
	VPADDQ Z7, Z6, Z6

// PUTSTAMPS stores the stamps Z6 and the differences that belong to them.
#define PUTSTAMPS(LOOP) \
	VPCMPUQ $1, Z2, Z6, K1       \
	VPBLENDMQ Z2, Z3, K1, Z7     \
	VPSHUFB Z5, Z6, Z6           \
	VPSHUFB Z5, Z7, Z7           \
	VMOVDQU64 Z6, (DI)           \
	VMOVDQU64 Z7, timerStamps_oldest(DI)     \
	ADDQ $64, SI                 \
	ADDQ $64, DI                 \
	DECQ CX                      \
	JNZ  LOOP                    \
	VZEROUPPER                   \
	RET

// SWEEP clears the timers of all lines that are not live and returns how many.
#define SWEEP(TEST, SUB, COMPARE, KMOV, MOVE) \
	MOVQ lines+0(FP), DI                               \
	MOVQ count+8(FP), CX                               \
	VPBROADCASTQ now+16(FP), Z1                        \
	VPBROADCASTQ oldest+24(FP), Z2                     \
	VPXORQ Z4, Z4, Z4                                  \
	XORL BX, BX                                        \
line:                                                  \
	VMOVDQU64 (DI), Z0                                 \
	TEST Z0, Z0, K1                                    \
	SUB  Z0, Z1, Z3                                    \
	COMPARE $6, Z2, Z3, K1, K2                         \
	MOVE Z4, K2, Z0                                    \
	VMOVDQU64 Z0, (DI)                                 \
	KMOV K2, AX                                        \
	POPCNTQ AX, AX                                     \
	ADDQ AX, BX                                        \
	ADDQ $64, DI                                       \
	DECQ CX                                            \
	JNZ  line                                          \
	MOVQ BX, cleared+32(FP)                            \
	VZEROUPPER                                         \
	RET

// TIMERS looks up the elements, once MASKS is done.
#define TIMERS(TEST, SUB, COMPARE, KMOV, KANDN, MOVE, WIDTH, BROADCAST, EQ) \
	VPTERNLOGQ $0xff, Z15, Z15, Z15             \
	VPXORQ Z14, Z14, Z14                        \
	CMPQ TimerRule_equal(DX), $2                \
	JCC  equal                                  \
element:                                            \
	LOOK(TEST, SUB, COMPARE)                    \
	MISSING(KMOV)                               \
	SET(KMOV, KANDN, SUB, MOVE, element)        \
	JMP  done                                   \
equal:                                              \
	LOOK(TEST, SUB, COMPARE)                    \
	EQUAL(KMOV, WIDTH, BROADCAST, EQ, timer)    \
	MISSING(KMOV)                               \
	SMALL                                       \
	SET(KMOV, KANDN, SUB, MOVE, equal)          \
done:                                               \
	VPXORQ Z0, Z0, Z0                           \
	VPSADBW Z0, Z14, Z14                        \
	SUM                                         \
	ENDTIMERS

// func timers8AVX512(lines *[8]uint64, current, ahead *batch, n int, s *timerStamps, r *TimerRule) (found, filled uint64)
TEXT ·timers8AVX512(SB), NOSPLIT, $0-64
	BEGINTIMERS
	MASKS(PACK8, masked)
	TIMERS(VPTESTMB, VPSUBB, VPCMPUB, KMOVQ, KANDNQ, VMOVDQU8, 1, VPBROADCASTB, VPCMPEQB)

// func timers16AVX512(lines *[8]uint64, current, ahead *batch, n int, s *timerStamps, r *TimerRule) (found, filled uint64)
TEXT ·timers16AVX512(SB), NOSPLIT, $0-64
	BEGINTIMERS
	VBROADCASTI64X2 evenBytes<>(SB), Z3
	MASKS(PACK16, masked)
	TIMERS(VPTESTMW, VPSUBW, VPCMPUW, KMOVD, KANDND, VMOVDQU16, 2, VPBROADCASTW, VPCMPEQW)

// func stamps8AVX512(s *timerStamps, ticks *uint64, groups int, window uint64)
//
// The stamps are tick + 1, not 0, folded until it fits. The sum of a number's bytes is
// equal to it modulo 255.
TEXT ·stamps8AVX512(SB), NOSPLIT, $0-32
	BEGINSTAMPS(255, eachByte)
	VPXORQ Z8, Z8, Z8

group:
	VMOVDQU64 (SI), Z6
	VPSADBW Z8, Z6, Z6
	VPADDQ Z0, Z6, Z6
	FOLD(8, Z1)
	FOLD(8, Z1)
	PUTSTAMPS(group)

// func stamps16AVX512(s *timerStamps, ticks *uint64, groups int, window uint64)
TEXT ·stamps16AVX512(SB), NOSPLIT, $0-32
	BEGINSTAMPS(65535, eachPair)

group:
	VMOVDQU64 (SI), Z6
	FOLD(32, Z4)
	FOLD(16, Z1)
	VPADDQ Z0, Z6, Z6
	FOLD(16, Z1)
	FOLD(16, Z1)
	PUTSTAMPS(group)

// func decreasingAVX512(ticks *uint64, groups int) (fell bool)
TEXT ·decreasingAVX512(SB), NOSPLIT, $0-17
	MOVQ ticks+0(FP), SI
	MOVQ groups+8(FP), CX
	KXORB K2, K2, K2

group:
	VMOVDQU64 (SI), Z0
	VPCMPUQ $6, 8(SI), Z0, K1
	KORB K1, K2, K2
	ADDQ $64, SI
	DECQ CX
	JNZ  group
	KORTESTB K2, K2
	SETNE fell+16(FP)
	VZEROUPPER
	RET

// func sweepTimers8AVX512(lines *[8]uint64, count int, now, oldest uint64) (cleared uint64)
TEXT ·sweepTimers8AVX512(SB), NOSPLIT, $0-40
	SWEEP(VPTESTMB, VPSUBB, VPCMPUB, KMOVQ, VMOVDQU8)

// func sweepTimers16AVX512(lines *[8]uint64, count int, now, oldest uint64) (cleared uint64)
TEXT ·sweepTimers16AVX512(SB), NOSPLIT, $0-40
	SWEEP(VPTESTMW, VPSUBW, VPCMPUW, KMOVD, VMOVDQU16)
