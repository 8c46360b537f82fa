// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "common_amd64.h"

// Cell lines, a plane a register (AVX2). Registers are as in common_amd64.h.

// SET sets the cells OWN of plane A to their bits in MAX.
#define SET(MAX, OWN, A, T) \
	VPXOR MAX, A, T \
	VPAND OWN, T, T \
	VPXOR T, A, A

// ONES sets E to the number of bits in each of its bytes. CNT has this number for each
// number of four bits, and LOW selects four bits.
#define ONES(E, T, LOW, CNT) \
	VPSRLW $4, E, T   \
	VPAND LOW, E, E   \
	VPAND LOW, T, T   \
	VPSHUFB E, CNT, E \
	VPSHUFB T, CNT, T \
	VPADDB T, E, E

// The numbers of ones in numbers of four bits.
DATA onesOf<>+0(SB)/8, $0x0302020102010100
DATA onesOf<>+8(SB)/8, $0x0403030203020201
DATA onesOf<>+16(SB)/8, $0x0302020102010100
DATA onesOf<>+24(SB)/8, $0x0403030203020201
GLOBL onesOf<>(SB), RODATA|NOPTR, $32

// func cells2AVX2(lines *[8]uint64, current, ahead *batch, n int, r *CellRule) (found, filled uint64)
//
// Y0 and Y1 are the planes, Y2 the element's cells, Y3 the cells that are not zero, Y4
// the cells to decrement. Y15 has the first cell of each eighth, Y14 and Y13 Max. Y12
// counts the cells that become zero, and Y11 the eighths in which an element fills none:
// together 8 for each element, less the growth of the count. Y10 and Y9 are for ONES, Y8
// is 0.
TEXT ·cells2AVX2(SB), NOSPLIT, $0-56
	BEGINCELLS
	VPBROADCASTQ CellRule_max(DX), Y14
	VPBROADCASTQ (CellRule_max+8)(DX), Y13
	VPCMPEQD Y15, Y15, Y15
	VPSRLW $12, Y15, Y9
	VPSLLW $8, Y9, Y10
	VPOR   Y9, Y10, Y10
	VPSRLD $31, Y15, Y15
	VMOVDQU onesOf<>(SB), Y9
	VPXOR Y8, Y8, Y8
	VPXOR Y11, Y11, Y11
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
	VPANDN Y2, Y3, Y5
	VPCMPEQD Y8, Y5, Y5
	VPSUBD Y5, Y11, Y11
	VPXOR Y4, Y0, Y0
	VPAND Y0, Y4, Y5
	VPXOR Y5, Y1, Y1
	SET(Y14, Y2, Y0, Y5)
	SET(Y13, Y2, Y1, Y5)
	VMOVDQU Y0, (DI)(BX*1)
	VMOVDQU Y1, 32(DI)(BX*1)
	VPOR Y0, Y1, Y1
	VPANDN Y3, Y1, Y3
	ONES(Y3, Y5, Y10, Y9)
	VPSADBW Y8, Y3, Y3
	VPADDQ Y3, Y12, Y12
	NEXT(element)
	VPADDD Y11, Y12, Y12
	VEXTRACTI128 $1, Y12, X0
	VPADDD X0, X12, X12
	VPSRLDQ $8, X12, X0
	VPADDD X0, X12, X12
	VPSRLDQ $4, X12, X0
	VPADDD X0, X12, X12
	VMOVD X12, DX
	MOVQ n+24(FP), AX
	SHLQ $3, AX
	SUBQ DX, AX
	ENDCELLS

// The bytes of an element's cells that make the words of their masks, the numbers to
// subtract from them, and the masks of numbers from 0 to 7.
DATA twiceEach<>+0(SB)/8, $0x0303020201010000
DATA twiceEach<>+8(SB)/8, $0x0707060605050404
GLOBL twiceEach<>(SB), RODATA|NOPTR, $16
DATA upperByte<>+0(SB)/8, $0x0800080008000800
DATA upperByte<>+8(SB)/8, $0x0800080008000800
GLOBL upperByte<>(SB), RODATA|NOPTR, $16
DATA powers<>+0(SB)/8, $0x8040201008040201
DATA powers<>+8(SB)/8, $0
GLOBL powers<>(SB), RODATA|NOPTR, $16

// func cells4AVX2(lines *[8]uint64, current, ahead *batch, n int, r *CellRule) (found, filled uint64)
//
// X0 to X3 are the planes, X4 the element's cells, X5 the cells that are not zero, X6 the
// cells to decrement. X12 to X15 have Max, X10 and X9 are for ONES, X8 is 0. X11 counts
// the same as Y11 and Y12 in cells2AVX2 together, which is below 2^16.
TEXT ·cells4AVX2(SB), NOSPLIT, $0-56
	BEGINCELLS
	VPBROADCASTQ CellRule_max(DX), X12
	VPBROADCASTQ (CellRule_max+8)(DX), X13
	VPBROADCASTQ (CellRule_max+16)(DX), X14
	VPBROADCASTQ (CellRule_max+24)(DX), X15
	VPCMPEQD X9, X9, X9
	VPSRLW $12, X9, X9
	VPSLLW $8, X9, X10
	VPOR   X9, X10, X10
	VMOVDQU onesOf<>(SB), X9
	VPXOR X8, X8, X8
	VPXOR X11, X11, X11

element:
	FETCH
	VMOVDQU (DI)(BX*1), X0
	VMOVDQU 16(DI)(BX*1), X1
	VMOVDQU 32(DI)(BX*1), X2
	VMOVDQU 48(DI)(BX*1), X3
	VPBROADCASTQ batch_low(SI)(CX*8), X4
	VPSHUFB twiceEach<>(SB), X4, X4
	VPSUBB upperByte<>(SB), X4, X4
	VMOVDQU powers<>(SB), X5
	VPSHUFB X4, X5, X4
	VPOR X0, X1, X5
	VPOR X2, X3, X7
	VPOR X7, X5, X5
	MOVBLZX (batch_random+7)(SI)(CX*8), AX
	SHRL $1, AX
	JUDGECELL(X4, X5)
	VPAND (DX)(AX*1), X5, X6
	VPANDN X4, X5, X7
	VPCMPEQW X8, X7, X7
	VPSUBW X7, X11, X11
	VPXOR X6, X0, X0
	VPAND X0, X6, X6
	VPXOR X6, X1, X1
	VPAND X1, X6, X6
	VPXOR X6, X2, X2
	VPAND X2, X6, X6
	VPXOR X6, X3, X3
	SET(X12, X4, X0, X7)
	SET(X13, X4, X1, X7)
	SET(X14, X4, X2, X7)
	SET(X15, X4, X3, X7)
	VMOVDQU X0, (DI)(BX*1)
	VMOVDQU X1, 16(DI)(BX*1)
	VMOVDQU X2, 32(DI)(BX*1)
	VMOVDQU X3, 48(DI)(BX*1)
	VPOR X0, X1, X1
	VPOR X2, X3, X3
	VPOR X1, X3, X3
	VPANDN X5, X3, X5
	ONES(X5, X7, X10, X9)
	VPSADBW X8, X5, X5
	VPADDQ X5, X11, X11
	NEXT(element)
	VPSRLDQ $8, X11, X0
	VPADDW X0, X11, X11
	VPSRLDQ $4, X11, X0
	VPADDW X0, X11, X11
	VPSRLDQ $2, X11, X0
	VPADDW X0, X11, X11
	VPEXTRW $0, X11, DX
	MOVQ n+24(FP), AX
	SHLQ $3, AX
	SUBQ DX, AX
	ENDCELLS

// func pickCellsAVX2(b *batch, p *cellPick)
//
// A rotation is two shifts; one of them may be by 64, which yields 0.
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
