// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "common_amd64.h"
#include "coarse_amd64.h"

// Coarse rows, a line two registers (AVX2; BMI1 for scalars), Y0 and Y1.

// LOAD loads a line and logs it.
#define LOAD \
	CLOCK               \
	VMOVDQU (BX), Y0    \
	VMOVDQU 32(BX), Y1  \
	VMOVDQU Y0, (R11)   \
	VMOVDQU Y1, 32(R11)

// EQUAL sets AX to the double words that are equal in Y4 and Y2, or in Y5 and Y2.
#define EQUAL \
	VPCMPEQD Y2, Y4, Y4                      \
	VPCMPEQD Y2, Y5, Y5                      \
	VMOVMSKPS Y4, AX                         \
	VMOVMSKPS Y5, DX                         \
	SHLL    $8, DX                           \
	ORL     DX, AX

// FIND ages the cells and finds the one to remove, for coarse cells. Y14 is the bits of
// their youth.
#define FIND \
	LOAD                                     \
	VPBROADCASTD batch_low(SI)(CX*8), Y2     \
	VPANDN  Y0, Y14, Y4                      \
	VPANDN  Y1, Y14, Y5                      \
	EQUAL                                    \
	ANDL    $0x7fff, AX                      \
	VMOVD   R15, X3                          \
	VPBROADCASTD X3, Y3                      \
	VPSUBUSB Y3, Y0, Y0                      \
	VPSUBUSB Y3, Y1, Y1                      \
	CHOOSE($0x4000)                          \
	MOVBLZX (BX)(AX*4), DX                   \
	JUDGE

// FINDFINE is FIND for fine cells. Y14 is the bits of their youth, which are all in Y1,
// and Y13 the bits of their fingerprints in bytes.
#define FINDFINE \
	LOAD                                     \
	VPBROADCASTD batch_low(SI)(CX*8), Y2     \
	VPBROADCASTB (batch_low+4)(SI)(CX*8), Y3 \
	VPXOR   Y1, Y3, Y3                       \
	VPAND   Y13, Y3, Y3                      \
	VPCMPEQB Y12, Y3, Y3                     \
	VMOVDQU Y0, Y4                           \
	VMOVDQU Y1, Y5                           \
	EQUAL                                    \
	VPMOVMSKB Y3, DX                         \
	SHRL    $16, DX                          \
	ANDL    DX, AX                           \
	ANDL    $0xfff, AX                       \
	VMOVD   R15, X3                          \
	VPBROADCASTB X3, Y3                      \
	VPAND   Y14, Y1, Y4                      \
	VPMINUB Y3, Y4, Y4                       \
	VPSUBB  Y4, Y1, Y1                       \
	CHOOSE($0x800)                           \
	MOVBLZX 48(BX)(AX*1), DX                 \
	ANDL    $0x3f, DX                        \
	JUDGE

// SHIFT sets Y3 and Y4 to the line with all double words moved on by one, behind that in X3.
#define SHIFT \
	VPSHUFD $0, X3, X3                       \
	VINSERTI128 $1, X0, Y3, Y3               \
	VPERM2I128 $0x21, Y1, Y0, Y4             \
	VPALIGNR $12, Y3, Y0, Y3                 \
	VPALIGNR $12, Y4, Y1, Y4

// BLEND stores the line with the moved cells.
#define BLEND(LOOP) \
	SHLQ    $6, AX                           \
	VMOVDQU (BP)(AX*1), Y5                   \
	VMOVDQU 32(BP)(AX*1), Y6                 \
	VPBLENDVB Y5, Y3, Y0, Y0                 \
	VPBLENDVB Y6, Y4, Y1, Y1                 \
	VMOVDQU Y0, (BX)                         \
	VMOVDQU Y1, 32(BX)                       \
	NEXTCOARSE(LOOP)

// MOVE moves the cells up to number AX on by one, with the new cell in front, and stores
// the line.
#define MOVE(LOOP) \
	ORL     batch_low(SI)(CX*8), R14         \
	VMOVD   R14, X3                          \
	SHIFT                                    \
	BLEND(LOOP)

// MOVEFINE is MOVE for fine cells. The last quarter of the line moves on by a byte.
#define MOVEFINE(LOOP) \
	MOVBLZX (batch_low+4)(SI)(CX*8), R15     \
	ORL     R15, R14                         \
	VMOVD   batch_low(SI)(CX*8), X3          \
	SHIFT                                    \
	VMOVD   R14, X7                          \
	VPBROADCASTB X7, Y7                      \
	VPALIGNR $15, Y7, Y1, Y7                 \
	VPBLENDD $0xf0, Y7, Y4, Y4               \
	BLEND(LOOP)

// func coarseRowsAVX2(lines *[8]uint64, current, ahead *batch, n int, log *coarseLog, r *coarseRule) (hits, found uint64)
TEXT ·coarseRowsAVX2(SB), NOSPLIT, $72-64
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

// func fineRowsAVX2(lines *[8]uint64, current, ahead *batch, n int, log *coarseLog, r *coarseRule) (hits, found uint64)
TEXT ·fineRowsAVX2(SB), NOSPLIT, $72-64
	BEGINCOARSE
	VPXOR   Y12, Y12, Y12
	MOVL    $0x3f, AX
	VMOVD   AX, X14
	VPBROADCASTB X14, Y14
	VPBLENDD $0xf0, Y14, Y12, Y14
	MOVL    $0xc0, AX
	VMOVD   AX, X13
	VPBROADCASTB X13, Y13
	CMPB coarseRule_refresh(DX), $0
	JNE  refresh

plain:
	FINDFINE
	KEEPCOARSE
	MOVEFINE(plain)
	ENDCOARSE

refresh:
	FINDFINE
	RENEWCOARSE
	MOVEFINE(refresh)
	ENDCOARSE

// func fillCoarseAVX2(low *[64]uint64, ticks *int64, groups int) (noTime uint64)
TEXT ·fillCoarseAVX2(SB), NOSPLIT, $0-32
	BEGINFILL

group:
	BEGINGROUP
	VPSRLQ   $40, Y4, Y4
	VPMAXUD  Y2, Y4, Y4
	VPSLLQ   $8, Y4, Y4
	ENDGROUP(group)

// func fillFineAVX2(low *[64]uint64, ticks *int64, groups int) (noTime uint64)
TEXT ·fillFineAVX2(SB), NOSPLIT, $0-32
	BEGINFILL

group:
	BEGINGROUP
	VPSRLQ   $30, Y4, Y4
	VPCMPEQQ Y3, Y4, Y5
	VPSUBQ   Y5, Y4, Y4
	VPSRLQ   $32, Y4, Y5
	VPSLLQ   $38, Y5, Y5
	VPBLENDD $0xaa, Y5, Y4, Y4
	ENDGROUP(group)
