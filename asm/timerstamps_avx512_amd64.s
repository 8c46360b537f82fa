//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "timerstamps_amd64.h"

// Stamps of ticks (AVX-512).

// BEGINSTAMPS loads the arguments, and Z0 to Z5: 1, 2^bits - 1, the window, the window
// less 1, 2^32 - 1, and how to bring a stamp to all timers of its word.
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

// func fallAVX512(ticks *uint64, groups int) (fell bool)
TEXT ·fallAVX512(SB), NOSPLIT, $0-17
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
