//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "common_amd64.h"
#include "coarse_amd64.h"

// Coarse rows, a line a register (AVX-512 F, BW; BMI1 for scalars). Z20 is the
// fingerprints' bits, K7 the cells.

// FIND sets Z0 to the line, its cells aged, and AX to the cells that have the fingerprint
// of the element.
#define FIND \
	CLOCK                                        \
	VPBROADCASTD R15, Z1                         \
	VPADDUSB (BX), Z1, Z0                        \
	VPXORD.BCST batch_low(SI)(CX*8), Z0, Z3      \
	VPTESTNMD Z20, Z3, K7, K1                    \
	KMOVW   K1, AX                               \
	JUDGECOARSE

// MOVE moves the cells up to number AX on by one, with the new cell in front, and stores
// the line. The cell of the batch has age 255.
#define MOVE(LOOP) \
	SHLQ    $6, AX                                \
	XORL    $255, R14                             \
	XORL    batch_low(SI)(CX*8), R14              \
	VPBROADCASTD R14, Z2                          \
	VALIGND $15, Z2, Z0, Z3                       \
	VPTERNLOGD $0xe4, (BP)(AX*1), Z0, Z3          \
	VMOVDQU64 Z3, (BX)                            \
	MOVL    R12, 60(BX)                           \
	NEXT(LOOP)

// func coarseRowsAVX512(lines *[8]uint64, current, ahead *batch, n int, r *coarseRule) (near, found, taken uint64)
TEXT ·coarseRowsAVX512(SB), NOSPLIT, $40-64
	BEGINCOARSE
	MOVL $-256, AX
	VPBROADCASTD AX, Z20
	MOVL $0x7fff, AX
	KMOVW AX, K7
	CMPB coarseRule_refresh(DX), $0
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
