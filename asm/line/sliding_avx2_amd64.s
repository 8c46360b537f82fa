// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "common_amd64.h"

// Sliding rows, a line two registers (AVX2; BMI1 for scalars).

// CELLS sets TO to bits of the cells of the line that are 0 in A and B.
#define CELLS(A, B, TO) \
	VPCMPEQQ Y15, A, Y4 \
	VPCMPEQQ Y15, B, Y5 \
	VMOVMSKPD Y4, TO    \
	VMOVMSKPD Y5, R12   \
	SHLL $4, R12        \
	ORL  R12, TO

// func slidingRowsAVX2(lines *[8]uint64, current, ahead *batch, n int, before *uint16) (held uint64)
TEXT ·slidingRowsAVX2(SB), NOSPLIT, $0-48
	BEGINSLIDING(Y14)
	VPXOR Y15, Y15, Y15

element:
	FETCH
	ADDQ DI, BX
	VMOVDQU (BX), Y0
	VMOVDQU 32(BX), Y1
	VPBROADCASTQ PATTERN(SI)(CX*8), Y2
	VPXOR Y0, Y2, Y3
	VPXOR Y1, Y2, Y2
	VPAND Y14, Y3, Y3
	VPAND Y14, Y2, Y2
	CELLS(Y3, Y2, AX)
	CELLS(Y0, Y1, DX)
	CHOOSECELL(full)
	LATERDATE
	MOVQ R13, (BX)(DX*8)
	NEXTSLIDING(element)

full:
	FULLSLIDING(element)

// func purgeSlidingAVX2(lines *[8]uint64, count int, e *SlidingExpiry) (removed int)
//
// A line that keeps all of its cells is not written.
TEXT ·purgeSlidingAVX2(SB), NOSPLIT, $0-32
	MOVQ lines+0(FP), DI
	MOVQ count+8(FP), CX
	MOVQ e+16(FP), SI
	VPBROADCASTQ SlidingExpiry_Current(SI), Y10
	VPBROADCASTQ SlidingExpiry_Steps(SI), Y11
	VPBROADCASTQ SlidingExpiry_Out(SI), Y12
	MOVL $0x7fff, AX
	MOVQ AX, X13
	VPBROADCASTQ X13, Y13
	VPXOR Y14, Y14, Y14
	XORL R8, R8

line:
	VMOVDQU (DI), Y0
	VMOVDQU 32(DI), Y1
	VPSUBQ Y0, Y10, Y2
	VPSUBQ Y1, Y10, Y3
	VPAND Y13, Y2, Y2
	VPAND Y13, Y3, Y3
	VPCMPGTQ Y11, Y2, Y2
	VPCMPGTQ Y11, Y3, Y3
	VPAND Y12, Y0, Y4
	VPAND Y12, Y1, Y5
	VPCMPEQQ Y14, Y4, Y4
	VPCMPEQQ Y14, Y5, Y5
	VPANDN Y4, Y2, Y2
	VPANDN Y5, Y3, Y3
	VPAND Y0, Y2, Y2
	VPAND Y1, Y3, Y3
	VPCMPEQQ Y0, Y2, Y4
	VPCMPEQQ Y1, Y3, Y5
	VMOVMSKPD Y4, AX
	VMOVMSKPD Y5, DX
	SHLL $4, DX
	ORL  DX, AX
	XORL $0xff, AX
	JZ   kept
	POPCNTL AX, AX
	ADDQ AX, R8
	VMOVDQU Y2, (DI)
	VMOVDQU Y3, 32(DI)

kept:
	ADDQ $64, DI
	DECQ CX
	JNZ  line
	MOVQ R8, removed+24(FP)
	VZEROUPPER
	RET
