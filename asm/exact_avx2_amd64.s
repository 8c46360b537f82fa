//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"

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
