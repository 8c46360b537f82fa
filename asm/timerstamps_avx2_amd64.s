//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "timerstamps_amd64.h"

// Stamps of ticks (AVX2).

// BEGINSTAMPS loads the arguments, and Y0 to Y5: 1, 2^bits - 1, the window, the window
// less 1, 2^32 - 1, and how to bring a stamp to all timers of its word.
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

// func fallAVX2(ticks *uint64, groups int) (fell bool)
//
// With the top bits inverted, numbers without a sign compare as those with one do.
TEXT ·fallAVX2(SB), NOSPLIT, $0-17
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
