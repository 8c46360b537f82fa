//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"

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
