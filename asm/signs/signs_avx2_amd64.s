// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"

// BITS sets R to the bits of the bytes of a block that are the sign Y.
#define BITS(Y, R) \
	VPCMPEQB  Y, Y3, Y5 \
	VPCMPEQB  Y, Y4, Y6 \
	VPMOVMSKB Y5, R     \
	VPMOVMSKB Y6, DX    \
	SHLQ      $32, DX   \
	ORQ       DX, R

// func findWhole(blocks *Block, text *byte, n int, separator, quote byte)
//
// Y0 to Y2 are separators, quotes and line feeds. Y3 and Y4 are the text of a block.
TEXT ·findWhole(SB), NOSPLIT, $0-26
	MOVQ blocks+0(FP), DI
	MOVQ text+8(FP), SI
	MOVQ n+16(FP), CX
	VPBROADCASTB separator+24(FP), Y0
	VPBROADCASTB quote+25(FP), Y1
	MOVL $'\n', AX
	VMOVD AX, X2
	VPBROADCASTB X2, Y2

block:
	VMOVDQU  (SI), Y3
	VMOVDQU  32(SI), Y4
	BITS(Y0, AX)
	BITS(Y1, BX)
	BITS(Y2, R8)
	MOVQ AX, Block_Separators(DI)
	MOVQ BX, Block_Quotes(DI)
	MOVQ R8, Block_Ends(DI)
	ADDQ $const_Bytes, SI
	ADDQ $Block__size, DI
	DECQ CX
	JNZ  block

	VZEROUPPER
	RET
