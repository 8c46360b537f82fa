// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "common_amd64.h"

// Bit lines of unbounded streams (AVX-512): a line is one register. No verdict makes a
// branch, and an unchanged line is stored too: a store of no lanes would hold up the next
// load of a frequent element's line, which cannot be served from it.
//
// Registers are as in common_amd64.h. R10 counts an element's bits that were set; if
// lanes belong to two parts, Z30 counts the bits that were not. Z30 is also decremented
// by the cleared bits. R12 is the number of parts. Z0 is the line, Z1 the element's bits,
// Z2 those to clear, Z31 ones, Z28 the flip, and Z27, Z26, Z25 and Z24 are own, random,
// ownLast and randomLast of stableLanes.

// BEGINBITS goes to SPLIT if lanes belong to two parts.
#define BEGINBITS(SPLIT) \
	BEGINHALVES                                  \
	MOVQ lanes+32(FP), AX                  \
	MOVQ stableLanes_k(AX), R12               \
	VMOVDQU64 stableLanes_flip(AX), Z28       \
	VMOVDQU64 stableLanes_own(AX), Z27        \
	VMOVDQU64 stableLanes_random(AX), Z26      \
	VMOVDQU64 stableLanes_ownLast(AX), Z25    \
	VMOVDQU64 stableLanes_randomLast(AX), Z24  \
	MOVL $1, DX                            \
	VPBROADCASTQ DX, Z31                   \
	VPXORQ Z30, Z30, Z30                   \
	CMPQ stableLanes_split(AX), $0            \
	JNE  SPLIT

// LINE loads the line of this element and makes its bits. Z3 is its bytes.
#define LINE \
	FETCH                                                \
	VPXORQ.BCST batch_low(SI)(CX*8), Z28, Z3         \
	VMOVDQU64 (DI)(BX*1), Z0                             \
	VPSHUFB Z27, Z3, Z1                                  \
	VPSLLVQ Z1, Z31, Z1

// LINESPLIT does so where lanes belong to two parts.
#define LINESPLIT \
	LINE                 \
	VPSHUFB Z25, Z3, Z4  \
	VPSLLVQ Z4, Z31, Z4  \
	VPORQ   Z4, Z1, Z1

// RANDOM computes the bits to clear from the bytes of the random word.
#define RANDOM \
	VPSHUFB Z26, Z3, Z2 \
	VPSLLVQ Z2, Z31, Z2

#define RANDOMSPLIT \
	RANDOM                \
	VPSHUFB Z24, Z3, Z4  \
	VPSLLVQ Z4, Z31, Z4  \
	VPORQ   Z4, Z2, Z2

// HITS sets AX to the number of the element's bits that are set, and sets the carry if
// they are not all.
#define HITS \
	VPTESTMQ Z1, Z0, K1 \
	KMOVB    K1, AX     \
	POPCNTL  AX, AX     \
	CMPL     AX, R12

// MISSES sets Z4 to the element's bits that are not set, and sets the carry if there are
// any.
#define MISSES \
	VPANDNQ  Z1, Z0, Z4 \
	VPTESTMQ Z4, Z4, K1 \
	KMOVB    K1, AX     \
	NEGL     AX

// VERDICT collects the carry, and sets the lanes of K2 if there is one.
#define VERDICT \
	SBBL  DX, DX \
	ADCQ  R8, R8 \
	KMOVB DX, K2

// ADD adds the bits of X in the lanes of K2 to the count in Z30.
#define ADD(X) \
	VPOPCNTQ.Z X, K2, Z4 \
	VPADDQ     Z4, Z30, Z30

// CLEAR reduces Z2 to the bits that are really cleared, none without K2, and counts them.
#define CLEAR \
	VPTERNLOGQ.Z $0x40, Z1, Z0, K2, Z2  \
	VPOPCNTQ     Z2, Z4                 \
	VPSUBQ       Z4, Z30, Z30

// SET stores the line without the bits of Z2 and with the bits of Z1.
#define SET \
	VPTERNLOGQ $0xba, Z1, Z2, Z0 \
	VMOVDQU64  Z0, (DI)(BX*1)

// SETIF does so with K2 only.
#define SETIF \
	VPTERNLOGQ $0xba, Z1, Z2, K2, Z0 \
	VMOVDQU64  Z0, (DI)(BX*1)

// SUM adds up the lanes of Z30 to AX, and all the bits of R11 elements, less those in
// R10.
#define SUM \
	IMULQ R12, R11               \
	SUBQ  R10, R11               \
	VEXTRACTI64X4 $1, Z30, Y0    \
	VPADDQ Y0, Y30, Y0           \
	VEXTRACTI64X2 $1, Y0, X1     \
	VPADDQ X1, X0, X0            \
	VPSRLDQ $8, X0, X1           \
	VPADDQ X1, X0, X0            \
	VMOVQ X0, AX                 \
	ADDQ R11, AX                 \
	VZEROUPPER

// REPLACE clears the bits of Z2 and sets an element's in the line, if the line misses
// some, and goes on with the next element.
#define REPLACE(LOOP) \
	HITS          \
	VERDICT       \
	ADDQ AX, R10  \
	CLEAR         \
	SET           \
	NEXT(LOOP)

// REPLACESPLIT does so where lanes belong to two parts.
#define REPLACESPLIT(LOOP) \
	MISSES     \
	VERDICT    \
	ADD(Z4)    \
	CLEAR      \
	SET        \
	NEXT(LOOP)

// ENDBITS returns R8 and the sum.
#define ENDBITS(MISSED, ADDED) \
	SUM              \
	MOVQ R8, MISSED  \
	MOVQ AX, ADDED   \
	RET

// func clearBitsAVX512(lines *[8]uint64, current, ahead *batch, n int, lanes *stableLanes) (missed, added uint64)
TEXT ·clearBitsAVX512(SB), NOSPLIT, $0-56
	BEGINBITS(split)

element:
	LINE
	RANDOM
	REPLACE(element)
	MOVQ n+24(FP), R11
	JMP  done

split:
	LINESPLIT
	RANDOMSPLIT
	REPLACESPLIT(split)

done:
	ENDBITS(missed+40(FP), added+48(FP))

// func clearInsertedAVX512(lines *[8]uint64, current, ahead *batch, n int, lanes *stableLanes, inserted uint64) (missed, added uint64)
//
// R13 is inserted, the bit of this element last.
TEXT ·clearInsertedAVX512(SB), NOSPLIT, $0-64
	MOVQ inserted+40(FP), R13
	BEGINBITS(split)

element:
	LINE
	RANDOM
	HITS
	ADCQ  R8, R8
	SHRQ  $1, R13
	SBBL  DX, DX
	KMOVB DX, K2
	ANDL  DX, AX
	ADDQ  AX, R10
	CLEAR
	SETIF
	NEXT(element)
	POPCNTQ inserted+40(FP), R11
	JMP  done

split:
	LINESPLIT
	RANDOMSPLIT
	MISSES
	ADCQ  R8, R8
	SHRQ  $1, R13
	SBBL  DX, DX
	KMOVB DX, K2
	ADD(Z4)
	CLEAR
	SETIF
	NEXT(split)

done:
	ENDBITS(missed+48(FP), added+56(FP))

// func clearRunsAVX512(lines *[8]uint64, current, ahead *batch, n int, lanes *stableLanes, runs *stableRuns) (missed, added uint64)
//
// R13 is the first run.
TEXT ·clearRunsAVX512(SB), NOSPLIT, $0-64
	MOVQ runs+40(FP), R13
	BEGINBITS(split)

element:
	LINE
	MOVQ batch_random(SI)(CX*8), DX
	VMOVDQU64 (R13)(DX*1), Z2
	REPLACE(element)
	MOVQ n+24(FP), R11
	JMP  done

split:
	LINESPLIT
	MOVQ batch_random(SI)(CX*8), DX
	VMOVDQU64 (R13)(DX*1), Z2
	REPLACESPLIT(split)

done:
	ENDBITS(missed+48(FP), added+56(FP))

// GATED sets X to the bits to clear, from the bytes of the random word and the choices
// LANE and BIT of bytes: the bits whose part has the bit that the second random word
// chooses, Z5.
#define GATED(LANE, BIT, X) \
	VPSHUFB LANE, Z5, Z6 \
	VPSHUFB BIT, Z5, Z7  \
	VPERMQ  Z0, Z6, Z6   \
	VPRORVQ Z7, Z6, Z6   \
	VPANDQ  Z31, Z6, Z6  \
	VPSHUFB LANE, Z3, X  \
	VPSLLVQ X, Z6, X

// func clearGatedAVX512(lines *[8]uint64, current, ahead *batch, n int, lanes *stableLanes) (missed, added uint64)
TEXT ·clearGatedAVX512(SB), NOSPLIT, $0-56
	BEGINBITS(split)

element:
	LINE
	VPBROADCASTQ batch_random(SI)(CX*8), Z5
	GATED(Z26, Z27, Z2)
	REPLACE(element)
	MOVQ n+24(FP), R11
	JMP  done

split:
	LINESPLIT
	VPBROADCASTQ batch_random(SI)(CX*8), Z5
	GATED(Z26, Z27, Z2)
	GATED(Z24, Z25, Z4)
	VPORQ Z4, Z2, Z2
	REPLACESPLIT(split)

done:
	ENDBITS(missed+40(FP), added+48(FP))
