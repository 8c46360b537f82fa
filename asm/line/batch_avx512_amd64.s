// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "prng_amd64.h"

// The low halves of eight digests in two registers. The numbers of the high halves are
// greater by one.
DATA evenHalves<>+0(SB)/8, $0
DATA evenHalves<>+8(SB)/8, $2
DATA evenHalves<>+16(SB)/8, $4
DATA evenHalves<>+24(SB)/8, $6
DATA evenHalves<>+32(SB)/8, $8
DATA evenHalves<>+40(SB)/8, $10
DATA evenHalves<>+48(SB)/8, $12
DATA evenHalves<>+56(SB)/8, $14
GLOBL evenHalves<>(SB), RODATA|NOPTR, $64

// func fillBatchAVX512(b *batch, digests *Digest, groups, lines int, within, position uint64, random bool)
//
// Eight elements at a time. With h and l the halves of element 1 of a digest, the line is
// (h*lines + l*lines>>32) >> 32. Z7 is the positions times golden, Z12 the step of Z7.
TEXT ·fillBatchAVX512(SB), NOSPLIT, $0-49
	MOVQ b+0(FP), DI
	MOVQ digests+8(FP), SI
	MOVQ groups+16(FP), CX
	VPBROADCASTQ lines+24(FP), Z10
	MOVQ within+32(FP), AX
	ORQ  $-64, AX
	VPBROADCASTQ AX, Z15
	MOVBLZX random+48(FP), R9
	VMOVDQU64 evenHalves<>(SB), Z8
	MOVL $1, AX
	VPBROADCASTQ AX, Z9
	VPADDQ Z9, Z8, Z9
	MOVQ $const_golden, AX
	VPBROADCASTQ AX, Z13
	MOVQ $const_prngMix, AX
	VPBROADCASTQ AX, Z14
	VPSRLQ $1, Z8, Z7
	VPADDQ.BCST position+40(FP), Z7, Z7
	VPMULLQ Z13, Z7, Z7
	VPSLLQ $3, Z13, Z12

group:
	VMOVDQU64 (SI), Z0
	VMOVDQU64 64(SI), Z1
	VMOVDQA64 Z0, Z2
	VPERMT2Q  Z1, Z8, Z2
	VPERMT2Q  Z1, Z9, Z0
	VMOVDQU64 Z2, batch_low(DI)
	VPSRLQ    $32, Z0, Z3
	VPMULUDQ  Z10, Z0, Z0
	VPMULUDQ  Z10, Z3, Z3
	VPSRLQ    $32, Z0, Z0
	VPADDQ    Z3, Z0, Z0
	VPSRLQ    $26, Z0, Z0
	VPANDQ    Z15, Z0, Z0
	VMOVDQU64 Z0, batch_offset(DI)
	TESTL R9, R9
	JZ    done
	VMOVDQA64 Z7, Z5
	VPADDQ    Z12, Z7, Z7
	PRNG512(Z2, Z5, Z14)
	VMOVDQU64 Z2, batch_random(DI)

done:
	ADDQ $128, SI
	ADDQ $64, DI
	DECQ CX
	JNZ  group
	VZEROUPPER
	RET

// func fillExact64AVX512(b *batch, digests *Digest, groups int, shift uint)
TEXT ·fillExact64AVX512(SB), NOSPLIT, $0-32
	MOVQ b+0(FP), DI
	MOVQ digests+8(FP), SI
	MOVQ groups+16(FP), CX
	VPBROADCASTQ shift+24(FP), Z10
	VMOVDQU64 evenHalves<>(SB), Z8
	MOVL $1, AX
	VPBROADCASTQ AX, Z9

group:
	VMOVDQU64 (SI), Z0
	VPERMT2Q  64(SI), Z8, Z0
	VPSRLVQ   Z10, Z0, Z1
	VPSLLQ    $6, Z1, Z1
	VMOVDQU64 Z1, batch_offset(DI)
	VPMAXUQ   Z9, Z0, Z0
	VMOVDQU64 Z0, batch_low(DI)
	ADDQ $128, SI
	ADDQ $64, DI
	DECQ CX
	JNZ  group
	VZEROUPPER
	RET

// func fillSlidingAVX512(b *batch, words *uint64, dates *uint16, groups int, shift uint)
TEXT ·fillSlidingAVX512(SB), NOSPLIT, $0-40
	MOVQ b+0(FP), DI
	MOVQ words+8(FP), SI
	MOVQ dates+16(FP), DX
	MOVQ groups+24(FP), CX
	VPBROADCASTQ shift+32(FP), Z10
	MOVQ $-0x10000, AX
	VPBROADCASTQ AX, Z11
	MOVL $0x8000, AX
	VPBROADCASTQ AX, Z12
	MOVL $0x7fff, AX
	VPBROADCASTQ AX, Z13

group:
	VMOVDQU64 (SI), Z0
	VPSRLVQ   Z10, Z0, Z1
	VPSLLQ    $6, Z1, Z1
	VMOVDQU64 Z1, batch_offset(DI)
	VPSLLQ    $10, Z0, Z0
	VPANDQ    Z11, Z0, Z0
	VPMOVZXWQ (DX), Z1
	VPANDQ    Z13, Z1, Z1
	VPORQ     Z12, Z0, Z0
	VPORQ     Z1, Z0, Z0
	VMOVDQU64 Z0, batch_low(DI)
	ADDQ $64, SI
	ADDQ $16, DX
	ADDQ $64, DI
	DECQ CX
	JNZ  group
	VZEROUPPER
	RET

// func fillExactAVX512(b *batch, words *uint32, groups int, shift uint, geometry *rowGeometry)
TEXT ·fillExactAVX512(SB), NOSPLIT, $0-40
	MOVQ b+0(FP), DI
	MOVQ words+8(FP), SI
	MOVQ groups+16(FP), CX
	VPBROADCASTQ shift+24(FP), Z10
	MOVQ geometry+32(FP), AX
	VBROADCASTI64X2 rowGeometry_spread(AX), Z11
	MOVL $1, AX
	VPBROADCASTQ AX, Z12
	VPSLLVQ Z10, Z12, Z13
	VPSUBQ Z12, Z13, Z13

group:
	VPMOVZXDQ (SI), Z0
	VPSRLVQ   Z10, Z0, Z1
	VPSLLQ    $6, Z1, Z1
	VMOVDQU64 Z1, batch_offset(DI)
	VPANDQ    Z13, Z0, Z0
	VPADDQ    Z12, Z0, Z0
	VPSHUFB   Z11, Z0, Z0
	VMOVDQU64 Z0, batch_low(DI)
	ADDQ $32, SI
	ADDQ $64, DI
	DECQ CX
	JNZ  group
	VZEROUPPER
	RET
