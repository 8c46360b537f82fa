// SPDX-License-Identifier: Apache-2.0

//go:build arm64 && !purego

#include "textflag.h"
#include "go_asm.h"

// ELEMENT turns a digest's low half, LOW, into the word of a new cell, and MARK, which is a tick's mark,
// into the two shifted forms HIGH and EARLIEST. TICK is for use in between.
#define ELEMENT(TICK, LOW, MARK, HIGH, EARLIEST) \
	SUB  R5, TICK, TICK      \
	LSR  R6, TICK, TICK      \
	MUL  R7, TICK, TICK      \
	EOR  TICK, LOW, LOW      \
	BIC  R3, LOW, LOW        \
	CMP  R11, LOW            \
	CSEL LO, R11, LOW, LOW   \
	AND  R3, MARK, TICK      \
	ORR  TICK, LOW, LOW      \
	SUB  R8, MARK, TICK      \
	LSL  R10, MARK, HIGH     \
	LSL  R9, TICK, EARLIEST

// POINT adds the next point to MARK. See reducePoint.
#define POINT(MARK) \
	MOVWU.P 4(R14), R26                       \
	MOVD  timedRule_pointMask(R25), R19       \
	MOVD  timedRule_pointBits(R25), R20       \
	CMP   R19, R26                            \
	MOVD  $const_golden32, R19                \
	MULW  R19, R26, R19                       \
	NEG   R20, R20                            \
	ADD   $32, R20                            \
	LSR   R20, R19, R19                       \
	CSEL  LO, R26, R19, R26                   \
	MOVD  timedRule_tickBits(R25), R19        \
	LSL   R19, R26, R26                       \
	ORR   R26, MARK, MARK

// func fillTimedNEON(b *timedBatch, low *[64]uint64, ticks *int64, points *uint32, groups int, r *timedRule)
//
// Two elements a turn, in general registers: vectors have no products of 64 bits. It leaves out the
// rotated marks, which only AVX-512 reads. R12 collects elements without a time.
TEXT ·fillTimedNEON(SB), NOSPLIT, $16-48
	MOVD b+0(FP), R0
	MOVD low+8(FP), R1
	MOVD ticks+16(FP), R2
	MOVD points+24(FP), R14
	MOVD groups+32(FP), R24
	MOVD r+40(FP), R25
	MOVD timedRule_low(R25), R3
	MOVD timedRule_tickMask(R25), R4
	MOVD timedRule_origin(R25), R5
	MOVD timedRule_eraBits(R25), R6
	MOVD $const_golden, R7
	MOVD timedRule_window(R25), R8
	MOVD timedRule_rotation(R25), R9
	MOVD timedRule_shift(R25), R10
	ADD  $1, R3, R11
	MOVD ZR, R12
	MOVD $0x8000000000000000, R13
	ADD  $timedBatch_high, R0, R21
	ADD  $timedBatch_mark, R0, R22
	ADD  $timedBatch_earliest, R0, R23
	LSL  $2, R24

pair:
	LDP.P 16(R2), (R15, R16)
	CMP   R13, R15
	CCMP  NE, R16, R13, $4
	BEQ   noTime

timed:
	AND R4, R15, R17
	AND R4, R16, R20
	CBZ R14, marked
	MOVD R20, mark-8(SP)
	POINT(R17)
	MOVD mark-8(SP), R20
	MOVD R17, mark-8(SP)
	MOVD R20, R17
	POINT(R17)
	MOVD R17, R20
	MOVD mark-8(SP), R17

marked:
	STP.P (R17, R20), 16(R22)
	LDP.P 16(R1), (R19, R26)
	ELEMENT(R15, R19, R17, R17, R15)
	ELEMENT(R16, R26, R20, R20, R16)
	STP.P (R19, R26), 16(R0)
	STP.P (R17, R20), 16(R21)
	STP.P (R15, R16), 16(R23)
	SUBS  $1, R24
	BNE   pair
	MOVD  b+0(FP), R0
	MOVD  R12, timedBatch_noTime(R0)
	RET

	// The number of the first element of the pair is half of the offset behind b.
noTime:
	MOVD b+0(FP), R19
	SUB  R19, R0, R19
	LSR  $3, R19
	CMP  R13, R15
	CSET EQ, R20
	LSL  R19, R20
	ORR  R20, R12
	ADD  $1, R19
	CMP  R13, R16
	CSET EQ, R20
	LSL  R19, R20
	ORR  R20, R12
	B    timed
