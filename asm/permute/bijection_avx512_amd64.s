// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"

// The keyed bijection of 32-bit words (AVX-512), 32 at a time. A Bijection begins
// with its four key words, 4 bytes each, then the multipliers.

// ROUND is one round of two registers.
#define ROUND(KEY, MULTIPLIER) \
	VPXORD KEY, Z0, Z0          \
	VPXORD KEY, Z1, Z1          \
	VPMULLD MULTIPLIER, Z0, Z0  \
	VPMULLD MULTIPLIER, Z1, Z1  \
	VPSRLD $16, Z0, Z2          \
	VPSRLD $16, Z1, Z3          \
	VPXORD Z2, Z0, Z0           \
	VPXORD Z3, Z1, Z1

#define ROUNDS \
	ROUND(Z16, Z20) \
	ROUND(Z17, Z21) \
	ROUND(Z18, Z22) \
	ROUND(Z19, Z23)

// func permuteAVX512(dst, src *uint32, n int, b *Bijection)
TEXT ·permuteAVX512(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ b+24(FP), AX
	VPBROADCASTD (AX), Z16
	VPBROADCASTD 4(AX), Z17
	VPBROADCASTD 8(AX), Z18
	VPBROADCASTD 12(AX), Z19
	VPBROADCASTD 16(AX), Z20
	VPBROADCASTD 20(AX), Z21
	VPBROADCASTD 24(AX), Z22
	VPBROADCASTD 28(AX), Z23
	SUBQ $32, CX
	JLT  rest

whole:
	VMOVDQU32 (SI), Z0
	VMOVDQU32 64(SI), Z1
	ROUNDS
	VMOVDQU32 Z0, (DI)
	VMOVDQU32 Z1, 64(DI)
	ADDQ $128, SI
	ADDQ $128, DI
	SUBQ $32, CX
	JGE  whole

rest:
	ADDQ $32, CX
	JZ   done
	MOVQ $-1, AX
	BZHIQ CX, AX, AX
	KMOVW AX, K1
	SHRQ $16, AX
	KMOVW AX, K2
	VMOVDQU32.Z (SI), K1, Z0
	VMOVDQU32.Z 64(SI), K2, Z1
	ROUNDS
	VMOVDQU32 Z0, K1, (DI)
	VMOVDQU32 Z1, K2, 64(DI)

done:
	VZEROUPPER
	RET
