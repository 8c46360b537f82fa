// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "common_amd64.h"

// Growing Bloom filters (AVX-512): a line is one register, its words the lanes. Registers
// are as in common_amd64.h. R12 is the number of rounds, Z16 to Z23 have their salts, Z31
// is ones, Z30 counts the bits that were added.

#define BEGINBITS \
	BEGINHALVES                      \
	MOVQ salts+32(FP), AX      \
	MOVQ rounds+40(FP), R12    \
	VMOVDQU64 (AX), Z16        \
	VMOVDQU64 64(AX), Z17      \
	VMOVDQU64 128(AX), Z18     \
	VMOVDQU64 192(AX), Z19     \
	VMOVDQU64 256(AX), Z20     \
	VMOVDQU64 320(AX), Z21     \
	VMOVDQU64 384(AX), Z22     \
	VMOVDQU64 448(AX), Z23     \
	MOVL $1, AX                \
	VPBROADCASTQ AX, Z31

// BITS sets X to the bits of a round. The product overwrites a factor, since CPUs wait
// for the register that a VPMULLQ overwrites.
#define BITS(SALTS, X) \
	VPBROADCASTQ batch_low(SI)(CX*8), X \
	VPMULLQ SALTS, X, X                     \
	VPSRLQ  $58, X, X                       \
	VPSLLVQ X, Z31, X

// ROUND adds the bits of round J, or goes on if there are no more rounds.
#define ROUND(J, SALTS, DONE) \
	CMPL  R12, $J   \
	JLT   DONE      \
	BITS(SALTS, Z2) \
	VPORQ Z2, Z1, Z1

// LINE loads the line of this element to Z0, makes its bits Z1, and sets Z2 to the bits
// that the line lacks.
#define LINE(DONE) \
	FETCH                       \
	VMOVDQU64 (DI)(BX*1), Z0    \
	BITS(Z16, Z1)               \
	ROUND(2, Z17, DONE)         \
	ROUND(3, Z18, DONE)         \
	ROUND(4, Z19, DONE)         \
	ROUND(5, Z20, DONE)         \
	ROUND(6, Z21, DONE)         \
	ROUND(7, Z22, DONE)         \
	ROUND(8, Z23, DONE)         \
DONE:                           \
	VPANDNQ   Z1, Z0, Z2        \
	VPTESTMQ  Z2, Z2, K1        \
	KMOVB     K1, AX            \
	NEGL      AX                \
	ADCQ      R8, R8

// func testBloomAVX512(lines *[8]uint64, current, ahead *batch, n int, salts *bloomSalts, rounds int) (missed uint64)
TEXT ·testBloomAVX512(SB), NOSPLIT, $0-56
	BEGINBITS

element:
	LINE(done)
	NEXT(element)
	MOVQ R8, missed+48(FP)
	VZEROUPPER
	RET

// func testAndSetBloomAVX512(lines *[8]uint64, current, ahead *batch, n int, salts *bloomSalts, rounds int) (missed, added uint64)
TEXT ·testAndSetBloomAVX512(SB), NOSPLIT, $0-64
	BEGINBITS
	VPXORQ Z30, Z30, Z30

element:
	LINE(done)
	VPORQ     Z1, Z0, Z0
	VMOVDQU64 Z0, (DI)(BX*1)
	VPOPCNTQ  Z2, Z2
	VPADDQ    Z2, Z30, Z30
	NEXT(element)
	VEXTRACTI64X4 $1, Z30, Y0
	VPADDQ Y0, Y30, Y0
	VEXTRACTI64X2 $1, Y0, X1
	VPADDQ X1, X0, X0
	VPSRLDQ $8, X0, X1
	VPADDQ X1, X0, X0
	VMOVQ X0, AX
	MOVQ R8, missed+48(FP)
	MOVQ AX, added+56(FP)
	VZEROUPPER
	RET
