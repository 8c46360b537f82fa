//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "common_amd64.h"
#include "coarse_amd64.h"

// Coarse rows, a line two registers (AVX2; BMI1 for scalars). Y14 is the ages' bits.

// FIND sets Y0 and Y1 to the line, its cells aged, Y2 to the new cell, and AX to the cells
// that have its fingerprint.
#define FIND \
	CLOCK                                    \
	VMOVDQU (BX), Y0                         \
	VMOVDQU 32(BX), Y1                       \
	VMOVD   R15, X3                          \
	VPBROADCASTD X3, Y3                      \
	VPBROADCASTD batch_low(SI)(CX*8), Y2     \
	VPADDUSB Y3, Y0, Y0                      \
	VPADDUSB Y3, Y1, Y1                      \
	VPOR    Y14, Y2, Y3                      \
	VPOR    Y14, Y0, Y4                      \
	VPOR    Y14, Y1, Y5                      \
	VPCMPEQD Y3, Y4, Y4                      \
	VPCMPEQD Y3, Y5, Y5                      \
	VMOVMSKPS Y4, AX                         \
	VMOVMSKPS Y5, DX                         \
	SHLL    $8, DX                           \
	ORL     DX, AX                           \
	ANDL    $0x7fff, AX                      \
	JUDGECOARSE

// MOVE moves the cells up to number -AX on by one, with the new cell in front, and stores
// the line.
#define MOVE(LOOP) \
	VMOVD   R14, X3                              \
	VPBROADCASTD X3, X3                          \
	VPOR    X3, X2, X2                           \
	VMOVDQU (coarseRule_masks+60)(BP)(AX*4), Y5  \
	VMOVDQU (coarseRule_masks+92)(BP)(AX*4), Y6  \
	VINSERTI128 $1, X0, Y2, Y3                   \
	VPERM2I128 $0x21, Y1, Y0, Y4                 \
	VPALIGNR $12, Y3, Y0, Y3                     \
	VPALIGNR $12, Y4, Y1, Y4                     \
	VPBLENDVB Y5, Y3, Y0, Y0                     \
	VPBLENDVB Y6, Y4, Y1, Y1                     \
	VMOVDQU Y0, (BX)                             \
	VMOVDQU Y1, 32(BX)                           \
	MOVL    R12, 60(BX)                          \
	NEXT(LOOP)

// func coarseRowsAVX2(lines *[8]uint64, current, ahead *batch, n int, r *coarseRule) (near, found, taken uint64)
TEXT ·coarseRowsAVX2(SB), NOSPLIT, $8-64
	BEGINCOARSE
	VPCMPEQD Y14, Y14, Y14
	VPSRLD   $24, Y14, Y14
	CMPB coarseRule_refresh(BP), $0
	JNE  refresh

plain:
	FIND
	KEEPCOARSE
	MOVE(plain)
	ENDCOARSE

refresh:
	FIND
	RENEWCOARSE
	MOVE(refresh)
	ENDCOARSE
