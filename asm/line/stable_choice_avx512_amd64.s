// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"

// The patterns that the kernels of lines of bits look for, made from the words of a batch
// (AVX-512).

// CHOOSE turns 16-bit words X into the values that their bytes are made of. Z24 to Z27
// are size, spread, start and most of stableLanes.
#define CHOOSE(X) \
	VPMULHUW Z24, X, X \
	VPSHUFB  Z25, X, X \
	VPADDW   Z26, X, X \
	VPMINUW  Z27, X, X

// CHOOSER loads the inputs of CHOOSE. DI is the batch, SI the lanes, and CX counts groups
// of eight elements. Z31 masks the lower byte of each 16 bits.
#define CHOOSER \
	MOVQ b+0(FP), DI                       \
	MOVQ lanes+8(FP), SI                   \
	VPBROADCASTQ stableLanes_size(SI), Z24    \
	VBROADCASTI64X2 stableLanes_spread(SI), Z25 \
	VPBROADCASTQ stableLanes_start(SI), Z26   \
	VPBROADCASTQ stableLanes_most(SI), Z27    \
	MOVQ $0x00ff00ff00ff00ff, AX           \
	VPBROADCASTQ AX, Z31                   \
	MOVL $8, CX

// BYTES computes the bytes of the words in Z0 and of the random ones in Z1, which it
// overwrites.
#define BYTES \
	CHOOSE(Z0)                          \
	CHOOSE(Z1)                          \
	VPSLLQ     $8, Z1, Z1               \
	VPTERNLOGQ $0xe2, Z1, Z31, Z0       \
	VMOVDQU64  Z0, batch_low(DI)

// func chooseBitsAVX512(b *batch, lanes *stableLanes)
TEXT ·chooseBitsAVX512(SB), NOSPLIT, $0-16
	CHOOSER

group:
	VMOVDQU64 batch_low(DI), Z0
	VMOVDQU64 batch_random(DI), Z1
	BYTES
	ADDQ $64, DI
	DECQ CX
	JNZ  group
	VZEROUPPER
	RET

// func chooseGatesAVX512(b *batch, lanes *stableLanes)
TEXT ·chooseGatesAVX512(SB), NOSPLIT, $0-16
	CHOOSER
	VPBROADCASTQ stableLanes_first(SI), Z28
	MOVQ $const_prngMix, AX
	VPBROADCASTQ AX, Z29

group:
	VMOVDQU64 batch_low(DI), Z0
	VMOVDQU64 batch_random(DI), Z1
	VMOVDQA64 Z1, Z2
	VPMULLQ   Z29, Z2, Z2
	VPSRLQ    $29, Z2, Z3
	VPXORQ    Z3, Z2, Z2
	VPMULHUW  Z24, Z2, Z2
	VPSHUFB   Z25, Z2, Z2
	VPADDW    Z28, Z2, Z2
	VPSLLW    $2, Z2, Z3
	VPTERNLOGQ $0xe2, Z3, Z31, Z2
	VMOVDQU64 Z2, batch_random(DI)
	BYTES
	ADDQ $64, DI
	DECQ CX
	JNZ  group
	VZEROUPPER
	RET

// func chooseRunsAVX512(b *batch, lanes *stableLanes, span uint64)
//
// With h and l the halves of a random word, the run's bit is (h*span + l*span>>32) >> 32.
TEXT ·chooseRunsAVX512(SB), NOSPLIT, $0-24
	CHOOSER
	VPBROADCASTQ span+16(FP), Z28
	VPXORQ Z20, Z20, Z20
	MOVL $7, AX
	VPBROADCASTQ AX, Z29
	MOVL $63, AX
	VPBROADCASTQ AX, Z30

group:
	VMOVDQU64 batch_low(DI), Z0
	VMOVDQU64 batch_random(DI), Z1
	VPSRLQ    $32, Z1, Z2
	VPMULUDQ  Z28, Z1, Z3
	VPMULUDQ  Z28, Z2, Z2
	VPSRLQ    $32, Z3, Z3
	VPADDQ    Z3, Z2, Z2
	VPSRLQ    $35, Z2, Z3
	VPSRLQ    $32, Z2, Z2
	VPSUBQ    Z3, Z20, Z3
	VPANDQ    Z30, Z3, Z3
	VPANDQ    Z29, Z2, Z2
	VPSLLQ    $7, Z2, Z2
	VPORQ     Z3, Z2, Z2
	VMOVDQU64 Z2, batch_random(DI)
	BYTES
	ADDQ $64, DI
	DECQ CX
	JNZ  group
	VZEROUPPER
	RET

DATA countEight<>+0(SB)/8, $0
DATA countEight<>+8(SB)/8, $1
DATA countEight<>+16(SB)/8, $2
DATA countEight<>+24(SB)/8, $3
DATA countEight<>+32(SB)/8, $4
DATA countEight<>+40(SB)/8, $5
DATA countEight<>+48(SB)/8, $6
DATA countEight<>+56(SB)/8, $7
GLOBL countEight<>(SB), RODATA|NOPTR, $64

// func insertedAVX512(b *batch, groups int, position, all uint64) (inserted uint64)
//
// With a and b the halves of r2 and c and d the halves of the position, high first, the
// upper half of their product is a*c + t>>32 + u>>32, where t = a*d + b*d>>32 and u = b*c
// + (t mod 2^32).
TEXT ·insertedAVX512(SB), NOSPLIT, $0-40
	MOVQ b+0(FP), DI
	MOVQ groups+8(FP), SI
	VPBROADCASTQ position+16(FP), Z7
	VPBROADCASTQ all+24(FP), Z10
	VPADDQ countEight<>(SB), Z7, Z7
	MOVL $8, AX
	VPBROADCASTQ AX, Z12
	MOVQ $const_prngMix, AX
	VPBROADCASTQ AX, Z13
	MOVL $-1, AX
	VPBROADCASTQ AX, Z14
	XORL CX, CX
	XORL R10, R10

group:
	VMOVDQU64 batch_random(DI), Z0
	VPMULLQ  Z13, Z0, Z0
	VPSRLQ   $29, Z0, Z2
	VPXORQ   Z2, Z0, Z0
	VPSRLQ   $32, Z0, Z2
	VPSRLQ   $32, Z7, Z3
	VPMULUDQ Z7, Z0, Z4
	VPMULUDQ Z7, Z2, Z5
	VPMULUDQ Z3, Z0, Z6
	VPMULUDQ Z3, Z2, Z2
	VPSRLQ   $32, Z4, Z4
	VPADDQ   Z4, Z5, Z5
	VPANDQ   Z14, Z5, Z4
	VPADDQ   Z4, Z6, Z6
	VPSRLQ   $32, Z5, Z5
	VPSRLQ   $32, Z6, Z6
	VPADDQ   Z5, Z2, Z2
	VPADDQ   Z6, Z2, Z2
	VPCMPUQ  $1, Z10, Z2, K1
	KMOVB    K1, AX
	SHLXQ    CX, AX, AX
	ORQ      AX, R10
	VPADDQ   Z12, Z7, Z7
	ADDQ $64, DI
	ADDL $8, CX
	DECQ SI
	JNZ  group
	MOVQ R10, inserted+32(FP)
	VZEROUPPER
	RET
