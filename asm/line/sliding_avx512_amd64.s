// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"

// Rows that double, a line a register (AVX-512 F, DQ).

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
