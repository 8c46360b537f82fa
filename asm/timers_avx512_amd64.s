//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "common_amd64.h"
#include "timers_amd64.h"

// Timer lines (AVX-512 BW): a line is one register, and a set of its timers a mask.
// Registers beside those of timers_amd64.h: Z0 the line, Z1 the stamp in all
// timers, DX the element's timers, K1 those of the line that are not 0, Z14 how often
// each was filled, Z15 a one of all timers, less than 0.

// The masks of numbers from 0 to 7, none for cellNone.
DATA timerPowers<>+0(SB)/8, $0x8040201008040201
DATA timerPowers<>+8(SB)/8, $0
GLOBL timerPowers<>(SB), RODATA|NOPTR, $16

// MASKS makes the block's cells masks of timers.
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

// LOOK makes K2 the timers of the line that are live.
#define LOOK(TEST, SUB, COMPARE) \
	FETCH                                \
	VMOVDQU64 (DI)(BX*1), Z0             \
	VPBROADCASTQ (R12)(CX*8), Z1         \
	VPBROADCASTQ timerStamps_oldest(R12)(CX*8), Z2   \
	MOVQ batch_low(SI)(CX*8), DX     \
	TEST Z0, Z0, K1                      \
	SUB  Z0, Z1, Z3                      \
	COMPARE $2, Z2, Z3, K1, K2

// MISSING makes AX the element's timers that are not live.
#define MISSING(KMOV) \
	KMOV K2, AX       \
	ANDNQ DX, AX, AX

// SET sets the timers of an element that is not found, which AX says, or with R13 of
// every one.
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

// EQUAL makes R15 the size of the largest group of the element's timers that are equal.
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

// SUM makes AX the sum of the words of Z14.
#define SUM \
	VEXTRACTI64X4 $1, Z14, Y0     \
	VPADDQ Y0, Y14, Y14           \
	VEXTRACTI128 $1, Y14, X0      \
	VPADDQ X0, X14, X14           \
	VPSRLDQ $8, X14, X0           \
	VPADDQ X0, X14, X14           \
	VMOVQ X14, AX

// func timers8AVX512(lines *[8]uint64, current, ahead *batch, n int, s *timerStamps, r *TimerRule) (found, filled uint64)
TEXT ·timers8AVX512(SB), NOSPLIT, $0-64
	BEGINTIMERS
	MASKS(PACK8, masked)
	VPTERNLOGQ $0xff, Z15, Z15, Z15
	VPXORQ Z14, Z14, Z14
	CMPQ TimerRule_equal(DX), $2
	JCC  equal

element:
	LOOK(VPTESTMB, VPSUBB, VPCMPUB)
	MISSING(KMOVQ)
	SET(KMOVQ, KANDNQ, VPSUBB, VMOVDQU8, element)
	JMP  done

equal:
	LOOK(VPTESTMB, VPSUBB, VPCMPUB)
	EQUAL(KMOVQ, 1, VPBROADCASTB, VPCMPEQB, timer)
	MISSING(KMOVQ)
	SMALL
	SET(KMOVQ, KANDNQ, VPSUBB, VMOVDQU8, equal)

done:
	VPXORQ Z0, Z0, Z0
	VPSADBW Z0, Z14, Z14
	SUM
	ENDTIMERS

// func timers16AVX512(lines *[8]uint64, current, ahead *batch, n int, s *timerStamps, r *TimerRule) (found, filled uint64)
TEXT ·timers16AVX512(SB), NOSPLIT, $0-64
	BEGINTIMERS
	VBROADCASTI64X2 evenBytes<>(SB), Z3
	MASKS(PACK16, masked)
	VPTERNLOGQ $0xff, Z15, Z15, Z15
	VPXORQ Z14, Z14, Z14
	CMPQ TimerRule_equal(DX), $2
	JCC  equal

element:
	LOOK(VPTESTMW, VPSUBW, VPCMPUW)
	MISSING(KMOVD)
	SET(KMOVD, KANDND, VPSUBW, VMOVDQU16, element)
	JMP  done

equal:
	LOOK(VPTESTMW, VPSUBW, VPCMPUW)
	EQUAL(KMOVD, 2, VPBROADCASTW, VPCMPEQW, timer)
	MISSING(KMOVD)
	SMALL
	SET(KMOVD, KANDND, VPSUBW, VMOVDQU16, equal)

done:
	VPXORQ Z0, Z0, Z0
	VPSADBW Z0, Z14, Z14
	SUM
	ENDTIMERS
