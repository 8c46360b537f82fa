// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"

// Only the read, change and write of a line for each element, its line fetched 32
// elements ahead. Z1 is 1 in each word.

// LOCATE sets R10 to the offset of the line of the digest at AT.
#define LOCATE(AT) \
	MOVQ  8(AT), DX       \
	MULXQ R12, R10, R10   \
	SHLQ  $6, R10

// func lineBaselineAVX512(lines *[8]uint64, count uint64, digests *Digest, n int)
TEXT ·lineBaselineAVX512(SB), NOSPLIT, $0-32
	MOVQ lines+0(FP), DI
	MOVQ count+8(FP), R12
	MOVQ digests+16(FP), SI
	MOVQ n+24(FP), CX
	MOVQ CX, R11
	SHLQ $4, R11
	LEAQ -16(SI)(R11*1), R11
	LEAQ 512(SI), R9
	CMPQ R9, R11
	CMOVQHI R11, R9
	MOVQ SI, R8
	MOVL $1, AX
	VPBROADCASTQ AX, Z1

first:
	LOCATE(R8)
	PREFETCHT0 (DI)(R10*1)
	ADDQ $16, R8
	CMPQ R8, R9
	JLS  first

element:
	LEAQ 512(SI), R9
	CMPQ R9, R11
	CMOVQHI R11, R9
	LOCATE(R9)
	PREFETCHT0 (DI)(R10*1)
	LOCATE(SI)
	VPADDQ (DI)(R10*1), Z1, Z0
	VMOVDQU64 Z0, (DI)(R10*1)
	ADDQ $16, SI
	DECQ CX
	JNZ  element
	VZEROUPPER
	RET
