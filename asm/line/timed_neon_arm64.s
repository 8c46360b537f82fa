// SPDX-License-Identifier: Apache-2.0

//go:build arm64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "common_arm64.h"

// Timed rows in general registers, which have conditional compares and shifts within an
// operation: vectors of two words would gain nothing. As with AVX2, an element without a
// cell takes a path of its own. R0 is the first line. A batch is done in two halves: R1
// goes through its offsets and R4 through its timedBatch, R2 through the next half, whose
// lines are fetched; R3 is the number of elements left. R5 collects copies: each bit is
// shifted in from below. R6 collects, for each half, the elements that may concern a
// spare line and, in its upper half, the new elements. R12 is the timedTable, R17 the
// timedRule, and of its fields R15 is lowBits, R16 turn, R25 low, R26 aboveWindows.

// BEGIN leaves the number of elements of the second half in the frame.
#define BEGIN \
	BEGINHALVES                         \
	MOVD R13, half-8(SP)                \
	MOVD b+32(FP), R4                   \
	MOVD r+40(FP), R17                  \
	MOVD t+48(FP), R12                  \
	MOVD ZR, first+64(FP)               \
	MOVD timedRule_lowBits(R17), R15     \
	MOVD timedRule_rotation(R17), R16        \
	MOVD timedRule_low(R17), R25         \
	MOVD timedRule_aboveWindows(R17), R26

// MISS goes on to the next cell if no cell so far matches.
#define MISS(CELL) \
	EOR  CELL, R9, R10          \
	CCMP HI, R10, R25, $0       \
	CINC HI, R8, R8

// LINE loads the cells of a line to R19 to R24 and makes R7 its address, R9 the new cell,
// and R8 the number of the cell that has its fingerprint. If there is none, it goes to NEW.
#define LINE(NEW) \
	MOVD.P 8(R2), R9                         \
	ADD    R0, R9, R9                        \
	PRFM   (R9), PLDL1KEEP                   \
	MOVD.P 8(R1), R7                         \
	ADD    R0, R7, R7                        \
	MOVD.P 8(R4), R9                         \
	LDP    (R7), (R19, R20)                  \
	LDP    16(R7), (R21, R22)                \
	LDP    32(R7), (R23, R24)                \
	EOR    R19, R9, R10                      \
	CMP    R25, R10                          \
	CSET   HI, R8                            \
	MISS(R20)                                \
	MISS(R21)                                \
	MISS(R22)                                \
	MISS(R23)                                \
	MISS(R24)                                \
	CMP    $6, R8                            \
	BHS    NEW

// TIME joins a mark: its lower bits are in CELL, its others the lowest of HIGH. MARK may
// have bits of others above. DISTANCE becomes its distance after the first time within
// the window, at the top.
#define TIME(CELL, HIGH, MARK, DISTANCE, T) \
	LSL    R15, HIGH, MARK                   \
	AND    R25, CELL, T                      \
	ORR    T, MARK, MARK                     \
	LSL    R16, MARK, DISTANCE               \
	MOVD   timedBatch_earliest-8(R4), T      \
	SUB    T, DISTANCE, DISTANCE

// FOUND sets R11 to the mark of the cell that has the fingerprint, and R10 to its
// distance.
#define FOUND \
	LSL    $1, R6, R6                        \
	ADD    R8<<2, R12, R10                   \
	MOVWU  timedTable_places(R10), R10       \
	UBFX   $8, R10, $8, R11                  \
	MOVD   (R7)(R11), R11                    \
	UBFX   $16, R10, $8, R13                 \
	LSR    R13, R11, R11                     \
	AND    $0xff, R10, R10                   \
	MOVD   (R7)(R10), R14                    \
	TIME(R14, R11, R11, R10, R13)

// JOIN sets R9 and R14 to the upper bits of all marks, moved on by one: the new mark's
// bits are at the top of R9, the others in R11 and R13.
#define JOIN \
	LSR  $43, R9, R9             \
	ORR  R11<<21, R9, R9         \
	LSR  $42, R11, R14           \
	ORR  R13<<21, R14, R14

// KEEPLINE keeps the line, whose last words are R11 and R13, for elements that ask spare
// lines.
#define KEEPLINE \
	MOVD b+32(FP), R10                       \
	SUB  R10, R4, R14                        \
	ADD  R14<<3, R10, R10                    \
	ADD  $(timedBatch_before-64), R10, R10   \
	STP  (R19, R20), (R10)                   \
	STP  (R21, R22), 16(R10)                 \
	STP  (R23, R24), 32(R10)                 \
	STP  (R11, R13), 48(R10)

// LAST sets R14 to whether the last cell is not empty and within the window or within
// reach of Now, or the line has spilled.
#define LAST \
	LSR    $42, R13, R14                     \
	TIME(R24, R14, R14, R14, R10)            \
	ADD    R14, R10, R10                     \
	MOVD   (timedRule_timedClock+timedClock_nowEarliest)(R17), R8 \
	SUB    R8, R10, R10                      \
	MOVD   (timedRule_timedClock+timedClock_aboveReach)(R17), R8  \
	CMP    R8, R10                           \
	CSET   LO, R10                           \
	CMP    R26, R14                          \
	CSINC  HS, R10, ZR, R14                  \
	CMP    $0, R24                           \
	CSEL   NE, R14, ZR, R14                  \
	ORR    R13>>63, R14, R14

// PUT puts an element without a cell in front, and records that it is new. The last cell
// is removed. Bit 63 of the last word stays.
#define PUT(LOOP) \
	LDP    48(R7), (R11, R13)                \
	KEEPLINE                                 \
	LAST                                     \
	LSL    $1, R5, R5                        \
	ADD    R6<<1, R14, R6                    \
	ORR    $(1<<32), R6, R6                  \
	MOVD   R13, R8                           \
	MOVD   R9, R10                           \
	MOVD   timedBatch_high-8(R4), R9         \
	JOIN                                     \
	AND    $0x7fffffffffffffff, R9, R9       \
	BFXIL  $0, R14, $63, R8                  \
	STP    (R10, R19), (R7)                  \
	STP    (R20, R21), 16(R7)                \
	STP    (R22, R23), 32(R7)                \
	STP    (R9, R8), 48(R7)                  \
	SUBS   $1, R3, R3                        \
	BNE    LOOP

// NEAR sets R13 to whether the element is within the window, and AWAY also requires
// another point: both marks, whose difference is R11, must differ there.
#define NEAR \
	CMP  R26, R10         \
	CSET LO, R13          \
	ADD  R5<<1, R13, R5

#define AWAY \
	MOVD timedRule_points(R17), R13 \
	AND  R11, R13, R13             \
	CMP  R26, R10                  \
	CCMP LO, R13, ZR, $4           \
	CSET NE, R13                   \
	ADD  R5<<1, R13, R5

// KEEP makes a copy change nothing: no cell is before number -1. R10 is the new cell, R9
// the upper bits of its mark.
#define KEEP \
	NEG  R13, R13                   \
	ORR  R13, R8, R8                \
	MOVD -8(R4), R10                \
	MOVD timedBatch_high-8(R4), R9

// LATER sets R11 to the change of the mark that a copy refreshes from R9, the element's
// mark: the time is the later of both.
#define LATER \
	MOVD timedBatch_mark-8(R4), R9      \
	MOVD timedRule_aboveWindow(R17), R13 \
	MOVD timedRule_tickMask(R17), R14    \
	EOR  R9, R11, R11                   \
	BIC  R14, R11, R14                  \
	CMP  R13, R10                       \
	CSEL LO, R14, R11, R11

// RENEW gives the new cell of a copy such a mark.
#define RENEW \
	NEG  R13, R13                \
	AND  R13, R11, R11           \
	EOR  R11, R9, R9             \
	MOVD timedRule_shift(R17), R14 \
	LSL  R14, R9, R9             \
	AND  R25, R11, R11           \
	MOVD -8(R4), R10             \
	EOR  R11, R10, R10

// STEP moves a cell on unless the removed cell is before it.
#define STEP(NUMBER, BEFORE, CELL) \
	CMP  $NUMBER, R8           \
	CSEL GE, BEFORE, CELL, CELL

// MOVE moves cells, and the upper bits of their marks, and stores the line.
#define MOVE(LOOP) \
	STEP(5, R23, R24)            \
	STEP(4, R22, R23)            \
	STEP(3, R21, R22)            \
	STEP(2, R20, R21)            \
	STEP(1, R19, R20)            \
	STEP(0, R10, R19)            \
	LDP  48(R7), (R11, R13)      \
	AND  $15, R8, R8             \
	ADD  R8<<7, R12, R8          \
	LDP  48(R8), (R10, R8)       \
	JOIN                         \
	EOR  R11, R9, R9             \
	EOR  R13, R14, R14           \
	AND  R10, R9, R9             \
	AND  R8, R14, R14            \
	EOR  R11, R9, R9             \
	EOR  R13, R14, R14           \
	STP  (R19, R20), (R7)        \
	STP  (R21, R22), 16(R7)      \
	STP  (R23, R24), 32(R7)      \
	STP  (R9, R14), 48(R7)       \
	SUBS $1, R3, R3              \
	BNE  LOOP

// HALF goes on with the second half, if there is one.
#define HALF(LOOP, END) \
	MOVD ahead+16(FP), R2  \
	MOVD half-8(SP), R3   \
	MOVD ZR, half-8(SP)   \
	CBZ  R3, END          \
	MOVD R6, first+64(FP) \
	MOVD ZR, R6           \
	B    LOOP

// func timedRowsNEON(lines *[8]uint64, current, ahead *batch, n int, b *timedBatch, r *timedRule, t *timedTable) (copies, first, second uint64)
TEXT ·timedRowsNEON(SB), NOSPLIT, $16-80
	BEGIN
	MOVBU timedRule_refresh(R17), R8
	MOVBU timedRule_across(R17), R9
	CBNZ  R8, refresh
	CBNZ  R9, across

plain:
	LINE(plainNew)
	FOUND
	NEAR
	KEEP
	MOVE(plain)

plainHalf:
	HALF(plain, end)

plainNew:
	PUT(plain)
	B   plainHalf

across:
	LINE(acrossNew)
	FOUND
	MOVD timedBatch_mark-8(R4), R9
	EOR  R9, R11, R11
	AWAY
	KEEP
	MOVE(across)

acrossHalf:
	HALF(across, end)

acrossNew:
	PUT(across)
	B   acrossHalf

refresh:
	CBNZ R9, refreshAcross

renew:
	LINE(renewNew)
	FOUND
	LATER
	NEAR
	RENEW
	MOVE(renew)

renewHalf:
	HALF(renew, end)

renewNew:
	PUT(renew)
	B   renewHalf

refreshAcross:
	LINE(refreshAcrossNew)
	FOUND
	LATER
	AWAY
	RENEW
	MOVE(refreshAcross)

refreshAcrossHalf:
	HALF(refreshAcross, end)

refreshAcrossNew:
	PUT(refreshAcross)
	B   refreshAcrossHalf

end:
	MOVD R5, copies+56(FP)
	MOVD R6, second+72(FP)
	RET
