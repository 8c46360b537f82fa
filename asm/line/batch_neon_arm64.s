// SPDX-License-Identifier: Apache-2.0

//go:build arm64 && !purego

#include "textflag.h"
#include "go_asm.h"

// RANDOM sets X to the random word of the digest LOW. See prng. R5 is its position times golden.
#define RANDOM(LOW, X) \
	EOR LOW, R5, X      \
	ADD R6, R5          \
	EOR X>>32, X, X     \
	MUL R7, X, X        \
	EOR X>>29, X, X     \
	MUL R7, X, X        \
	EOR X>>32, X, X

// func fillBatchNEON(b *batch, digests *Digest, groups, lines int, within, position uint64, random bool)
//
// Two elements a turn, in general registers: vectors have no products of 64 bits. R4 is which bits of an
// offset count.
TEXT ·fillBatchNEON(SB), NOSPLIT, $0-49
	MOVD  b+0(FP), R0
	MOVD  digests+8(FP), R1
	MOVD  groups+16(FP), R2
	MOVD  lines+24(FP), R3
	MOVD  within+32(FP), R4
	MOVD  position+40(FP), R5
	MOVBU random+48(FP), R8
	MOVD  $const_golden, R6
	MOVD  $const_prngMix, R7
	MUL   R6, R5
	ORR   $-64, R4
	LSL   $2, R2
	ADD   $batch_low, R0, R16
	ADD   $batch_random, R0, R17

pair:
	LDP.P 16(R1), (R9, R10)
	LDP.P 16(R1), (R11, R12)
	UMULH R3, R10, R13
	MUL   R3, R10, R10
	UMULH R3, R12, R14
	MUL   R3, R12, R12
	EXTR  $58, R10, R13, R13
	EXTR  $58, R12, R14, R14
	AND   R4, R13
	AND   R4, R14
	STP.P (R13, R14), 16(R0)
	STP.P (R9, R11), 16(R16)
	CBZ   R8, next
	RANDOM(R9, R13)
	RANDOM(R11, R14)
	STP.P (R13, R14), 16(R17)

next:
	SUBS $1, R2
	BNE  pair
	RET
