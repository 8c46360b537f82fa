// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "prng_amd64.h"

DATA countFour<>+0(SB)/8, $0
DATA countFour<>+8(SB)/8, $1
DATA countFour<>+16(SB)/8, $2
DATA countFour<>+24(SB)/8, $3
GLOBL countFour<>(SB), RODATA|NOPTR, $32

// func fillBatchAVX2(b *batch, digests *Digest, groups, lines int, within, position uint64, random bool)
//
// Four elements at a time, in the way of fillBatchAVX512. Y8 is the number of lines, Y9
// and Y10 golden and its upper half, Y11 and Y12 prngMix; Y4 is the positions times
// golden, Y14 the step of Y4.
TEXT ·fillBatchAVX2(SB), NOSPLIT, $0-49
	MOVQ b+0(FP), DI
	MOVQ digests+8(FP), SI
	MOVQ groups+16(FP), CX
	VPBROADCASTQ lines+24(FP), Y8
	MOVQ within+32(FP), AX
	ORQ  $-64, AX
	VMOVQ AX, X13
	VPBROADCASTQ X13, Y13
	VPBROADCASTQ position+40(FP), Y7
	MOVBLZX random+48(FP), R9
	MOVQ $const_golden, AX
	VMOVQ AX, X9
	VPBROADCASTQ X9, Y9
	VPSRLQ $32, Y9, Y10
	MOVQ $const_prngMix, AX
	VMOVQ AX, X11
	VPBROADCASTQ X11, Y11
	VPSRLQ $32, Y11, Y12
	VPADDQ countFour<>(SB), Y7, Y4
	PRODUCT256(Y9, Y10, Y4)
	VPSLLQ $2, Y9, Y14

group:
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	VPUNPCKHQDQ Y1, Y0, Y2
	VPUNPCKLQDQ Y1, Y0, Y0
	VPERMQ $0xd8, Y2, Y2
	VPERMQ $0xd8, Y0, Y0
	VMOVDQU Y0, batch_low(DI)
	VPSRLQ $32, Y2, Y3
	VPMULUDQ Y8, Y2, Y2
	VPMULUDQ Y8, Y3, Y3
	VPSRLQ $32, Y2, Y2
	VPADDQ Y3, Y2, Y2
	VPSRLQ $26, Y2, Y2
	VPAND Y13, Y2, Y2
	VMOVDQU Y2, batch_offset(DI)
	TESTL R9, R9
	JZ    done
	VMOVDQA Y4, Y1
	VPADDQ Y14, Y4, Y4
	PRNG256(Y0, Y1, Y11, Y12)
	VMOVDQU Y0, batch_random(DI)

done:
	ADDQ $64, SI
	ADDQ $32, DI
	DECQ CX
	JNZ  group
	VZEROUPPER
	RET

// func fillExactAVX2(b *batch, words *uint32, groups int, shift uint, geometry *rowGeometry)
TEXT ·fillExactAVX2(SB), NOSPLIT, $0-40
	MOVQ b+0(FP), DI
	MOVQ words+8(FP), SI
	MOVQ groups+16(FP), CX
	VPBROADCASTQ shift+24(FP), Y10
	MOVQ geometry+32(FP), AX
	VBROADCASTI128 rowGeometry_spread(AX), Y11
	VPCMPEQQ Y12, Y12, Y12
	VPSLLVQ Y10, Y12, Y13

group:
	VPMOVZXDQ (SI), Y0
	VPSRLVQ Y10, Y0, Y1
	VPSLLQ $6, Y1, Y1
	VMOVDQU Y1, batch_offset(DI)
	VPANDN  Y0, Y13, Y0
	VPSUBQ  Y12, Y0, Y0
	VPSHUFB Y11, Y0, Y0
	VMOVDQU Y0, batch_low(DI)
	ADDQ $16, SI
	ADDQ $32, DI
	DECQ CX
	JNZ  group
	VZEROUPPER
	RET

// func fillSlidingAVX2(b *batch, words *uint64, dates *uint16, groups int, shift uint)
TEXT ·fillSlidingAVX2(SB), NOSPLIT, $0-40
	MOVQ b+0(FP), DI
	MOVQ words+8(FP), SI
	MOVQ dates+16(FP), DX
	MOVQ groups+24(FP), CX
	VPBROADCASTQ shift+32(FP), Y10
	MOVQ $-0x10000, AX
	MOVQ AX, X11
	VPBROADCASTQ X11, Y11
	MOVL $0x8000, AX
	MOVQ AX, X12
	VPBROADCASTQ X12, Y12
	MOVL $0x7fff, AX
	MOVQ AX, X13
	VPBROADCASTQ X13, Y13

group:
	VMOVDQU (SI), Y0
	VPSRLVQ Y10, Y0, Y1
	VPSLLQ $6, Y1, Y1
	VMOVDQU Y1, batch_offset(DI)
	VPSLLQ $10, Y0, Y0
	VPAND Y11, Y0, Y0
	VPMOVZXWQ (DX), Y1
	VPAND Y13, Y1, Y1
	VPOR Y12, Y0, Y0
	VPOR Y1, Y0, Y0
	VMOVDQU Y0, batch_low(DI)
	ADDQ $32, SI
	ADDQ $8, DX
	ADDQ $32, DI
	DECQ CX
	JNZ  group
	VZEROUPPER
	RET

// func fillExact64AVX2(b *batch, digests *Digest, groups int, shift uint)
TEXT ·fillExact64AVX2(SB), NOSPLIT, $0-32
	MOVQ b+0(FP), DI
	MOVQ digests+8(FP), SI
	MOVQ groups+16(FP), CX
	VPBROADCASTQ shift+24(FP), Y10
	VPXOR Y12, Y12, Y12

group:
	VMOVDQU (SI), Y0
	VPUNPCKLQDQ 32(SI), Y0, Y0
	VPERMQ $0xd8, Y0, Y0
	VPSRLVQ Y10, Y0, Y1
	VPSLLQ $6, Y1, Y1
	VMOVDQU Y1, batch_offset(DI)
	VPCMPEQQ Y12, Y0, Y1
	VPSUBQ Y1, Y0, Y0
	VMOVDQU Y0, batch_low(DI)
	ADDQ $64, SI
	ADDQ $32, DI
	DECQ CX
	JNZ  group
	VZEROUPPER
	RET
