//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"

// func pickCellsAVX2(b *batch, p *cellPick)
//
// A rotation is two shifts, of which one is by up to 64, which leaves nothing.
TEXT ·pickCellsAVX2(SB), NOSPLIT, $0-16
	MOVQ b+0(FP), DI
	MOVQ p+8(FP), SI
	VMOVQ cellPick_shift(SI), X3
	VPBROADCASTQ cellPick_mask(SI), Y4
	VPBROADCASTQ cellPick_none(SI), Y5
	VPBROADCASTQ (cellPick_none+8)(SI), Y8
	MOVL $0x38, AX
	VMOVQ AX, X6
	VPBROADCASTQ X6, Y6
	MOVL $64, AX
	VMOVQ AX, X7
	VPBROADCASTQ X7, Y7
	LEAQ 512(DI), DX

group:
	VMOVDQU batch_low(DI), Y0
	VPSLLQ $23, Y0, Y1
	VBLENDVPD Y1, Y8, Y5, Y9
	VPSRLQ X3, Y0, Y1
	VPAND  Y4, Y1, Y1
	VPSLLQ $3, Y0, Y0
	VPAND  Y6, Y0, Y0
	VPSUBQ Y0, Y7, Y2
	VPSLLVQ Y0, Y9, Y0
	VPSRLVQ Y2, Y9, Y2
	VPOR   Y0, Y1, Y1
	VPOR   Y2, Y1, Y1
	VMOVDQU Y1, batch_low(DI)
	ADDQ $32, DI
	CMPQ DI, DX
	JNE  group
	VZEROUPPER
	RET
