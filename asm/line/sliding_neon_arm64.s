// SPDX-License-Identifier: Apache-2.0

//go:build arm64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "common_arm64.h"

// Sliding rows in general registers, which have conditional compares: vectors of two
// words would gain nothing. Registers are as in common_arm64.h; R4 goes through the
// previous contents of cells, R25 is the bits of dates, and R19 to R24, R14 and R15 are
// the cells of a line.

// MISS goes on to the next cell if no cell so far matches.
#define MISS(CELL) \
	EOR  CELL, R9, R10     \
	CCMP HI, R10, R25, $0  \
	CINC HI, R8, R8

// TAKEN goes on to the next cell if no cell so far is empty.
#define TAKEN(CELL) \
	CCMP NE, CELL, ZR, $4 \
	CINC NE, R8, R8

// func slidingRowsNEON(lines *[8]uint64, current, ahead *batch, n int, before *uint16) (held uint64)
TEXT ·slidingRowsNEON(SB), NOSPLIT, $0-48
	BEGINHALVES
	MOVD before+32(FP), R4
	MOVD $0x7fff, R25

element:
	MOVD.P 8(R2), R9
	ADD    R0, R9, R9
	PRFM   (R9), PLDL1KEEP
	MOVD   batch_low(R1), R9
	MOVD.P 8(R1), R7
	ADD    R0, R7, R7
	LDP    (R7), (R19, R20)
	LDP    16(R7), (R21, R22)
	LDP    32(R7), (R23, R24)
	LDP    48(R7), (R14, R15)
	EOR    R19, R9, R10
	CMP    R25, R10
	CSET   HI, R8
	MISS(R20)
	MISS(R21)
	MISS(R22)
	MISS(R23)
	MISS(R24)
	MISS(R14)
	MISS(R15)
	CMP    $8, R8
	BEQ    new

	// The cell keeps the later of both dates.
	MOVD   (R7)(R8<<3), R10
	MOVH.P R10, 2(R4)
	SUB    R10, R9, R11
	AND    R10>>1, R11, R11
	TST    $0x4000, R11
	CSEL   NE, R10, R9, R9
	B      put

new:
	MOVH.P ZR, 2(R4)
	CMP    ZR, R19
	CSET   NE, R8
	TAKEN(R20)
	TAKEN(R21)
	TAKEN(R22)
	TAKEN(R23)
	TAKEN(R24)
	TAKEN(R14)
	TAKEN(R15)
	CMP    $8, R8
	BEQ    full

put:
	MOVD   R9, (R7)(R8<<3)
	MOVD   $1, R10
	ADD    R5<<1, R10, R5
	NEXT(element)
	MOVD   R5, held+40(FP)
	RET

full:
	LSL    $1, R5, R5
	NEXT(element)
	MOVD   R5, held+40(FP)
	RET
