// SPDX-License-Identifier: Apache-2.0

// The common part of the kernels for lines. R0 is the first line. A batch is done in two
// halves: R1 goes through one, R2 through the next one, whose lines are fetched; R3 is
// the number of elements left of the first half, R13 the number of the second half, then
// 0. R5 collects verdicts, and R6 others or counts: each bit is shifted in from below, so
// the first one ends up highest.

#define BEGINHALVES \
	MOVD  lines+0(FP), R0            \
	MOVD  current+8(FP), R1            \
	ADD   $256, R1, R2               \
	MOVD  n+24(FP), R13              \
	MOVD  $32, R3                    \
	CMP   R3, R13                    \
	CSEL  LT, R13, R3, R3            \
	SUB   R3, R13, R13               \
	MOVD  ZR, R5                     \
	MOVD  ZR, R6

// LOADLINE fetches the line of an element of the next half and loads the line of this
// one to V0 to V3. R7 is its address.
#define LOADLINE \
	MOVD.P 8(R2), R9                              \
	ADD    R0, R9, R9                             \
	PRFM   (R9), PLDL1KEEP                        \
	MOVD.P 8(R1), R7                              \
	ADD    R0, R7, R7                             \
	VLD1   (R7), [V0.B16, V1.B16, V2.B16, V3.B16]

// NEXT goes on with the next element of this half, and then with the second half, if
// there is one.
#define NEXT(LOOP) \
	SUBS $1, R3, R3         \
	BNE  LOOP               \
	MOVD ahead+16(FP), R2   \
	MOVD R13, R3            \
	MOVD ZR, R13            \
	CBNZ R3, LOOP
