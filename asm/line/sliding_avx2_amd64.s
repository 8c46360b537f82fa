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
