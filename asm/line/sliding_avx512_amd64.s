// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "common_amd64.h"

// Sliding rows, a line a register (AVX-512 F, DQ; BMI1 and BMI2 for scalars). The line is
// written as a whole, so that the next element of it can read it from the store.

// func slidingRowsAVX512(lines *[8]uint64, current, ahead *batch, n int, before *uint16) (held uint64)
TEXT ·slidingRowsAVX512(SB), NOSPLIT, $0-48
	BEGINSLIDING(Z10)

element:
	FETCH
	ADDQ DI, BX
	VMOVDQU64 (BX), Z0
	VPBROADCASTQ PATTERN(SI)(CX*8), Z1
	VPXORQ Z0, Z1, Z1
	VPTESTNMQ Z10, Z1, K1
	VPTESTNMQ Z0, Z0, K2
	KMOVB K1, AX
	KMOVB K2, DX
	CHOOSECELL(full)
	LATERDATE
	MOVL $1, AX
	SHLXL DX, AX, AX
	KMOVB AX, K3
	VPBROADCASTQ R13, K3, Z0
	VMOVDQU64 Z0, (BX)
	NEXTSLIDING(element)

full:
	FULLSLIDING(element)

// func purgeSlidingAVX512(lines *[8]uint64, count int, e *SlidingExpiry) (removed int)
//
// A line that keeps all of its cells is not written.
TEXT ·purgeSlidingAVX512(SB), NOSPLIT, $0-32
	MOVQ lines+0(FP), DI
	MOVQ count+8(FP), CX
	MOVQ e+16(FP), SI
	VPBROADCASTQ SlidingExpiry_Current(SI), Z10
	VPBROADCASTQ SlidingExpiry_Steps(SI), Z11
	VPBROADCASTQ SlidingExpiry_Out(SI), Z12
	MOVL $0x7fff, AX
	VPBROADCASTQ AX, Z13
	XORL R8, R8

line:
	VMOVDQU64 (DI), Z0
	VPSUBQ    Z0, Z10, Z1
	VPANDQ    Z13, Z1, Z1
	VPCMPUQ   $2, Z11, Z1, K1
	VPTESTNMQ Z12, Z0, K1, K1
	VPTESTMQ  Z0, Z0, K2
	KANDNB    K2, K1, K2
	KMOVB     K2, AX
	TESTL     AX, AX
	JZ        kept
	POPCNTL   AX, AX
	ADDQ      AX, R8
	VMOVDQU64.Z Z0, K1, Z0
	VMOVDQU64 Z0, (DI)

kept:
	ADDQ $64, DI
	DECQ CX
	JNZ  line
	MOVQ R8, removed+24(FP)
	VZEROUPPER
	RET

// func splitCellsAVX512(dst, src *[8]uint64, lines int, side uint64)
//
// The cells of either side are compressed, and the rest of their line becomes empty.
TEXT ·splitCellsAVX512(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ lines+16(FP), DX
	VPBROADCASTQ side+24(FP), Z11

line:
	VMOVDQU64 (SI), Z0
	VPTESTMQ  Z0, Z0, K1
	VPTESTMQ  Z11, Z0, K3
	KANDNB    K1, K3, K5
	VPCOMPRESSQ.Z Z0, K5, Z2
	VPCOMPRESSQ.Z Z0, K3, Z3
	VMOVDQU64 Z2, (DI)
	VMOVDQU64 Z3, 64(DI)
	ADDQ $64, SI
	ADDQ $128, DI
	DECQ DX
	JNZ  line
	VZEROUPPER
	RET
