// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "common_amd64.h"
#include "prng_amd64.h"

// Timed rows, a line two registers (AVX2; BMI1 and BMI2 for scalars). All cells are
// compared at once. An element without a cell takes a path of its own, which waits for no
// mark: most elements are new, or copies come in a pattern that a CPU predicts. R8
// collects the elements near the kept one (and, if requested, away from it), R13 the
// found elements, R10 the new elements that may concern a spare line: each bit is shifted
// in from below.
//
// Y14 is the bits of fingerprints, Y15 the bits of a moved line's last four words, Y12
// and Y13 are the shifts of the last two words and of the bits that move into them.

// Shifts of words: 64 and more yields 0.
DATA timedLeft<>+0(SB)/8, $64
DATA timedLeft<>+8(SB)/8, $64
DATA timedLeft<>+16(SB)/8, $21
DATA timedLeft<>+24(SB)/8, $21
GLOBL timedLeft<>(SB), RODATA|NOPTR, $32

DATA timedRight<>+0(SB)/8, $0
DATA timedRight<>+8(SB)/8, $0
DATA timedRight<>+16(SB)/8, $43
DATA timedRight<>+24(SB)/8, $42
GLOBL timedRight<>(SB), RODATA|NOPTR, $32

DATA timedBits<>+0(SB)/8, $-1
DATA timedBits<>+8(SB)/8, $-1
DATA timedBits<>+16(SB)/8, $0x7fffffffffffffff
DATA timedBits<>+24(SB)/8, $0x7fffffffffffffff
GLOBL timedBits<>(SB), RODATA|NOPTR, $32

// CONSTANTS leaves the timedRule in BP, and in the frame the number of elements of the
// second half, and where the next new element's line is kept.
#define CONSTANTS \
	MOVQ R11, half-8(SP)                  \
	MOVQ CX, R11                          \
	SHLQ $6, R11                          \
	SUBQ b+32(FP), R11                    \
	NEGQ R11                              \
	ADDQ $timedBatch_before, R11          \
	MOVQ R11, before-16(SP)               \
	MOVQ r+40(FP), BP                     \
	VPCMPEQQ Y15, Y15, Y15                \
	VPBROADCASTQ timedRule_low(BP), Y14    \
	VPXOR   Y15, Y14, Y14                 \
	VMOVDQU timedBits<>(SB), Y15          \
	VMOVDQU timedLeft<>(SB), Y12          \
	VMOVDQU timedRight<>(SB), Y13         \
	XORL R13, R13

// LINE sets BX to the line's address, Y0 and Y1 the line, Y2 the cell, and AX a bit for the
// cell that has its fingerprint. If there is none, the zero flag is set.
#define LINE \
	FETCH                                                \
	ADDQ DI, BX                                          \
	VMOVDQU (BX), Y0                                     \
	VMOVDQU 32(BX), Y1                                   \
	VPBROADCASTQ timedBatch_cell(R15)(CX*8), Y2          \
	VPAND Y14, Y2, Y5                                    \
	VPAND Y14, Y0, Y3                                    \
	VPAND Y14, Y1, Y4                                    \
	VPCMPEQQ Y5, Y3, Y3                                  \
	VPCMPEQQ Y5, Y4, Y4                                  \
	VMOVMSKPD Y3, AX                                     \
	VMOVMSKPD Y4, DX                                     \
	ANDL $3, DX                                          \
	SHLL $4, DX                                          \
	ORL  DX, AX

// TIME joins a mark: its lower bits are in DX, its others the lowest of R12. DISTANCE
// becomes its distance after the first time within the window, at the top.
#define TIME(MARK, DISTANCE) \
	MOVQ  timedRule_lowBits(BP), R11              \
	SHLXQ R11, R12, MARK                          \
	ANDQ  timedRule_low(BP), DX                   \
	ORQ   DX, MARK                                \
	MOVQ  timedRule_rotation(BP), R11             \
	SHLXQ R11, MARK, DISTANCE                     \
	SUBQ  timedBatch_earliest(R15)(CX*8), DISTANCE

// NEAR sets DISTANCE to all ones if the time is within the window, or else to 0.
#define NEAR(DISTANCE) \
	CMPQ  DISTANCE, timedRule_aboveWindows(BP) \
	SBBQ  DISTANCE, DISTANCE

// SHIFTED sets Y3 and Y4 to the line with all cells moved on by one, behind the new one.
#define SHIFTED \
	VINSERTI128 $1, X0, Y2, Y3   \
	VPERM2I128 $0x21, Y1, Y0, Y4 \
	VPALIGNR $8, Y3, Y0, Y3      \
	VPALIGNR $8, Y4, Y1, Y4      \
	VPBLENDD $0x30, Y5, Y4, Y4   \
	VPSRLVQ Y13, Y4, Y4          \
	VPSLLVQ Y12, Y1, Y5          \
	VPOR  Y5, Y4, Y4

#define STORE(LOOP) \
	VMOVDQU Y3, (BX)   \
	VMOVDQU Y4, 32(BX) \
	INCQ CX            \
	JNE  LOOP

// NEARNOW sets DX to all ones if the time is within reach of Now, or else to 0.
#define NEARNOW \
	SUBQ (timedRule_timedClock+timedClock_nowEarliest)(BP), DX \
	CMPQ DX, (timedRule_timedClock+timedClock_aboveReach)(BP)  \
	SBBQ DX, DX

// NEW puts the element in front. The last cell is removed. Bit 63 of the last word stays.
#define NEW(LOOP) \
	VPBROADCASTQ timedBatch_high(R15)(CX*8), Y5 \
	MOVQ  CX, R11            \
	SHLQ  $6, R11            \
	ADDQ  before-16(SP), R11 \
	VMOVDQU Y0, (R11)        \
	VMOVDQU Y1, 32(R11)      \
	VPANDN Y1, Y15, Y6       \
	SHIFTED                  \
	VPAND Y15, Y4, Y4        \
	VPOR  Y6, Y4, Y4         \
	MOVQ  40(BX), DX         \
	MOVQ  56(BX), R12        \
	SHRQ  $42, R12           \
	TIME(R12, R12)           \
	MOVQ  R12, DX            \
	ADDQ  timedBatch_earliest(R15)(CX*8), DX \
	NEAR(R12)                \
	NEARNOW                  \
	ORQ   DX, R12            \
	ANDQ  40(BX), R12        \
	MOVQ  56(BX), DX         \
	SHRQ  $63, DX            \
	ORQ   DX, R12            \
	NEGQ  R12                \
	ADCQ  R10, R10           \
	ADDQ  R13, R13           \
	ADDQ  R8, R8             \
	STORE(LOOP)

// FOUND sets AX to the number of the cell, R12 to its mark, with bits of others above,
// and DX to its distance after the first time within the window, at the top.
#define FOUND \
	TZCNTL AX, AX                                                \
	MOVBLZX (timedTable_places+timedPlace_cell)(R14)(AX*4), R11  \
	MOVQ (BX)(R11*1), DX                                         \
	MOVBLZX (timedTable_places+timedPlace_word)(R14)(AX*4), R11  \
	MOVQ (BX)(R11*1), R12                                        \
	MOVBLZX (timedTable_places+timedPlace_shift)(R14)(AX*4), R11 \
	SHRXQ R11, R12, R12                                          \
	TIME(R12, DX)                                                \
	ADDQ R10, R10                                                \
	LEAQ 1(R13)(R13*1), R13

// AWAY sets DX to 0 if the points of both marks are the same, by R12.
#define AWAY \
	MOVQ timedRule_points(BP), R11 \
	ANDQ R12, R11                 \
	NEGQ R11                      \
	SBBQ R11, R11                 \
	ANDQ R11, DX

// COLLECT collects DX.
#define COLLECT \
	MOVQ DX, R11  \
	ADDQ R11, R11 \
	ADCQ R8, R8

// KEEP makes a copy change nothing, and sets Y5 to the new mark's upper bits.
#define KEEP \
	ANDL $8, DX                                 \
	ADDL DX, AX                                 \
	VPBROADCASTQ timedBatch_high(R15)(CX*8), Y5

// LATER sets R12 to the change of the mark that a copy refreshes: the time is the later
// of both.
#define LATER \
	CMPQ  DX, timedRule_aboveWindow(BP)    \
	SBBQ  R11, R11                        \
	ANDQ  timedRule_tickMask(BP), R11      \
	XORQ  timedBatch_mark(R15)(CX*8), R12 \
	ANDNQ R12, R11, R12

// RENEW gives the new cell of a copy such a mark, in Y2 and Y5.
#define RENEW \
	ANDQ DX, R12                         \
	MOVQ timedBatch_mark(R15)(CX*8), R11 \
	XORQ R12, R11                        \
	MOVQ timedRule_shift(BP), DX           \
	SHLXQ DX, R11, R11                   \
	VMOVQ R11, X5                        \
	VPBROADCASTQ X5, Y5                  \
	ANDQ timedRule_low(BP), R12           \
	XORQ timedBatch_cell(R15)(CX*8), R12 \
	VMOVQ R12, X2                        \
	VPBROADCASTQ X2, Y2

// MOVE makes the move AX.
#define MOVE(LOOP) \
	SHLL $7, AX                 \
	SHIFTED                     \
	VPXOR Y0, Y3, Y3            \
	VPXOR Y1, Y4, Y4            \
	VPAND (R14)(AX*1), Y3, Y3   \
	VPAND 32(R14)(AX*1), Y4, Y4 \
	VPXOR Y0, Y3, Y3            \
	VPXOR Y1, Y4, Y4            \
	STORE(LOOP)

// SECOND goes on with the second half, if there is one.
#define SECOND(LOOP) \
	MOVQ half-8(SP), R11   \
	MOVQ $0, half-8(SP)    \
	MOVQ R11, AX           \
	SHLQ $6, AX            \
	ADDQ AX, before-16(SP) \
	LEAQ (R15)(R11*8), R15 \
	HALF(LOOP)

// func timedRowsAVX2(lines *[8]uint64, current, ahead *batch, n int, b *timedBatch, r *timedRule) (copies, found, spare uint64)
TEXT ·timedRowsAVX2(SB), NOSPLIT, $16-72
	BEGINTIMED
	CONSTANTS
	CMPB timedRule_refresh(BP), $0
	JNE  refresh
	CMPB timedRule_across(BP), $0
	JNE  across

plain:
	LINE
	JNE  plainFound
	NEW(plain)
	JMP  plainHalf

plainFound:
	FOUND
	NEAR(DX)
	COLLECT
	KEEP
	MOVE(plain)

plainHalf:
	SECOND(plain)
	JMP done

across:
	LINE
	JNE  acrossFound
	NEW(across)
	JMP  acrossHalf

acrossFound:
	FOUND
	NEAR(DX)
	XORQ timedBatch_mark(R15)(CX*8), R12
	AWAY
	COLLECT
	KEEP
	MOVE(across)

acrossHalf:
	SECOND(across)
	JMP done

refresh:
	CMPB timedRule_across(BP), $0
	JNE  refreshAcross

renew:
	LINE
	JNE  renewFound
	NEW(renew)
	JMP  renewHalf

renewFound:
	FOUND
	LATER
	NEAR(DX)
	COLLECT
	RENEW
	MOVE(renew)

renewHalf:
	SECOND(renew)
	JMP done

refreshAcross:
	LINE
	JNE  refreshAcrossFound
	NEW(refreshAcross)
	JMP  refreshAcrossHalf

refreshAcrossFound:
	FOUND
	LATER
	NEAR(DX)
	AWAY
	COLLECT
	RENEW
	MOVE(refreshAcross)

refreshAcrossHalf:
	SECOND(refreshAcross)

done:
	ANDNQ R10, R13, R10
	ANDQ  R13, R8
	MOVQ  R8, copies+48(FP)
	MOVQ  R13, found+56(FP)
	MOVQ  R10, spare+64(FP)
	VZEROUPPER
	RET

// func fillTimedAVX2(b *timedBatch, low *[64]uint64, ticks *int64, points *uint32, groups int, r *timedRule)
//
// Four elements at a time, in the way of fillTimedAVX512. R9 collects elements without a
// time.
TEXT ·fillTimedAVX2(SB), NOSPLIT, $0-48
	MOVQ b+0(FP), DI
	MOVQ low+8(FP), SI
	MOVQ ticks+16(FP), BX
	MOVQ points+24(FP), R8
	MOVQ groups+32(FP), CX
	MOVQ r+40(FP), AX
	MOVL $64, R10
	SUBQ CX, R10
	SUBQ CX, R10
	SUBQ CX, R10
	SUBQ CX, R10
	XORL R9, R9
	VPBROADCASTQ timedRule_low(AX), Y7
	VPBROADCASTQ timedRule_tickMask(AX), Y8
	VPBROADCASTQ timedRule_window(AX), Y9
	VPBROADCASTQ timedRule_origin(AX), Y10
	VMOVQ timedRule_eraBits(AX), X11
	VMOVQ timedRule_rotation(AX), X12
	VMOVQ timedRule_tickBits(AX), X13
	VMOVQ timedRule_shift(AX), X14
	MOVQ  $const_golden, DX
	VMOVQ DX, X15
	VPBROADCASTQ X15, Y15

group:
	VMOVDQU (BX), Y0
	VPSUBQ  Y10, Y0, Y1
	VPSRLQ  X11, Y1, Y1
	VPSRLQ  $32, Y15, Y2
	PRODUCT256(Y15, Y2, Y1)
	VPXOR   (SI), Y1, Y1
	VPCMPEQQ Y2, Y2, Y2
	VPSLLQ  $63, Y2, Y3
	VPCMPEQQ Y3, Y0, Y3
	VMOVMSKPD Y3, DX
	SHRQ    $4, R9
	SHLQ    $60, DX
	ORQ     DX, R9
	VPANDN  Y1, Y7, Y1
	VPXOR   Y3, Y3, Y3
	VPCMPEQQ Y3, Y1, Y3
	VPSUBQ  Y2, Y7, Y4
	VPAND   Y4, Y3, Y3
	VPOR    Y3, Y1, Y1
	VPAND   Y8, Y0, Y0
	TESTQ   R8, R8
	JZ      marked
	VPMOVZXDQ (R8), Y2
	VPBROADCASTQ timedRule_pointMask(AX), Y3
	VPCMPGTQ Y2, Y3, Y3
	MOVL    $const_golden32, DX
	VMOVQ   DX, X4
	VPBROADCASTQ X4, Y4
	VPMULUDQ Y4, Y2, Y4
	VPSLLQ  $32, Y4, Y4
	MOVL    $64, DX
	SUBQ    timedRule_pointBits(AX), DX
	VMOVQ   DX, X5
	VPSRLQ  X5, Y4, Y4
	VPBLENDVB Y3, Y2, Y4, Y2
	VPSLLQ  X13, Y2, Y2
	VPOR    Y2, Y0, Y0
	ADDQ    $16, R8

marked:
	VMOVDQU Y0, timedBatch_mark(DI)
	VPAND   Y7, Y0, Y2
	VPOR    Y2, Y1, Y1
	VMOVDQU Y1, timedBatch_cell(DI)
	VPSLLQ  X14, Y0, Y1
	VMOVDQU Y1, timedBatch_high(DI)
	VPSUBQ  Y9, Y0, Y0
	VPSLLQ  X12, Y0, Y0
	VMOVDQU Y0, timedBatch_earliest(DI)
	ADDQ $32, BX
	ADDQ $32, SI
	ADDQ $32, DI
	DECQ CX
	JNZ  group
	SHRXQ R10, R9, R9
	MOVQ  b+0(FP), DI
	MOVQ  R9, timedBatch_noTime(DI)
	VZEROUPPER
	RET
