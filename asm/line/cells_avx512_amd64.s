// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "common_amd64.h"

// Cell lines, a plane a register (AVX-512 VL, BW and VPOPCNTDQ). Registers are as in
// common_amd64.h.

// func cells2AVX512(lines *[8]uint64, current, ahead *batch, n int, r *CellRule) (found, filled uint64)
//
// Y0 and Y1 are the planes, Y2 the element's cells, Y3 the cells that are not zero, Y4
// the cells to decrement. Y15 has the first cell of each eighth, Y14 and Y13 Max, Y12 the
// count.
TEXT ·cells2AVX512(SB), NOSPLIT, $0-56
	BEGINCELLS
	VPBROADCASTQ CellRule_max(DX), Y14
	VPBROADCASTQ (CellRule_max+8)(DX), Y13
	VPCMPEQD Y15, Y15, Y15
	VPSRLD $31, Y15, Y15
	VPXOR Y12, Y12, Y12

element:
	FETCH
	VMOVDQU (DI)(BX*1), Y0
	VMOVDQU 32(DI)(BX*1), Y1
	VPMOVZXBD batch_low(SI)(CX*8), Y2
	VPSLLVD Y2, Y15, Y2
	VPOR Y0, Y1, Y3
	MOVBLZX (batch_random+7)(SI)(CX*8), AX
	JUDGECELL(Y2, Y3)
	VPAND (DX)(AX*1), Y3, Y4
	VPXOR Y4, Y0, Y0
	VPTERNLOGQ $0x78, Y0, Y4, Y1
	VPTERNLOGQ $0xb8, Y14, Y2, Y0
	VPTERNLOGQ $0xb8, Y13, Y2, Y1
	VMOVDQU Y0, (DI)(BX*1)
	VMOVDQU Y1, 32(DI)(BX*1)
	VPOR Y0, Y1, Y1
	VPOPCNTQ Y1, Y1
	VPOPCNTQ Y3, Y3
	VPADDQ Y1, Y12, Y12
	VPSUBQ Y3, Y12, Y12
	NEXT(element)
	VEXTRACTI128 $1, Y12, X0
	VPADDQ X0, X12, X12
	VPSRLDQ $8, X12, X0
	VPADDQ X0, X12, X12
	VMOVQ X12, AX
	ENDCELLS

// SUBTRACT decrements the cells LOSE of the planes A to D, which are not zero: the borrow
// goes on to the next plane where a bit became 1.
#define SUBTRACT(LOSE, A, B, C, D) \
	VPXOR LOSE, A, A               \
	VPTERNLOGQ $0x78, A, LOSE, B   \
	VPTERNLOGQ $0x80, A, B, LOSE   \
	VPXOR LOSE, C, C               \
	VPTERNLOGQ $0x78, C, LOSE, D

// func cells4AVX512(lines *[8]uint64, current, ahead *batch, n int, r *CellRule) (found, filled uint64)
//
// X0 to X3 are the planes, X4 the element's cells, X5 the cells that are not zero, X6 the
// cells to decrement. X15 has the first cell of each eighth, X11 to X14 Max. Y10 counts
// the cells that are not zero: its lower half after an element, the upper half before it.
TEXT ·cells4AVX512(SB), NOSPLIT, $0-56
	BEGINCELLS
	VPBROADCASTQ CellRule_max(DX), X11
	VPBROADCASTQ (CellRule_max+8)(DX), X12
	VPBROADCASTQ (CellRule_max+16)(DX), X13
	VPBROADCASTQ (CellRule_max+24)(DX), X14
	VPCMPEQW X15, X15, X15
	VPSRLW $15, X15, X15
	VPXOR X10, X10, X10

element:
	FETCH
	VMOVDQU (DI)(BX*1), X0
	VMOVDQU 16(DI)(BX*1), X1
	VMOVDQU 32(DI)(BX*1), X2
	VMOVDQU 48(DI)(BX*1), X3
	VPMOVZXBW batch_low(SI)(CX*8), X4
	VPSLLVW X4, X15, X4
	VPOR X0, X1, X5
	VPTERNLOGQ $0xfe, X2, X3, X5
	MOVBLZX (batch_random+7)(SI)(CX*8), AX
	SHRL $1, AX
	JUDGECELL(X4, X5)
	VPAND (DX)(AX*1), X5, X6
	SUBTRACT(X6, X0, X1, X2, X3)
	VPTERNLOGQ $0xb8, X11, X4, X0
	VPTERNLOGQ $0xb8, X12, X4, X1
	VPTERNLOGQ $0xb8, X13, X4, X2
	VPTERNLOGQ $0xb8, X14, X4, X3
	VMOVDQU X0, (DI)(BX*1)
	VMOVDQU X1, 16(DI)(BX*1)
	VMOVDQU X2, 32(DI)(BX*1)
	VMOVDQU X3, 48(DI)(BX*1)
	VPOR X0, X1, X1
	VPTERNLOGQ $0xfe, X2, X3, X1
	VINSERTI128 $1, X5, Y1, Y1
	VPOPCNTQ Y1, Y1
	VPADDQ Y1, Y10, Y10
	NEXT(element)
	VEXTRACTI128 $1, Y10, X0
	VPSUBQ X0, X10, X10
	VPSRLDQ $8, X10, X0
	VPADDQ X0, X10, X10
	VMOVQ X10, AX
	ENDCELLS

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
