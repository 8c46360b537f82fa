// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"

// ROUND is one round of eight words.
#define ROUND(KEY, MULTIPLIER) \
	VPXOR   KEY, Y0, Y0        \
	VPMULLD MULTIPLIER, Y0, Y0 \
	VPSRLD  $16, Y0, Y1        \
	VPXOR   Y1, Y0, Y0

// func permuteAVX2(dst, src *uint32, groups int, b *Bijection)
//
// The keyed bijection of 32-bit words, eight at a time: groups do not depend on each
// other, so that the CPU works on several at once. A Bijection begins with its four key
// words, 4 bytes each, then the multipliers.
TEXT ·permuteAVX2(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ groups+16(FP), CX
	MOVQ b+24(FP), AX
	VPBROADCASTD (AX), Y8
	VPBROADCASTD 4(AX), Y9
	VPBROADCASTD 8(AX), Y10
	VPBROADCASTD 12(AX), Y11
	VPBROADCASTD 16(AX), Y12
	VPBROADCASTD 20(AX), Y13
	VPBROADCASTD 24(AX), Y14
	VPBROADCASTD 28(AX), Y15

group:
	VMOVDQU (SI), Y0
	ROUND(Y8, Y12)
	ROUND(Y9, Y13)
	ROUND(Y10, Y14)
	ROUND(Y11, Y15)
	VMOVDQU Y0, (DI)
	ADDQ $32, SI
	ADDQ $32, DI
	DECQ CX
	JNZ  group
	VZEROUPPER
	RET
