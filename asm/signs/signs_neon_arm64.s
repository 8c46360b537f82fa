// SPDX-License-Identifier: Apache-2.0

//go:build arm64 && !purego

#include "textflag.h"
#include "go_asm.h"

// BITS sets R to the bits of the bytes of a block that are the sign V. V3 has the bit of each byte
// among eight. Sums of neighbours put the bits of eight bytes into a byte.
#define BITS(V, R) \
	VCMEQ V.B16, V4.B16, V16.B16    \
	VCMEQ V.B16, V5.B16, V17.B16    \
	VCMEQ V.B16, V6.B16, V18.B16    \
	VCMEQ V.B16, V7.B16, V19.B16    \
	VAND  V3.B16, V16.B16, V16.B16  \
	VAND  V3.B16, V17.B16, V17.B16  \
	VAND  V3.B16, V18.B16, V18.B16  \
	VAND  V3.B16, V19.B16, V19.B16  \
	VADDP V17.B16, V16.B16, V16.B16 \
	VADDP V19.B16, V18.B16, V18.B16 \
	VADDP V18.B16, V16.B16, V16.B16 \
	VADDP V16.B16, V16.B16, V16.B16 \
	VMOV  V16.D[0], R

// func findWhole(blocks *Block, text *byte, n int, separator, quote byte)
//
// V0 to V2 are separators, quotes and line feeds. V4 to V7 are the text of a block.
TEXT ·findWhole(SB), NOSPLIT, $0-26
	MOVD  blocks+0(FP), R0
	MOVD  text+8(FP), R1
	MOVD  n+16(FP), R2
	MOVBU separator+24(FP), R3
	MOVBU quote+25(FP), R4
	MOVD  $'\n', R5
	MOVD  $0x8040201008040201, R6
	VDUP  R3, V0.B16
	VDUP  R4, V1.B16
	VDUP  R5, V2.B16
	VDUP  R6, V3.D2

block:
	VLD1.P 64(R1), [V4.B16, V5.B16, V6.B16, V7.B16]
	BITS(V0, R3)
	BITS(V1, R4)
	BITS(V2, R5)
	MOVD R3, Block_Separators(R0)
	MOVD R4, Block_Quotes(R0)
	MOVD R5, Block_Ends(R0)
	ADD  $Block__size, R0
	SUBS $1, R2
	BNE  block
	RET
