//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"

// func pickCellsAVX512(b *batch, p *cellPick)
TEXT ·pickCellsAVX512(SB), NOSPLIT, $0-16
	MOVQ b+0(FP), DI
	MOVQ p+8(FP), SI
	VMOVQ cellPick_shift(SI), X3
	VPBROADCASTQ cellPick_mask(SI), Z4
	VPBROADCASTQ cellPick_none(SI), Z5
	VPBROADCASTQ (cellPick_none+8)(SI), Z6
	MOVQ $1<<40, AX
	VPBROADCASTQ AX, Z7
	LEAQ 512(DI), DX

group:
	VMOVDQU64 batch_low(DI), Z0
	VPTESTMQ Z7, Z0, K1
	VPBLENDMQ Z6, Z5, K1, Z2
	VPSRLQ X3, Z0, Z1
	VPSLLQ $3, Z0, Z0
	VPROLVQ Z0, Z2, Z0
	VPTERNLOGQ $0xea, Z0, Z4, Z1
	VMOVDQU64 Z1, batch_low(DI)
	ADDQ $64, DI
	CMPQ DI, DX
	JNE  group
	VZEROUPPER
	RET
