// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "common_amd64.h"
#include "coarse_amd64.h"

// Coarse rows, a line a register (AVX-512 F, BW; BMI1 for scalars). Z0 is the line. K7 has a
// bit for each cell.

// FIND ages the cells and finds the one to remove, for coarse cells. Z20 is their
// fingerprints' bits.
#define FIND \
	CLOCK                                        \
	VMOVDQU64 (BX), Z0                           \
	VMOVDQU64 Z0, (R11)                          \
	VPXORD.BCST batch_low(SI)(CX*8), Z0, Z3      \
	VPTESTNMD Z20, Z3, K7, K1                    \
	KMOVW   K1, AX                               \
	VPBROADCASTD R15, Z1                         \
	VPSUBUSB Z1, Z0, Z0                          \
	CHOOSE($0x4000)                              \
	MOVBLZX (BX)(AX*4), DX                       \
	JUDGE

// MOVE moves the cells up to number AX on by one, with the new cell in front, and stores
// the line.
#define MOVE(LOOP) \
	SHLQ    $6, AX                                \
	ORL     batch_low(SI)(CX*8), R14              \
	VPBROADCASTD R14, Z2                          \
	VALIGND $15, Z2, Z0, Z3                       \
	VPTERNLOGD $0xe4, (BP)(AX*1), Z0, Z3          \
	VMOVDQU64 Z3, (BX)                            \
	NEXTCOARSE(LOOP)

// FINDFINE is FIND for fine cells. Z20 is the bits of their fingerprints in bytes, Z21
// the bits of their youth.
#define FINDFINE \
	CLOCK                                        \
	VMOVDQU64 (BX), Z0                           \
	VMOVDQU64 Z0, (R11)                          \
	VPCMPEQD.BCST batch_low(SI)(CX*8), Z0, K7, K1 \
	VPBROADCASTB (batch_low+4)(SI)(CX*8), Z3     \
	VPXORQ  Z0, Z3, Z3                           \
	VPTESTNMB Z20, Z3, K2                        \
	KMOVW   K1, AX                               \
	KMOVQ   K2, DX                               \
	SHRQ    $48, DX                              \
	ANDL    DX, AX                               \
	VPBROADCASTB R15, Z1                         \
	VPANDQ  Z21, Z0, Z2                          \
	VPSUBUSB Z1, Z2, Z2                          \
	VPTERNLOGQ $0xd8, Z21, Z2, Z0                \
	CHOOSE($0x800)                               \
	MOVBLZX 48(BX)(AX*1), DX                     \
	ANDL    $0x3f, DX                            \
	JUDGE

// MOVEFINE is MOVE for fine cells. K6 has a bit for each byte of the last quarter.
#define MOVEFINE(LOOP) \
	SHLQ    $6, AX                                \
	MOVBLZX (batch_low+4)(SI)(CX*8), R15          \
	ORL     R15, R14                              \
	VPBROADCASTD batch_low(SI)(CX*8), Z2          \
	VPBROADCASTB R14, Z4                          \
	VALIGND $15, Z2, Z0, Z3                       \
	VPALIGNR $15, Z4, Z0, K6, Z3                  \
	VPTERNLOGD $0xe4, (BP)(AX*1), Z0, Z3          \
	VMOVDQU64 Z3, (BX)                            \
	NEXTCOARSE(LOOP)

// func coarseRowsAVX512(lines *[8]uint64, current, ahead *batch, n int, log *coarseLog, r *coarseRule) (hits, found uint64)
TEXT ·coarseRowsAVX512(SB), NOSPLIT, $72-64
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

// func fineRowsAVX512(lines *[8]uint64, current, ahead *batch, n int, log *coarseLog, r *coarseRule) (hits, found uint64)
TEXT ·fineRowsAVX512(SB), NOSPLIT, $72-64
	BEGINCOARSE
	MOVL $0xc0, AX
	VPBROADCASTB AX, Z20
	MOVL $0x3f, AX
	VPBROADCASTB AX, Z21
	MOVQ $-1, AX
	SHLQ $48, AX
	KMOVQ AX, K6
	VMOVDQU8.Z Z21, K6, Z21
	MOVL $0xfff, AX
	KMOVW AX, K7
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
