//go:build amd64 && !purego

#include "textflag.h"

// EIGHT shifts into AX a bit for each of eight offsets that is Z0.
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

// FOUR shifts into AX a bit for each of four offsets that is Y0.
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
