// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "prng_amd64.h"

// The patterns that the kernels of lines of bits look for, made from the words of a batch
// (AVX2), four elements at a time, as in the AVX-512 code.

// CHOOSE turns 16-bit words X into the values that their bytes are made of. Y12 to Y15
// are size, spread, start and most of stableLanes.
#define CHOOSE(X) \
	VPMULHUW Y12, X, X \
	VPSHUFB  Y13, X, X \
	VPADDW   Y14, X, X \
	VPMINUW  Y15, X, X

// BROADCAST sets all words of the register Y to X's.
#define BROADCAST(BITS, X, Y) \
	MOVQ $BITS, AX \
	VMOVQ AX, X    \
	VPBROADCASTQ X, Y

// CHOOSER loads the inputs of CHOOSE. DI is the batch, SI the lanes, and CX counts groups
// of four elements. Y11 masks the lower byte of each 16 bits.
#define CHOOSER \
	MOVQ b+0(FP), DI                           \
	MOVQ lanes+8(FP), SI                       \
	VPBROADCASTQ stableLanes_size(SI), Y12        \
	VBROADCASTI128 stableLanes_spread(SI), Y13    \
	VPBROADCASTQ stableLanes_start(SI), Y14       \
	VPBROADCASTQ stableLanes_most(SI), Y15        \
	BROADCAST(0x00ff00ff00ff00ff, X11, Y11)    \
	MOVL $16, CX

// BYTES computes the bytes of the words in Y0 and of the random ones in Y1, which it
// overwrites.
#define BYTES \
	CHOOSE(Y0)                        \
	CHOOSE(Y1)                        \
	VPAND    Y11, Y0, Y0              \
	VPSLLW   $8, Y1, Y1               \
	VPOR     Y1, Y0, Y0               \
	VMOVDQU  Y0, batch_low(DI)

// SECOND sets X to the second random words of the first ones. Y9 and Y10 are the
// multiplier and its upper half. It overwrites Y4 to Y6.
#define SECOND(X) \
	PRODUCT256(Y9, Y10, X) \
	VPSRLQ $29, X, Y4      \
	VPXOR  Y4, X, X

// func chooseBitsAVX2(b *batch, lanes *stableLanes)
TEXT ·chooseBitsAVX2(SB), NOSPLIT, $0-16
	CHOOSER

group:
	VMOVDQU batch_low(DI), Y0
	VMOVDQU batch_random(DI), Y1
	BYTES
	ADDQ $32, DI
	DECQ CX
	JNZ  group
	VZEROUPPER
	RET

// func chooseGatesAVX2(b *batch, lanes *stableLanes)
//
// Y7 has the bits of a number in a lane and of a lane: the kernel shifts by the former.
TEXT ·chooseGatesAVX2(SB), NOSPLIT, $0-16
	CHOOSER
	VPBROADCASTQ stableLanes_first(SI), Y8
	BROADCAST(const_prngMix, X9, Y9)
	VPSRLQ $32, Y9, Y10
	BROADCAST(0x073f073f073f073f, X7, Y7)

group:
	VMOVDQU  batch_low(DI), Y0
	VMOVDQU  batch_random(DI), Y1
	VMOVDQA  Y1, Y2
	SECOND(Y2)
	VPMULHUW Y12, Y2, Y2
	VPSHUFB  Y13, Y2, Y2
	VPADDW   Y8, Y2, Y2
	VPSLLW   $2, Y2, Y3
	VPAND    Y11, Y2, Y2
	VPANDN   Y3, Y11, Y3
	VPOR     Y3, Y2, Y2
	VPAND    Y7, Y2, Y2
	VMOVDQU  Y2, batch_random(DI)
	BYTES
	ADDQ $32, DI
	DECQ CX
	JNZ  group
	VZEROUPPER
	RET

// func chooseRunsAVX2(b *batch, lanes *stableLanes, span uint64)
TEXT ·chooseRunsAVX2(SB), NOSPLIT, $0-24
	CHOOSER
	VPBROADCASTQ span+16(FP), Y10
	BROADCAST(7, X9, Y9)
	BROADCAST(63, X8, Y8)
	VPXOR Y7, Y7, Y7

group:
	VMOVDQU  batch_low(DI), Y0
	VMOVDQU  batch_random(DI), Y1
	VPSRLQ   $32, Y1, Y2
	VPMULUDQ Y10, Y1, Y3
	VPMULUDQ Y10, Y2, Y2
	VPSRLQ   $32, Y3, Y3
	VPADDQ   Y3, Y2, Y2
	VPSRLQ   $35, Y2, Y3
	VPSRLQ   $32, Y2, Y2
	VPSUBQ   Y3, Y7, Y3
	VPAND    Y8, Y3, Y3
	VPAND    Y9, Y2, Y2
	VPSLLQ   $7, Y2, Y2
	VPOR     Y3, Y2, Y2
	VMOVDQU  Y2, batch_random(DI)
	BYTES
	ADDQ $32, DI
	DECQ CX
	JNZ  group
	VZEROUPPER
	RET

DATA countFourths<>+0(SB)/8, $0
DATA countFourths<>+8(SB)/8, $1
DATA countFourths<>+16(SB)/8, $2
DATA countFourths<>+24(SB)/8, $3
GLOBL countFourths<>(SB), RODATA|NOPTR, $32

// func insertedAVX2(b *batch, groups int, position, all uint64) (inserted uint64)
//
// Y7 is the positions of the elements, Y12 the step of Y7. Y8 is the number to compare
// with, its top bit flipped by Y15, since comparisons are signed. Y13 has the lower half
// of a word.
TEXT ·insertedAVX2(SB), NOSPLIT, $0-40
	MOVQ b+0(FP), DI
	MOVQ groups+8(FP), SI
	VPBROADCASTQ position+16(FP), Y7
	VPBROADCASTQ all+24(FP), Y8
	VPADDQ countFourths<>(SB), Y7, Y7
	BROADCAST(4, X12, Y12)
	BROADCAST(const_prngMix, X9, Y9)
	VPSRLQ $32, Y9, Y10
	VPCMPEQQ Y15, Y15, Y15
	VPSRLQ $32, Y15, Y13
	VPSLLQ $63, Y15, Y15
	VPXOR Y15, Y8, Y8
	XORL CX, CX
	XORL R10, R10

group:
	VMOVDQU  batch_random(DI), Y0
	SECOND(Y0)
	VPSRLQ   $32, Y0, Y2
	VPSRLQ   $32, Y7, Y3
	VPMULUDQ Y7, Y0, Y4
	VPMULUDQ Y7, Y2, Y5
	VPMULUDQ Y3, Y0, Y6
	VPMULUDQ Y3, Y2, Y2
	VPSRLQ   $32, Y4, Y4
	VPADDQ   Y4, Y5, Y5
	VPAND    Y13, Y5, Y4
	VPADDQ   Y4, Y6, Y6
	VPSRLQ   $32, Y5, Y5
	VPSRLQ   $32, Y6, Y6
	VPADDQ   Y5, Y2, Y2
	VPADDQ   Y6, Y2, Y2
	VPXOR    Y15, Y2, Y2
	VPCMPGTQ Y2, Y8, Y2
	VMOVMSKPD Y2, AX
	SHLXQ    CX, AX, AX
	ORQ      AX, R10
	VPADDQ   Y12, Y7, Y7
	ADDQ $32, DI
	ADDL $4, CX
	DECQ SI
	JNZ  group
	MOVQ R10, inserted+32(FP)
	VZEROUPPER
	RET
