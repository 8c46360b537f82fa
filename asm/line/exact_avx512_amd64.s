// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"

// SPLIT_BEGIN loads the arguments of a split: the lines to write to DI, the lines to read
// to SI, their number to DX. It sets all lanes of Z10 to 1, of Z11 to bit rest and of Z12
// to the bits below.
#define SPLIT_BEGIN \
	MOVQ dst+0(FP), DI; \
	MOVQ src+8(FP), SI; \
	MOVQ lines+16(FP), DX; \
	MOVQ rest+24(FP), CX; \
	MOVL $1, AX; \
	VPBROADCASTD AX, Z10; \
	SHLL CX, AX; \
	VPBROADCASTD AX, Z11; \
	VPSUBD Z10, Z11, Z12

// func splitExact16AVX512(dst, src *[8]uint64, lines int, rest uint)
//
// Sixteen cells at a time, widened to 32 bits: the cells of either side are compressed,
// and stored behind those of the first sixteen, which are 16 at most, so that a store
// ends within its line.
TEXT ·splitExact16AVX512(SB), NOSPLIT, $0-32
	SPLIT_BEGIN

line:
	VPMOVZXWD (SI), Z0
	VPMOVZXWD 32(SI), Z1
	VPTESTMD  Z0, Z0, K1
	VPTESTMD  Z1, Z1, K2
	VPSUBD    Z10, Z0, Z0
	VPSUBD    Z10, Z1, Z1
	VPTESTMD  Z11, Z0, K1, K3
	VPTESTMD  Z11, Z1, K2, K4
	KANDNW    K1, K3, K5
	KANDNW    K2, K4, K6
	VPANDD    Z12, Z0, Z0
	VPANDD    Z12, Z1, Z1
	VPADDD    Z10, Z0, Z0
	VPADDD    Z10, Z1, Z1
	VPCOMPRESSD.Z Z0, K5, Z2
	VPCOMPRESSD.Z Z0, K3, Z3
	VPCOMPRESSD.Z Z1, K6, Z4
	VPCOMPRESSD.Z Z1, K4, Z5
	KMOVW   K5, AX
	KMOVW   K3, BX
	POPCNTL AX, AX
	POPCNTL BX, BX
	VPMOVDW Z2, Y2
	VPMOVDW Z3, Y3
	VPMOVDW Z4, Y4
	VPMOVDW Z5, Y5
	VMOVDQU Y2, (DI)
	VMOVDQU Y3, 64(DI)
	VMOVDQU Y4, (DI)(AX*2)
	VMOVDQU Y5, 64(DI)(BX*2)
	ADDQ $64, SI
	ADDQ $128, DI
	DECQ DX
	JNZ  line
	VZEROUPPER
	RET

// func splitExact32AVX512(dst, src *[8]uint64, lines int, rest uint)
//
// A line of cells of 32 bits is a register, and so is each of its two sides.
TEXT ·splitExact32AVX512(SB), NOSPLIT, $0-32
	SPLIT_BEGIN

line:
	VMOVDQU32 (SI), Z0
	VPTESTMD  Z0, Z0, K1
	VPSUBD    Z10, Z0, Z0
	VPTESTMD  Z11, Z0, K1, K3
	KANDNW    K1, K3, K5
	VPANDD    Z12, Z0, Z0
	VPADDD    Z10, Z0, Z0
	VPCOMPRESSD.Z Z0, K5, Z2
	VPCOMPRESSD.Z Z0, K3, Z3
	VMOVDQU32 Z2, (DI)
	VMOVDQU32 Z3, 64(DI)
	ADDQ $64, SI
	ADDQ $128, DI
	DECQ DX
	JNZ  line
	VZEROUPPER
	RET
