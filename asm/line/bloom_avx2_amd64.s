// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "common_amd64.h"

// Growing Bloom filters (AVX2): a line is two registers, its words the lanes. Registers
// are as in common_amd64.h. R13 has the salts and R12 is the number of rounds. Y15 is
// ones, Y14 counts the bits that were added, Y13 has the bits of each half of a byte, Y12
// masks these halves and Y11 is 0.

#define BEGINBITS \
	BEGINHALVES                   \
	MOVQ salts+32(FP), R13  \
	MOVQ rounds+40(FP), R12 \
	VPCMPEQQ Y15, Y15, Y15  \
	VPSRLQ   $63, Y15, Y15  \
	VPXOR    Y11, Y11, Y11

// BITS sets X to the bits that the salts at AT choose: with a and b the halves of Y2 and
// c and d the halves of a salt, high first, the highest bits of b*d + (a*d + b*c) << 32.
// Y3 has a.
#define BITS(AT, X) \
	VPMULUDQ (AT)(R13*1), Y2, X    \
	VPMULUDQ (AT)(R13*1), Y3, Y6   \
	VPMULUDQ (AT+4)(R13*1), Y2, Y7 \
	VPADDQ   Y7, Y6, Y6            \
	VPSLLQ   $32, Y6, Y6           \
	VPADDQ   Y6, X, X              \
	VPSRLQ   $58, X, X             \
	VPSLLVQ  X, Y15, X

// ROUND adds the bits of round J, or goes on if there are no more rounds.
#define ROUND(J, DONE) \
	CMPL  R12, $J           \
	JLT   DONE              \
	BITS((64*J-64), Y8)     \
	VPOR  Y8, Y4, Y4        \
	BITS((64*J-32), Y8)     \
	VPOR  Y8, Y5, Y5

// LINE loads the line of this element to Y0 and Y1, makes its bits Y4 and Y5, and sets Y6
// and Y7 to the bits that the line lacks. VPTEST has a carry if there are none.
#define LINE(DONE) \
	FETCH                                        \
	VPBROADCASTQ batch_low(SI)(CX*8), Y2     \
	VPSRLQ       $32, Y2, Y3                     \
	VMOVDQU      (DI)(BX*1), Y0                  \
	VMOVDQU      32(DI)(BX*1), Y1                \
	BITS(0, Y4)                                  \
	BITS(32, Y5)                                 \
	ROUND(2, DONE)                               \
	ROUND(3, DONE)                               \
	ROUND(4, DONE)                               \
	ROUND(5, DONE)                               \
	ROUND(6, DONE)                               \
	ROUND(7, DONE)                               \
	ROUND(8, DONE)                               \
DONE:                                            \
	VPANDN Y4, Y0, Y6                            \
	VPANDN Y5, Y1, Y7                            \
	VPOR   Y6, Y7, Y8                            \
	VPTEST Y8, Y11                               \
	CMC                                          \
	ADCQ   R8, R8

// COUNT counts the bits of each byte of X.
#define COUNT(X) \
	VPSRLW  $4, X, Y9    \
	VPAND   Y12, X, X    \
	VPAND   Y12, Y9, Y9  \
	VPSHUFB X, Y13, X    \
	VPSHUFB Y9, Y13, Y9  \
	VPADDB  Y9, X, X

DATA halfCounts<>+0(SB)/8, $0x0302020102010100
DATA halfCounts<>+8(SB)/8, $0x0403030203020201
GLOBL halfCounts<>(SB), RODATA|NOPTR, $16

// func testBloomAVX2(lines *[8]uint64, current, ahead *batch, n int, salts *bloomSalts, rounds int) (missed uint64)
TEXT ·testBloomAVX2(SB), NOSPLIT, $0-56
	BEGINBITS

element:
	LINE(done)
	NEXT(element)
	MOVQ R8, missed+48(FP)
	VZEROUPPER
	RET

// func testAndSetBloomAVX2(lines *[8]uint64, current, ahead *batch, n int, salts *bloomSalts, rounds int) (missed, added uint64)
TEXT ·testAndSetBloomAVX2(SB), NOSPLIT, $0-64
	BEGINBITS
	VPXOR Y14, Y14, Y14
	VBROADCASTI128 halfCounts<>(SB), Y13
	MOVQ $0x0f0f0f0f0f0f0f0f, AX
	VMOVQ AX, X12
	VPBROADCASTQ X12, Y12

element:
	LINE(done)
	VPOR    Y4, Y0, Y0
	VPOR    Y5, Y1, Y1
	VMOVDQU Y0, (DI)(BX*1)
	VMOVDQU Y1, 32(DI)(BX*1)
	COUNT(Y6)
	COUNT(Y7)
	VPADDB  Y7, Y6, Y6
	VPSADBW Y11, Y6, Y6
	VPADDQ  Y6, Y14, Y14
	NEXT(element)
	VEXTRACTI128 $1, Y14, X0
	VPADDQ X14, X0, X0
	VPSRLDQ $8, X0, X1
	VPADDQ X1, X0, X0
	VMOVQ X0, AX
	MOVQ R8, missed+48(FP)
	MOVQ AX, added+56(FP)
	VZEROUPPER
	RET

// func spreadAMD64(x, mask uint64) (moved uint64)
TEXT ·spreadAMD64(SB), NOSPLIT, $0-24
	MOVQ  x+0(FP), AX
	PDEPQ mask+8(FP), AX, AX
	MOVQ  AX, moved+16(FP)
	RET
