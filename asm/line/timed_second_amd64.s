// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"

// EIGHT shifts into AX a bit for each of eight offsets that equals Z0.
#define EIGHT(GROUP) \
	VPCMPEQQ (64*GROUP)(DI), Z0, K1 \
	KMOVB    K1, DX                 \
	SHLQ     $8, AX                 \
	ORQ      DX, AX

// func sameLineAVX512(offsets *[64]uint64, offset uint64) (same uint64)
TEXT ·sameLineAVX512(SB), NOSPLIT, $0-24
	MOVQ offsets+0(FP), DI
	VPBROADCASTQ offset+8(FP), Z0
	XORL AX, AX
	EIGHT(7)
	EIGHT(6)
	EIGHT(5)
	EIGHT(4)
	EIGHT(3)
	EIGHT(2)
	EIGHT(1)
	EIGHT(0)
	MOVQ AX, same+16(FP)
	VZEROUPPER
	RET

// FOUR shifts into AX a bit for each of four offsets that equals Y0.
#define FOUR(GROUP) \
	VPCMPEQQ  (32*GROUP)(DI), Y0, Y1 \
	VMOVMSKPD Y1, DX                 \
	SHLQ      $4, AX                 \
	ORQ       DX, AX

// func sameLineAVX2(offsets *[64]uint64, offset uint64) (same uint64)
TEXT ·sameLineAVX2(SB), NOSPLIT, $0-24
	MOVQ offsets+0(FP), DI
	VPBROADCASTQ offset+8(FP), Y0
	XORL AX, AX
	FOUR(15)
	FOUR(14)
	FOUR(13)
	FOUR(12)
	FOUR(11)
	FOUR(10)
	FOUR(9)
	FOUR(8)
	FOUR(7)
	FOUR(6)
	FOUR(5)
	FOUR(4)
	FOUR(3)
	FOUR(2)
	FOUR(1)
	FOUR(0)
	MOVQ AX, same+16(FP)
	VZEROUPPER
	RET

// The words that have the upper bits of cells' marks.
DATA spareHighs<>+0(SB)/8, $6
DATA spareHighs<>+8(SB)/8, $6
DATA spareHighs<>+16(SB)/8, $6
DATA spareHighs<>+24(SB)/8, $7
DATA spareHighs<>+32(SB)/8, $7
DATA spareHighs<>+40(SB)/8, $7
DATA spareHighs<>+48(SB)/8, $6
DATA spareHighs<>+56(SB)/8, $6
GLOBL spareHighs<>(SB), RODATA|NOPTR, $64

// func surveyAVX512(spare *[8]uint64, cell, last, mark uint64, r *timedRule) (found, same, live, oldest uint64)
//
// Z3 becomes the marks, rotated, K3 the cells that are not empty, and Z9 the ages, shifted
// to the top.
TEXT ·surveyAVX512(SB), NOSPLIT, $0-72
	MOVQ spare+0(FP), DI
	MOVQ mark+24(FP), BX
	MOVQ r+32(FP), AX
	MOVQ timedRule_rotation(AX), CX
	MOVL  $0x3f, DX
	KMOVB DX, K7
	VMOVDQU64 (DI), Z0
	VMOVDQU64 spareHighs<>(SB), Z1
	VPERMQ  Z0, Z1, Z3
	VPRORVQ (timedRule_lanes+timedLanes_highRotations)(AX), Z3, Z3
	VPROLVQ (timedRule_lanes+timedLanes_lowRotations)(AX), Z0, Z2
	VMOVDQU64 (timedRule_lanes+timedLanes_lows)(AX), Z4
	VPTERNLOGQ $0xb8, Z2, Z4, Z3
	VPBROADCASTQ timedRule_low(AX), Z5
	VPXORQ.BCST cell+8(FP), Z0, Z6
	VPCMPUQ  $2, Z5, Z6, K7, K1
	VPXORQ.BCST last+16(FP), Z0, Z6
	VPCMPUQ  $2, Z5, Z6, K7, K2
	VPTESTMQ Z0, Z0, K7, K3
	MOVQ BX, SI
	SUBQ timedRule_window(AX), SI
	SHLQ CX, SI
	VPBROADCASTQ SI, Z7
	VPSUBQ  Z7, Z3, Z7
	VPBROADCASTQ timedRule_aboveWindows(AX), Z8
	VPCMPUQ $1, Z8, Z7, K3, K4
	VPSUBQ.BCST (timedRule_timedClock+timedClock_nowEarliest)(AX), Z3, Z7
	VPBROADCASTQ (timedRule_timedClock+timedClock_aboveReach)(AX), Z8
	VPCMPUQ $1, Z8, Z7, K3, K5
	KORB    K4, K5, K4
	MOVQ (timedRule_timedClock+timedClock_now)(AX), DX
	CMPQ (timedRule_timedClock+timedClock_reachSpan)(AX), $0
	CMOVQEQ BX, DX
	ADDQ (timedRule_timedClock+timedClock_reach)(AX), DX
	SHLQ CX, DX
	VPBROADCASTQ DX, Z7
	MOVQ $-1, DX
	SHLQ CX, DX
	VPBROADCASTQ DX, Z8
	VPANDQ  Z8, Z3, Z3
	VPSUBQ  Z3, Z7, Z7
	VPTERNLOGQ $0xff, Z8, Z8, Z8
	VMOVDQA64 Z7, K3, Z8
	VMOVDQA64.Z Z8, K7, Z9
	VEXTRACTI64X4 $1, Z9, Y10
	VPMAXUQ Y9, Y10, Y10
	VEXTRACTI64X2 $1, Y10, X11
	VPMAXUQ X11, X10, X10
	VPSHUFD $0x4e, X10, X11
	VPMAXUQ X11, X10, X10
	VPBROADCASTQ X10, Z10
	VPCMPEQQ Z10, Z9, K7, K6
	KMOVB K1, DX
	MOVQ  DX, found+40(FP)
	KMOVB K2, DX
	MOVQ  DX, same+48(FP)
	KMOVB K4, DX
	MOVQ  DX, live+56(FP)
	KMOVB K6, DX
	MOVQ  DX, oldest+64(FP)
	VZEROUPPER
	RET
