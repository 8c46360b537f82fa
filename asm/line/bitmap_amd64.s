// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"

// A bit for each word: a word of the bitmap is a general register (BMI1 and BMI2).
//
//	DI lines   SI permuted, moving on    R9 seen, moving on   CX elements left
//	R8 the word of seen, shifted in from above               R11 elements left of its 64
//	R12 the last element whose line is fetched

// AHEAD is the number of elements before its turn at which a word is fetched.
#define AHEAD 32

// func testAndSetBitmapAMD64(lines *[8]uint64, seen *uint64, permuted *uint32, n int)
TEXT ·testAndSetBitmapAMD64(SB), NOSPLIT, $0-32
	MOVQ lines+0(FP), DI
	MOVQ seen+8(FP), R9
	MOVQ permuted+16(FP), SI
	MOVQ n+24(FP), CX
	LEAQ -4(SI)(CX*4), R12

word:
	MOVL $64, R11
	CMPQ CX, R11
	CMOVQLT CX, R11
	SUBQ R11, CX
	MOVQ R11, R13
	XORL R8, R8

element:
	LEAQ (AHEAD*4)(SI), AX
	CMPQ AX, R12
	CMOVQHI R12, AX
	MOVL (AX), AX
	SHRL $6, AX
	PREFETCHT0 (DI)(AX*8)
	MOVL (SI), AX
	MOVL AX, BX
	SHRL $6, BX
	MOVQ (DI)(BX*8), DX
	BTSQ AX, DX
	RCRQ $1, R8
	MOVQ DX, (DI)(BX*8)
	ADDQ $4, SI
	DECQ R11
	JNZ  element
	NEGQ R13
	SHRXQ R13, R8, R8
	MOVQ R8, (R9)
	ADDQ $8, R9
	TESTQ CX, CX
	JNZ  word
	RET
