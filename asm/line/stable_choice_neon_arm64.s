// SPDX-License-Identifier: Apache-2.0

//go:build arm64 && !purego

#include "textflag.h"
#include "go_asm.h"

// The patterns that the kernels of lines of bits look for, made from the words of a batch
// (Advanced SIMD), two elements at a time. R0 goes through the digests, R1 through the
// random words, R2 counts pairs of elements.

// UMULL and UMULL2 multiply four of eight words of 16 bits. The assembler does not know
// them.
#define UMULL(M, N, D) WORD $(0x2e60c000 | M<<16 | N<<5 | D)
#define UMULL2(M, N, D) WORD $(0x6e60c000 | M<<16 | N<<5 | D)

// SCALE turns 16-bit words into the words that the bits of the parts come from: V16 and
// V17 are size and spread of stableLanes. N is the number of register X.
#define SCALE(N, X) \
	UMULL(16, N, 2)               \
	UMULL2(16, N, 3)              \
	VUZP2 V3.H8, V2.H8, X.H8      \
	VTBL  V17.B16, [X.B16], X.B16

#define BEGIN \
	MOVD b+0(FP), R0                 \
	ADD  $batch_random, R0, R1     \
	ADD  $batch_low, R0, R0      \
	MOVD lanes+8(FP), R3             \
	MOVD $32, R2                     \
	MOVD stableLanes_size(R3), R4       \
	VDUP R4, V16.D2                  \
	ADD  $stableLanes_spread, R3, R4    \
	VLD1 (R4), [V17.B16]

// CHOOSE turns 16-bit words X into the values that their bytes are made of. V18 and V19
// are start and most of stableLanes.
#define CHOOSE(N, X) \
	SCALE(N, X)                \
	VADD  V18.H8, X.H8, X.H8   \
	VUMIN V19.H8, X.H8, X.H8

// func chooseBitsNEON(b *batch, lanes *stableLanes)
TEXT ·chooseBitsNEON(SB), NOSPLIT, $0-16
	BEGIN
	MOVD stableLanes_start(R3), R4
	VDUP R4, V18.D2
	MOVD stableLanes_most(R3), R4
	VDUP R4, V19.D2

pair:
	VLD1   (R0), [V0.B16]
	VLD1.P 16(R1), [V1.B16]
	CHOOSE(0, V0)
	CHOOSE(1, V1)
	VSLI   $8, V1.H8, V0.H8
	VST1.P [V0.B16], 16(R0)
	SUBS   $1, R2, R2
	BNE    pair
	RET

// func chooseGatesNEON(b *batch, lanes *stableLanes)
//
// V18 is first of stableLanes, V19 has a bit for each of eight bytes, V20 the lowest
// three bits of each 16.
TEXT ·chooseGatesNEON(SB), NOSPLIT, $0-16
	BEGIN
	MOVD stableLanes_first(R3), R4
	VDUP R4, V18.D2
	MOVD $0x8040201008040201, R4
	VDUP R4, V19.D2
	MOVD $0x0007000700070007, R4
	VDUP R4, V20.D2

pair:
	VLD1   (R1), [V0.B16]
	SCALE(0, V0)
	VADD   V18.H8, V0.H8, V0.H8
	VAND   V20.B16, V0.B16, V1.B16
	VUSHR  $3, V0.H8, V0.H8
	VTBL   V1.B16, [V19.B16], V1.B16
	VSLI   $8, V1.H8, V0.H8
	VST1.P [V0.B16], 16(R1)
	SUBS   $1, R2, R2
	BNE    pair
	RET
