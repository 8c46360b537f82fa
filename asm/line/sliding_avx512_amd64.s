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
