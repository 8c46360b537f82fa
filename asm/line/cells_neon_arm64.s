// SPDX-License-Identifier: Apache-2.0

//go:build arm64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "common_arm64.h"

// Cell lines (Advanced SIMD). Registers are as in common_arm64.h: R5 collects the
// elements that are found. V0 to V3 are the line, plane after plane, V20 has masks of the
// numbers from 0 to 7. R10 and R11 are the masks of runs after missed and after found
// elements, V28 and V29 count the cells that are not zero.

// The places in the batch of an element's cells and of the upper byte of its random word,
// when R1 has moved on by one element.
#define CELLS (batch_low-8)
#define FIRST (batch_random-1)

// The masks of numbers from 0 to 7, none for others.
DATA cellPowers<>+0(SB)/8, $0x8040201008040201
DATA cellPowers<>+8(SB)/8, $0
GLOBL cellPowers<>(SB), RODATA|NOPTR, $16

// The byte of an element's cells that each byte of a plane of 32 and of 16 bytes belongs
// to, and the number of cells of that eighth before it.
DATA eighths2<>+0(SB)/8, $0x0101010100000000
DATA eighths2<>+8(SB)/8, $0x0303030302020202
DATA eighths2<>+16(SB)/8, $0x0505050504040404
DATA eighths2<>+24(SB)/8, $0x0707070706060606
DATA eighths2<>+32(SB)/8, $0x1810080018100800
DATA eighths2<>+40(SB)/8, $0x1810080018100800
GLOBL eighths2<>(SB), RODATA|NOPTR, $48
DATA eighths4<>+0(SB)/8, $0x0303020201010000
DATA eighths4<>+8(SB)/8, $0x0707060605050404
DATA eighths4<>+16(SB)/8, $0x0800080008000800
DATA eighths4<>+24(SB)/8, $0x0800080008000800
GLOBL eighths4<>(SB), RODATA|NOPTR, $32

// BEGINCELLS leaves the rule in R8.
#define BEGINCELLS \
	BEGINHALVES                        \
	MOVD  r+32(FP), R8                 \
	ADD   $CellRule_run, R8, R10       \
	ADD   $const_cellWindows, R10, R11 \
	ADD   $CellRule_max, R8, R8        \
	MOVD  $cellPowers<>(SB), R9        \
	VLD1  (R9), [V20.B16]              \
	VEOR  V28.B16, V28.B16, V28.B16    \
	VEOR  V29.B16, V29.B16, V29.B16

// OWN sets A to the mask of the bytes EIGHTHS of a plane that belong to the element's
// cells in V4.
#define OWN(EIGHTHS, BEFORE, A) \
	VTBL EIGHTHS.B16, [V4.B16], A.B16  \
	VSUB BEFORE.B16, A.B16, A.B16      \
	VTBL A.B16, [V20.B16], A.B16

// LACK sets LEFT to the cells of MINE that FILLED lacks.
#define LACK(MINE, FILLED, LEFT) \
	VORR MINE.B16, FILLED.B16, LEFT.B16 \
	VEOR FILLED.B16, LEFT.B16, LEFT.B16

// JUDGE sets R8 to the masks of runs: the element is found if it lacks no cell of V11.
#define JUDGE \
	VMOV V11.D[0], R8        \
	VMOV V11.D[1], R9        \
	ORR  R8, R9, R9          \
	CMP  $0, R9              \
	CSET EQ, R9              \
	ADD  R5<<1, R9, R5       \
	CSEL EQ, R11, R10, R8    \
	MOVBU FIRST(R1), R9

// COUNT adds the excess of bits of AFTER over BEFORE, both numbers of bytes up to 16, and
// 16 for each byte.
#define COUNT(AFTER, BEFORE) \
	VSUB BEFORE.B16, AFTER.B16, AFTER.B16 \
	VADD V27.B16, AFTER.B16, AFTER.B16    \
	VUADDW AFTER.B8, V28.H8, V28.H8       \
	VUADDW2 AFTER.B16, V29.H8, V29.H8

// ENDCELLS returns verdicts and the count, less those 16.
#define ENDCELLS \
	VUADDLV V28.H8, V28        \
	VUADDLV V29.H8, V29        \
	VMOV V28.S[0], R6          \
	VMOV V29.S[0], R8          \
	ADD  R8, R6, R6            \
	MOVD n+24(FP), R8          \
	SUB  R8<<8, R6, R6         \
	MOVD R5, found+40(FP)      \
	MOVD R6, filled+48(FP)     \
	RET

// func cells2NEON(lines *[8]uint64, current, ahead *batch, n int, r *CellRule) (found, filled uint64)
//
// V5 and V6 are the element's cells, V7 and V8 the cells that are not zero, V9 and V10
// the cells to decrement.
TEXT ·cells2NEON(SB), NOSPLIT, $0-56
	BEGINCELLS
	VLD1R.P 8(R8), [V24.D2]
	VLD1R (R8), [V25.D2]
	MOVD $eighths2<>(SB), R9
	VLD1 (R9), [V21.B16, V22.B16, V23.B16]
	VMOVI $16, V27.B16

element:
	LOADLINE
	FMOVD CELLS(R1), F4
	OWN(V21, V23, V5)
	OWN(V22, V23, V6)
	VORR V2.B16, V0.B16, V7.B16
	VORR V3.B16, V1.B16, V8.B16
	LACK(V5, V7, V9)
	LACK(V6, V8, V10)
	VORR V10.B16, V9.B16, V11.B16
	JUDGE
	ADD  R9, R8, R8
	VLD1 (R8), [V9.B16, V10.B16]
	VAND V7.B16, V9.B16, V9.B16
	VAND V8.B16, V10.B16, V10.B16
	VEOR V9.B16, V0.B16, V0.B16
	VEOR V10.B16, V1.B16, V1.B16
	VAND V0.B16, V9.B16, V9.B16
	VAND V1.B16, V10.B16, V10.B16
	VEOR V9.B16, V2.B16, V2.B16
	VEOR V10.B16, V3.B16, V3.B16
	VBIT V5.B16, V24.B16, V0.B16
	VBIT V6.B16, V24.B16, V1.B16
	VBIT V5.B16, V25.B16, V2.B16
	VBIT V6.B16, V25.B16, V3.B16
	VST1 [V0.B16, V1.B16, V2.B16, V3.B16], (R7)
	VORR V2.B16, V0.B16, V0.B16
	VORR V3.B16, V1.B16, V1.B16
	VCNT V0.B16, V0.B16
	VCNT V1.B16, V1.B16
	VCNT V7.B16, V7.B16
	VCNT V8.B16, V8.B16
	VADD V1.B16, V0.B16, V0.B16
	VADD V8.B16, V7.B16, V7.B16
	COUNT(V0, V7)
	NEXT(element)
	ENDCELLS

// func cells4NEON(lines *[8]uint64, current, ahead *batch, n int, r *CellRule) (found, filled uint64)
//
// V5 is the element's cells, V7 the cells that are not zero, V9 the cells to decrement.
TEXT ·cells4NEON(SB), NOSPLIT, $0-56
	BEGINCELLS
	VLD1R.P 8(R8), [V16.D2]
	VLD1R.P 8(R8), [V17.D2]
	VLD1R.P 8(R8), [V18.D2]
	VLD1R (R8), [V19.D2]
	MOVD $eighths4<>(SB), R9
	VLD1 (R9), [V21.B16, V22.B16]
	VMOVI $16, V27.B16

element:
	LOADLINE
	FMOVD CELLS(R1), F4
	OWN(V21, V22, V5)
	VORR V1.B16, V0.B16, V7.B16
	VORR V3.B16, V2.B16, V8.B16
	VORR V8.B16, V7.B16, V7.B16
	LACK(V5, V7, V11)
	JUDGE
	ADD  R9>>1, R8, R8
	VLD1 (R8), [V9.B16]
	VAND V7.B16, V9.B16, V9.B16
	VEOR V9.B16, V0.B16, V0.B16
	VAND V0.B16, V9.B16, V9.B16
	VEOR V9.B16, V1.B16, V1.B16
	VAND V1.B16, V9.B16, V9.B16
	VEOR V9.B16, V2.B16, V2.B16
	VAND V2.B16, V9.B16, V9.B16
	VEOR V9.B16, V3.B16, V3.B16
	VBIT V5.B16, V16.B16, V0.B16
	VBIT V5.B16, V17.B16, V1.B16
	VBIT V5.B16, V18.B16, V2.B16
	VBIT V5.B16, V19.B16, V3.B16
	VST1 [V0.B16, V1.B16, V2.B16, V3.B16], (R7)
	VORR V1.B16, V0.B16, V0.B16
	VORR V3.B16, V2.B16, V2.B16
	VORR V2.B16, V0.B16, V0.B16
	VCNT V0.B16, V0.B16
	VCNT V7.B16, V7.B16
	COUNT(V0, V7)
	NEXT(element)
	ENDCELLS
