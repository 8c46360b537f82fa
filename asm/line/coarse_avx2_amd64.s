//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "common_amd64.h"
#include "coarse_amd64.h"

// Coarse rows, a line two registers (AVX2; BMI1 for scalars). Y14 is the ages' bits.

// FIND sets Y0 and Y1 to the line, its cells aged, and AX to the cells that have the
// fingerprint of the element.
#define FIND \
	CLOCK                                    \
	VMOVD   R15, X3                          \
	VPBROADCASTD X3, Y3                      \
	VPBROADCASTD batch_low(SI)(CX*8), Y2     \
	VPADDUSB (BX), Y3, Y0                    \
	VPADDUSB 32(BX), Y3, Y1                  \
	VPOR    Y14, Y0, Y4                      \
	VPOR    Y14, Y1, Y5                      \
	VPCMPEQD Y2, Y4, Y4                      \
	VPCMPEQD Y2, Y5, Y5                      \
	VMOVMSKPS Y4, AX                         \
	VMOVMSKPS Y5, DX                         \
	SHLL    $8, DX                           \
	ORL     DX, AX                           \
	ANDL    $0x7fff, AX                      \
	JUDGECOARSE

// MOVE moves the cells up to number AX on by one, with the new cell in front, and stores
// the line. The cell of the batch has age 255.
#define MOVE(LOOP) \
	SHLQ    $6, AX                           \
	XORL    $255, R14                        \
	XORL    batch_low(SI)(CX*8), R14         \
	VMOVD   R14, X3                          \
	VPSHUFD $0, X3, X3                       \
	VINSERTI128 $1, X0, Y3, Y3               \
	VPERM2I128 $0x21, Y1, Y0, Y4             \
	VPALIGNR $12, Y3, Y0, Y3                 \
	VPALIGNR $12, Y4, Y1, Y4                 \
	VMOVDQU (BP)(AX*1), Y5                   \
	VMOVDQU 32(BP)(AX*1), Y6                 \
	VPBLENDVB Y5, Y3, Y0, Y0                 \
	VPBLENDVB Y6, Y4, Y1, Y1                 \
	VMOVDQU Y0, (BX)                         \
	VMOVDQU Y1, 32(BX)                       \
	MOVL    R12, 60(BX)                      \
	NEXT(LOOP)

// func coarseRowsAVX2(lines *[8]uint64, current, ahead *batch, n int, r *coarseRule) (near, found, taken uint64)
TEXT ·coarseRowsAVX2(SB), NOSPLIT, $40-64
	BEGINCOARSE
	VPCMPEQD Y14, Y14, Y14
	VPSRLD   $24, Y14, Y14
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

// func fillCoarseAVX2(low *[64]uint64, ticks *int64, groups int) (noTime uint64)
//
// Four elements at a time. AX collects those without a time.
TEXT ·fillCoarseAVX2(SB), NOSPLIT, $0-32
	MOVQ low+0(FP), DI
	MOVQ ticks+8(FP), SI
	MOVQ groups+16(FP), CX
	MOVL $64, R10
	SUBQ CX, R10
	SUBQ CX, R10
	SUBQ CX, R10
	SUBQ CX, R10
	XORL AX, AX
	VPCMPEQD Y0, Y0, Y0
	VPSLLQ $63, Y0, Y1
	VPSRLQ $63, Y0, Y2
	VPSRLQ $56, Y0, Y3

group:
	VMOVDQU  (DI), Y4
	VMOVDQU  (SI), Y5
	VPCMPEQQ Y1, Y5, Y6
	VMOVMSKPD Y6, DX
	SHRQ     $4, AX
	SHLQ     $60, DX
	ORQ      DX, AX
	VPSRLQ   $40, Y4, Y4
	VPMAXUD  Y2, Y4, Y4
	VPSLLQ   $8, Y4, Y4
	VPOR     Y3, Y4, Y4
	VPSLLQ   $32, Y5, Y5
	VPOR     Y5, Y4, Y4
	VMOVDQU  Y4, (DI)
	ADDQ $32, DI
	ADDQ $32, SI
	DECQ CX
	JNZ  group
	SHRXQ R10, AX, AX
	MOVQ AX, noTime+24(FP)
	VZEROUPPER
	RET
