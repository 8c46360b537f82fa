// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "common_amd64.h"

// Fingerprint rows, a row a register (AVX-512 F, BW, DQ, VL; BMI1 and BMI2 for scalars).
// Registers are as in common_amd64.h.

// LINE loads the line of this element to Z0, its pattern to Z1.
#define LINE \
	FETCH                               \
	VMOVDQU64 (DI)(BX*1), Z0            \
	VPBROADCASTQ PATTERN(SI)(CX*8), Z1

// WORD loads the word of this element to the lower half of X0, its pattern to
// both halves of X1. No cell of the upper half matches, as no pattern is 0 there.
#define WORD \
	FETCH                               \
	VMOVQ (DI)(BX*1), X0                \
	VPBROADCASTQ PATTERN(SI)(CX*8), X1

// CHOOSE sets DX, the empty cells, to the cell to write: the first of them, or the
// victim, or none if K1, the cells that do not match, is not all cells. R12 is 0. BLSI
// clears the carry if there is no empty cell, and KORTEST sets it if all bits are set.
#define CHOOSE(KORTEST) \
	BLSIL   DX, DX               \
	CMOVLEQ VICTIM(SI)(CX*8), DX \
	ADCQ    R10, R10             \
	KORTEST K1, K1               \
	CMOVLCC R12, DX              \
	ADCQ    R8, R8

// KERNEL is the three loops over rows in register A, with the pattern in B. EQUAL and
// OTHER compare cells, EMPTY finds the empty ones among the cells of K3, KMOV and KORTEST
// are for as many bits as there are cells, PUT sets cells, MOVE moves the cells of K1 on
// by one, with the pattern in front. In K1, bits of cells that A does not have do no
// harm.
#define KERNEL(LOAD, STORE, A, B, EQUAL, OTHER, EMPTY, KMOV, KORTEST, PUT, MOVE, CMP, LAST) \
	BRANCH                 \
	XORL R12, R12          \
random:                        \
	LOAD                   \
	OTHER $4, B, A, K1     \
	EMPTY A, A, K3, K2     \
	KMOV  K2, DX           \
	CHOOSE(KORTEST)        \
	KMOV  DX, K1           \
	PUT   B, K1, A         \
	STORE A, (DI)(BX*1)    \
	NEXT(random)           \
	END                    \
lru:                           \
	LOAD                   \
	EQUAL B, A, K1         \
	LASTEMPTY(CMP, LAST)   \
	KMOV  K1, AX           \
	BLSMSKL AX, AX         \
	ADCQ  R8, R8           \
	KMOV  AX, K1           \
	MOVE                   \
	STORE A, (DI)(BX*1)    \
	NEXT(lru)              \
	END                    \
queue:                         \
	KXNORD K1, K1, K1      \
queued:                        \
	LOAD                   \
	OTHER $4, B, A, K2     \
	LASTEMPTY(CMP, LAST)   \
	KORTEST K2, K2         \
	ADCQ  R8, R8           \
	MOVE                   \
	STORE A, (DI)(BX*1)    \
	NEXT(queued)           \
	ENDALL

#define MOVE8x8 VPALIGNR $15, X1, X0, K1, X0
#define MOVE4x16 VPERMT2W X1, X2, K1, X0
#define MOVE32x16 VPERMT2W Z1, Z2, K1, Z0
#define MOVE16x32 VALIGND $15, Z1, Z0, K1, Z0
#define MOVE8x64 VALIGNQ $7, Z1, Z0, K1, Z0

// The cells of a line after a move of all by one: cell 32 is the pattern's.
DATA moveWords<>+0(SB)/8, $0x0002000100000020
DATA moveWords<>+8(SB)/8, $0x0006000500040003
DATA moveWords<>+16(SB)/8, $0x000a000900080007
DATA moveWords<>+24(SB)/8, $0x000e000d000c000b
DATA moveWords<>+32(SB)/8, $0x001200110010000f
DATA moveWords<>+40(SB)/8, $0x0016001500140013
DATA moveWords<>+48(SB)/8, $0x001a001900180017
DATA moveWords<>+56(SB)/8, $0x001e001d001c001b
GLOBL moveWords<>(SB), RODATA|NOPTR, $64

// The same of a word, with cell 8 for the pattern's.
DATA moveHalf<>+0(SB)/8, $0x0002000100000008
DATA moveHalf<>+8(SB)/8, $0x0006000500040003
GLOBL moveHalf<>(SB), RODATA|NOPTR, $16

// func words8x8AVX512(lines *[8]uint64, current, ahead *batch, n int, eviction Eviction) (missed, filled uint64)
TEXT ·words8x8AVX512(SB), NOSPLIT, $0-56
	BEGIN
	KXNORD K3, K3, K3
	KERNEL(WORD, VMOVQ, X0, X1, VPCMPEQB, VPCMPB, VPTESTNMB, KMOVB, KORTESTB, VMOVDQU8, MOVE8x8, CMPB, 7(DI)(BX*1))

// func words4x16AVX512(lines *[8]uint64, current, ahead *batch, n int, eviction Eviction) (missed, filled uint64)
TEXT ·words4x16AVX512(SB), NOSPLIT, $0-56
	BEGIN
	MOVL  $0xf, DX
	KMOVB DX, K3
	VMOVDQU moveHalf<>(SB), X2
	KERNEL(WORD, VMOVQ, X0, X1, VPCMPEQW, VPCMPW, VPTESTNMW, KMOVB, KORTESTB, VMOVDQU16, MOVE4x16, CMPW, 6(DI)(BX*1))

// func lines32x16AVX512(lines *[8]uint64, current, ahead *batch, n int, eviction Eviction) (missed, filled uint64)
TEXT ·lines32x16AVX512(SB), NOSPLIT, $0-56
	BEGIN
	KXNORD K3, K3, K3
	VMOVDQU64 moveWords<>(SB), Z2
	KERNEL(LINE, VMOVDQU64, Z0, Z1, VPCMPEQW, VPCMPW, VPTESTNMW, KMOVD, KORTESTD, VMOVDQU16, MOVE32x16, CMPW, 62(DI)(BX*1))

// func lines16x32AVX512(lines *[8]uint64, current, ahead *batch, n int, eviction Eviction) (missed, filled uint64)
TEXT ·lines16x32AVX512(SB), NOSPLIT, $0-56
	BEGIN
	KXNORD K3, K3, K3
	KERNEL(LINE, VMOVDQU64, Z0, Z1, VPCMPEQD, VPCMPD, VPTESTNMD, KMOVW, KORTESTW, VMOVDQU32, MOVE16x32, CMPL, 60(DI)(BX*1))

// func lines8x64AVX512(lines *[8]uint64, current, ahead *batch, n int, eviction Eviction) (missed, filled uint64)
TEXT ·lines8x64AVX512(SB), NOSPLIT, $0-56
	BEGIN
	KXNORD K3, K3, K3
	KERNEL(LINE, VMOVDQU64, Z0, Z1, VPCMPEQQ, VPCMPQ, VPTESTNMQ, KMOVB, KORTESTB, VMOVDQU64, MOVE8x64, CMPQ, 56(DI)(BX*1))

// func fingerprintAVX512(b *batch, groups int, geometry *rowGeometry, victims bool)
//
// Eight elements at a time. With d the low half of a digest, its fingerprint is (d*2^w -
// d) / 2^64 + 1, which is d >> (64-w), and one more unless the subtraction borrows.
TEXT ·fingerprintAVX512(SB), NOSPLIT, $0-25
	MOVQ b+0(FP), DI
	MOVQ groups+8(FP), CX
	MOVQ geometry+16(FP), AX
	MOVBLZX victims+24(FP), R8
	VPBROADCASTQ rowGeometry_width(AX), Z10
	VBROADCASTI64X2 rowGeometry_spread(AX), Z11
	VPBROADCASTQ rowGeometry_choose(AX), Z12
	MOVL $1, DX
	VPBROADCASTQ DX, Z13
	MOVL $64, DX
	VPBROADCASTQ DX, Z14
	VPSUBQ Z10, Z14, Z14

group:
	VMOVDQU64 batch_low(DI), Z0
	VPSRLVQ   Z14, Z0, Z1
	VPSLLVQ   Z10, Z0, Z2
	VPCMPUQ   $5, Z0, Z2, K1
	VPADDQ    Z13, Z1, K1, Z1
	VPSHUFB   Z11, Z1, Z1
	VMOVDQU64 Z1, PATTERN(DI)
	TESTL R8, R8
	JZ    next
	VMOVDQU64 batch_random(DI), Z0
	VPSRLVQ   Z12, Z0, Z0
	VPSLLVQ   Z0, Z13, Z0
	VMOVDQU64 Z0, VICTIM(DI)

next:
	ADDQ $64, DI
	DECQ CX
	JNZ  group
	VZEROUPPER
	RET
