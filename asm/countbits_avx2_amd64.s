//go:build amd64 && !purego

#include "textflag.h"

// FOLD ors to each bit of Y0 and Y1 the one DISTANCE above it.
#define FOLD(DISTANCE) \
	VPSRLQ $DISTANCE, Y0, Y2 \
	VPSRLQ $DISTANCE, Y1, Y3 \
	VPOR   Y2, Y0, Y0        \
	VPOR   Y3, Y1, Y1

// POPULATION makes the bytes of R the numbers of bits that they have: Y11 has those of the
// numbers up to 15, which Y10 has all bits of.
#define POPULATION(R) \
	VPAND   Y10, R, Y2   \
	VPSRLQ  $4, R, R     \
	VPAND   Y10, R, R    \
	VPSHUFB Y2, Y11, Y2  \
	VPSHUFB R, Y11, R    \
	VPADDB  Y2, R, R

DATA nibbleBits<>+0(SB)/8, $0x0302020102010100
DATA nibbleBits<>+8(SB)/8, $0x0403030203020201
GLOBL nibbleBits<>(SB), RODATA|NOPTR, $16

// func countCellsAVX2(lines *[8]uint64, count, width int, low uint64) (cells uint64)
//
// In the way of countCellsAVX512, a line two registers.
TEXT ·countCellsAVX2(SB), NOSPLIT, $0-40
	MOVQ lines+0(FP), DI
	MOVQ count+8(FP), CX
	MOVQ width+16(FP), BX
	VPBROADCASTQ low+24(FP), Y9
	VPXOR Y8, Y8, Y8
	VPXOR Y7, Y7, Y7
	MOVL $0x0f0f0f0f, AX
	VMOVD AX, X10
	VPBROADCASTD X10, Y10
	VBROADCASTI128 nibbleBits<>(SB), Y11

line:
	VMOVDQU (DI), Y0
	VMOVDQU 32(DI), Y1
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
	VPAND Y9, Y0, Y0
	VPAND Y9, Y1, Y1

count:
	POPULATION(Y0)
	POPULATION(Y1)
	VPADDB Y1, Y0, Y0
	VPSADBW Y8, Y0, Y0
	VPADDQ Y0, Y7, Y7
	ADDQ $64, DI
	DECQ CX
	JNZ  line
	JMP  sum

planes:
	VPOR Y1, Y0, Y0
	VPXOR Y1, Y1, Y1
	CMPQ BX, $2
	JEQ  count
	VEXTRACTI128 $1, Y0, X1
	VPOR X1, X0, X0
	VPXOR Y1, Y1, Y1
	JMP  count

sum:
	VEXTRACTI128 $1, Y7, X0
	VPADDQ X0, X7, X0
	VPSRLDQ $8, X0, X1
	VPADDQ X1, X0, X0
	VMOVQ X0, AX
	MOVQ AX, cells+32(FP)
	VZEROUPPER
	RET
