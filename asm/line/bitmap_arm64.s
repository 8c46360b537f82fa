// SPDX-License-Identifier: Apache-2.0

//go:build arm64 && !purego

#include "textflag.h"

// AHEAD is the number of elements before its turn at which a word is fetched.
#define AHEAD 32

// func testAndSetBitmapARM64(lines *[8]uint64, seen *uint64, permuted *uint32, n int)
//
// A bit for each word: a word of the bitmap is a general register. R0 is the first line,
// R1 goes through permuted and R2 through seen; R3 is the number of elements left after
// the 64 of this word of seen, R5 the number left of these, and R4 the address of the
// last element. R6 is the word of seen, shifted in from above.
TEXT ·testAndSetBitmapARM64(SB), NOSPLIT, $0-32
	MOVD lines+0(FP), R0
	MOVD seen+8(FP), R2
	MOVD permuted+16(FP), R1
	MOVD n+24(FP), R3
	ADD  R3<<2, R1, R4
	SUB  $4, R4, R4
	MOVD $64, R14
	MOVD $1, R15

word:
	CMP  R14, R3
	CSEL LT, R3, R14, R5
	SUB  R5, R3, R3
	NEG  R5, R7
	MOVD ZR, R6

element:
	ADD  $(4*AHEAD), R1, R8
	CMP  R4, R8
	CSEL HI, R4, R8, R8
	MOVWU (R8), R8
	LSR  $6, R8, R8
	ADD  R8<<3, R0, R8
	PRFM (R8), PLDL1KEEP
	MOVWU.P 4(R1), R9
	LSR  $6, R9, R10
	ADD  R10<<3, R0, R10
	MOVD (R10), R11
	LSR  R9, R11, R12
	EXTR $1, R6, R12, R6
	LSL  R9, R15, R12
	ORR  R12, R11, R11
	MOVD R11, (R10)
	SUBS $1, R5, R5
	BNE  element
	LSR  R7, R6, R6
	MOVD.P R6, 8(R2)
	CBNZ R3, word
	RET
