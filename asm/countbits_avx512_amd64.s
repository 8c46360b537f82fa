//go:build amd64 && !purego

#include "textflag.h"

// FOLD ors to each bit of Z0 the one DISTANCE above it.
#define FOLD(DISTANCE) \
	VPSRLQ $DISTANCE, Z0, Z1          \
	VPORQ Z1, Z0, Z0

// func countCellsAVX512(lines *[8]uint64, count, width int, low uint64) (cells uint64)
TEXT ·countCellsAVX512(SB), NOSPLIT, $0-40
	MOVQ lines+0(FP), DI
	MOVQ count+8(FP), CX
	MOVQ width+16(FP), BX
	VPBROADCASTQ low+24(FP), Z2
	VPXORQ Z3, Z3, Z3

line:
	// A cell's lowest bit becomes the union of all its bits, in as many steps as its
	// width needs; which they are never changes, so that the branches cost little.
	VMOVDQU64 (DI), Z0
	CMPQ BX, $1
	JEQ  fold
	CMPQ BX, $4
	JLE  planes
	FOLD(1)
	FOLD(2)
	FOLD(4)
	CMPQ BX, $8
	JEQ  fold
	FOLD(8)

fold:
	VPANDQ Z2, Z0, Z0

count:
	VPOPCNTQ Z0, Z0
	VPADDQ Z0, Z3, Z3
	ADDQ $64, DI
	DECQ CX
	JNZ  line
	JMP  sum

planes:
	// The first plane becomes the union of all, the rest nothing.
	VEXTRACTI64X4 $1, Z0, Y1
	VPOR Y1, Y0, Y0
	CMPQ BX, $2
	JEQ  count
	VEXTRACTI128 $1, Y0, X1
	VPOR X1, X0, X0
	JMP  count

sum:
	VEXTRACTI64X4 $1, Z3, Y0
	VPADDQ Y0, Y3, Y0
	VEXTRACTI64X2 $1, Y0, X1
	VPADDQ X1, X0, X0
	VPSRLDQ $8, X0, X1
	VPADDQ X1, X0, X0
	VMOVQ X0, AX
	MOVQ AX, cells+32(FP)
	VZEROUPPER
	RET
