// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "common_amd64.h"

// Timed rows, a line a register (AVX-512 F, BW, DQ, VL; BMI1 and BMI2 for scalars). All
// marks of a line are put together and compared at once. The bottleneck is that there are
// two units for vectors, so scalars do the rest of the work.

// The words that have the upper bits of cells' marks, and word 6 for word 7, which takes
// the last of its three fields.
DATA timedHighs<>+0(SB)/8, $6
DATA timedHighs<>+8(SB)/8, $6
DATA timedHighs<>+16(SB)/8, $6
DATA timedHighs<>+24(SB)/8, $7
DATA timedHighs<>+32(SB)/8, $7
DATA timedHighs<>+40(SB)/8, $7
DATA timedHighs<>+48(SB)/8, $6
DATA timedHighs<>+56(SB)/8, $6
GLOBL timedHighs<>(SB), RODATA|NOPTR, $64

// The numbers of words 5 in two vectors of words 4 and 5 of four lines each.
DATA timedOdd<>+0(SB)/8, $1
DATA timedOdd<>+8(SB)/8, $3
DATA timedOdd<>+16(SB)/8, $5
DATA timedOdd<>+24(SB)/8, $7
DATA timedOdd<>+32(SB)/8, $9
DATA timedOdd<>+40(SB)/8, $11
DATA timedOdd<>+48(SB)/8, $13
DATA timedOdd<>+56(SB)/8, $15
GLOBL timedOdd<>(SB), RODATA|NOPTR, $64

// The offsets of words 5 of eight lines.
DATA timedLasts<>+0(SB)/8, $40
DATA timedLasts<>+8(SB)/8, $104
DATA timedLasts<>+16(SB)/8, $168
DATA timedLasts<>+24(SB)/8, $232
DATA timedLasts<>+32(SB)/8, $296
DATA timedLasts<>+40(SB)/8, $360
DATA timedLasts<>+48(SB)/8, $424
DATA timedLasts<>+56(SB)/8, $488
GLOBL timedLasts<>(SB), RODATA|NOPTR, $64

// CONSTANTS leaves the timedRule in AX. K5 is word 6, K6 the last two words, K7 the
// others.
#define CONSTANTS \
	MOVQ r+40(FP), AX                                         \
	MOVL  $0x3f, DX                                           \
	KMOVB DX, K7                                              \
	MOVL  $0xc0, DX                                           \
	KMOVB DX, K6                                              \
	MOVL  $0x40, DX                                           \
	KMOVB DX, K5                                              \
	VPXORQ Z27, Z27, Z27                                      \
	VMOVDQU64 timedHighs<>(SB), Z16                           \
	VMOVDQU64 (timedRule_lanes+timedLanes_highRotations)(AX), Z17  \
	VMOVDQU64 (timedRule_lanes+timedLanes_lowRotations)(AX), Z18   \
	VMOVDQU64 (timedRule_lanes+timedLanes_lows)(AX), Z19       \
	VPBROADCASTQ timedRule_low(AX), Z20                        \
	VPBROADCASTQ timedRule_aboveWindows(AX), Z21               \
	VPBROADCASTQ timedRule_pointMask(AX), Z22

// RENEWCONSTANTS are the constants for copies that change their line.
#define RENEWCONSTANTS \
	VMOVDQU64 (timedRule_lanes+timedLanes_backRotations)(AX), Z23  \
	VMOVDQU64 (timedRule_lanes+timedLanes_backs)(AX), Z24      \
	VPBROADCASTQ timedRule_aboveWindow(AX), Z25                \
	VPBROADCASTQ timedRule_tickMask(AX), Z26                   \
	VPBROADCASTQ timedRule_rotation(AX), Z0                        \
	VPSLLVQ Z0, Z26, Z26

// FIND sets Z0 to the line, Z2 the new cell in each word, AX and K1 the cells that have
// its fingerprint, and Z3 the words that have the upper bits of the marks, rotated. It
// keeps the line for elements that ask spare lines; R8 is the timedBatch, R10 16 times
// the number of the element. Z27 collects all bits.
#define FIND \
	FETCH                                        \
	VMOVDQU64 (DI)(BX*1), Z0                     \
	VPBROADCASTQ timedBatch_cell(R15)(CX*8), Z2  \
	VPXORQ  Z2, Z0, Z4                           \
	VPCMPUQ $2, Z20, Z4, K7, K1                  \
	VPERMQ  Z0, Z16, Z3                          \
	VPRORVQ Z17, Z3, Z3                          \
	KMOVB   K1, AX                               \
	VPORQ   Z0, Z27, Z27                         \
	VMOVDQU64 Z0, timedBatch_before(R8)(R10*4)   \
	MOVB    AX, (R13)(CX*1)

// NEW sets word 6 of Z3 to the upper bits of the new mark.
#define NEW VPSRLQ.BCST $43, timedBatch_high(R15)(CX*8), K5, Z3

// COMPARE joins the marks in Z3 with their lower bits in Z1, and sets Z4 to their
// distance after the first time within the window, DX and K2 to the cells within.
#define COMPARE \
	VPTERNLOGQ $0xb8, Z1, Z19, Z3                      \
	VEXTRACTI64X2 $2, Z3, timedBatch_lasts(R8)(R10*1)  \
	ADDQ $16, R10                                      \
	VPSUBQ.BCST timedBatch_earliest(R15)(CX*8), Z3, Z4 \
	VPCMPUQ $1, Z21, Z4, K7, K2                        \
	KMOVB   K2, DX                                     \
	MOVB    DX, (timedBatch_inWindow-timedBatch_found)(R13)(CX*1)

// AWAY sets DX and K3 to the cells of K2 that are of another point than the mark Z5.
#define AWAY \
	VPXORQ   Z5, Z3, Z6      \
	VPTESTMQ Z22, Z6, K2, K3 \
	KMOVB    K3, DX          \
	MOVB     DX, (timedBatch_otherPoint-timedBatch_found)(R13)(CX*1)

// KEEP makes the move in which a copy, DX, changes nothing. The last two words of Z3 have
// moved on by a field: the upper bits of the new mark were shifted in with the lower
// ones.
#define KEEP(LOOP) \
	ANDL AX, DX                                \
	LEAL (AX)(DX*2), AX                        \
	MOVBLZX timedTable_choices(R14)(AX*1), AX  \
	VALIGNQ $7, Z2, Z0, K7, Z3                 \
	STORE(Z3, LOOP)

// RENEW makes the move in which a copy takes the later time and the kept one's point. Z5
// is the new mark for each cell that may match, and its last two words for none.
#define RENEW(LOOP) \
	MOVBLZX (timedTable_choices+256)(R14)(AX*1), AX \
	VMOVDQU64 timedMove_from(R14)(AX*8), Z6         \
	VPERMI2Q  Z0, Z5, Z6                            \
	VPRORVQ   Z23, Z6, Z6                           \
	VPSLLQ    $21, Z0, K6, Z2                       \
	VPTERNLOGQ $0xb8, Z6, Z24, Z2                   \
	STORE(Z2, LOOP)

// STORE stores the changes of NEW.
#define STORE(NEW, LOOP) \
	VPTERNLOGQ $0xe4, timedMove_bits(R14)(AX*8), Z0, NEW \
	VMOVDQU64 NEW, (DI)(BX*1)                            \
	INCQ CX                                              \
	JNE  LOOP

// SECOND goes on with the second half, if there is one.
#define SECOND(LOOP) \
	LEAQ (R15)(R11*8), R15 \
	ADDQ R11, R13          \
	HALF(LOOP)

// REACHED shifts into DX whether eight last cells are within reach of Now. Z2 chooses their
// marks.
#define REACHED(GROUP) \
	VMOVDQU64 (timedBatch_lasts+128*GROUP)(AX), Z0           \
	VPERMT2Q  (timedBatch_lasts+128*GROUP+64)(AX), Z2, Z0    \
	VPSUBQ    Z20, Z0, Z0                                    \
	VPCMPUQ   $1, Z21, Z0, K1                                \
	KMOVB     K1, R10                                        \
	SHLQ      $8, DX                                         \
	ORQ       R10, DX

// FULL shifts into DX whether eight last cells are not empty. Z2 has their places.
#define FULL(GROUP) \
	KXNORB     K1, K1, K1                                    \
	VPGATHERQQ (timedBatch_before+512*GROUP)(AX)(Z2*1), K1, Z0 \
	VPTESTMQ   Z0, Z0, K2                                    \
	KMOVB      K2, R10                                       \
	SHLQ       $8, DX                                        \
	ORQ        R10, DX

// SPILLED shifts into DX whether eight lines have spilled. Z2 has the places of their
// last cells.
#define SPILLED(GROUP) \
	KXNORB     K1, K1, K1                                    \
	VPGATHERQQ (timedBatch_before+512*GROUP+16)(AX)(Z2*1), K1, Z0 \
	VPMOVQ2M   Z0, K2                                        \
	KMOVB      K2, R10                                       \
	SHLQ       $8, DX                                        \
	ORQ        R10, DX

// func timedRowsAVX512(lines *[8]uint64, current, ahead *batch, n int, b *timedBatch, r *timedRule) (copies, new, spare uint64)
TEXT ·timedRowsAVX512(SB), NOSPLIT, $0-72
	BEGINTIMED
	CONSTANTS
	MOVQ b+32(FP), R8
	CMPB timedRule_refresh(AX), $0
	JNE  refresh
	CMPB timedRule_across(AX), $0
	JNE  across

plain:
	FIND
	VPSLLVQ Z18, Z0, Z1
	NEW
	COMPARE
	KEEP(plain)
	SECOND(plain)
	JMP near

// Points are in the lower bits, too.
across:
	FIND
	VPROLVQ Z18, Z0, Z1
	NEW
	COMPARE
	VPBROADCASTQ timedBatch_rotated(R15)(CX*8), Z5
	AWAY
	KEEP(across)
	SECOND(across)
	JMP away

refresh:
	RENEWCONSTANTS
	CMPB timedRule_across(AX), $0
	JNE  refreshAcross
	CMPQ timedRule_pointBits(AX), $0
	JNE  refreshPoints

renew:
	FIND
	VPROLVQ Z18, Z0, Z1
	COMPARE
	VPBROADCASTQ timedBatch_rotated(R15)(CX*8), Z5
	VPCMPUQ $5, Z25, Z4, K2, K3
	VMOVDQA64 Z3, K3, Z5
	RENEW(renew)
	SECOND(renew)
	JMP near

// LATER sets Z5, the new mark, for the cells COPIES to the mark of the cell with the
// later time.
#define LATER(COPIES) \
	VPCMPUQ $1, Z25, Z4, COPIES, K4 \
	VMOVDQA64 Z3, COPIES, Z5        \
	VPTERNLOGQ.BCST $0xb8, timedBatch_rotated(R15)(CX*8), Z26, K4, Z5

refreshPoints:
	FIND
	VPROLVQ Z18, Z0, Z1
	COMPARE
	VPBROADCASTQ timedBatch_rotated(R15)(CX*8), Z5
	LATER(K2)
	RENEW(refreshPoints)
	SECOND(refreshPoints)
	JMP near

refreshAcross:
	FIND
	VPROLVQ Z18, Z0, Z1
	COMPARE
	VPBROADCASTQ timedBatch_rotated(R15)(CX*8), Z5
	AWAY
	LATER(K3)
	RENEW(refreshAcross)
	SECOND(refreshAcross)

away:
	MOVQ b+32(FP), AX
	VMOVDQU64 timedBatch_otherPoint(AX), Z0
	JMP  count

near:
	MOVQ b+32(FP), AX
	VMOVDQU64 timedBatch_inWindow(AX), Z0

// The cells of the originals are in Z0.
count:
	MOVQ n+24(FP), CX
	VMOVDQU64 timedBatch_found(AX), Z1
	VMOVDQU64 timedBatch_inWindow(AX), Z2
	MOVL  $0x20, DX
	VPBROADCASTB DX, Z3
	VPTESTMB  Z0, Z1, K1
	VPTESTNMB Z1, Z1, K2
	VPTESTMB  Z3, Z2, K2, K3
	KMOVQ K1, DX
	BZHIQ CX, DX, DX
	MOVQ  DX, copies+48(FP)
	KMOVQ K2, R8
	BZHIQ CX, R8, R8
	MOVQ  R8, new+56(FP)
	TESTQ R8, R8
	JZ    done
	KMOVQ K3, R9
	MOVQ  r+40(FP), BX
	CMPQ  (timedRule_timedClock+timedClock_spareLines)(BX), $0
	JE    noSpare
	VPBROADCASTQ (timedRule_timedClock+timedClock_nowEarliest)(BX), Z20
	VPBROADCASTQ (timedRule_timedClock+timedClock_aboveReach)(BX), Z21
	VMOVDQU64 timedOdd<>(SB), Z2
	REACHED(7)
	REACHED(6)
	REACHED(5)
	REACHED(4)
	REACHED(3)
	REACHED(2)
	REACHED(1)
	REACHED(0)
	ORQ   DX, R9
	VPMOVQ2M Z27, K1
	KMOVB K1, DX
	TESTL $0x80, DX
	JZ    asked
	VMOVDQU64 timedLasts<>(SB), Z2
	SPILLED(7)
	SPILLED(6)
	SPILLED(5)
	SPILLED(4)
	SPILLED(3)
	SPILLED(2)
	SPILLED(1)
	SPILLED(0)
	ORQ   DX, R9

asked:
	ANDQ  R9, R8
	JMP   done

noSpare:
	ANDQ  R9, R8
	JZ    done
	VMOVDQU64 timedLasts<>(SB), Z2
	FULL(7)
	FULL(6)
	FULL(5)
	FULL(4)
	FULL(3)
	FULL(2)
	FULL(1)
	FULL(0)
	ANDQ  DX, R8

done:
	MOVQ R8, spare+64(FP)
	VZEROUPPER
	RET

// func fillTimedAVX512(b *timedBatch, low *[64]uint64, ticks *int64, points *uint32, groups int, r *timedRule)
//
// Eight elements at a time. Without points, a mark is only a time: shifted to the top, it
// is the mark rotated, and its upper bits are in their place.
TEXT ·fillTimedAVX512(SB), NOSPLIT, $0-48
	MOVQ b+0(FP), DI
	MOVQ low+8(FP), SI
	MOVQ ticks+16(FP), BX
	MOVQ points+24(FP), R8
	MOVQ groups+32(FP), CX
	MOVQ r+40(FP), AX
	LEAQ timedBatch_noTime(DI), R9
	VPBROADCASTQ timedRule_low(AX), Z16
	VPBROADCASTQ timedRule_rotation(AX), Z17
	VPBROADCASTQ timedRule_windowRotated(AX), Z18
	VPBROADCASTQ timedRule_origin(AX), Z19
	VPBROADCASTQ timedRule_eraBits(AX), Z20
	MOVQ $const_golden, DX
	VPBROADCASTQ DX, Z21
	MOVL $1, DX
	VPBROADCASTQ DX, Z22
	VPSLLQ $63, Z22, Z23
	VPADDQ Z16, Z22, Z22
	VPBROADCASTQ timedRule_tickMask(AX), Z24
	TESTQ R8, R8
	JZ group
	VPBROADCASTQ timedRule_tickBits(AX), Z25
	VPBROADCASTQ timedRule_pointMask(AX), Z26
	MOVL $const_golden32, DX
	VPBROADCASTQ DX, Z27
	MOVL $64, DX
	SUBQ timedRule_pointBits(AX), DX
	VPBROADCASTQ DX, Z28
	VPBROADCASTQ timedRule_shift(AX), Z29

group:
	VMOVDQU64 (BX), Z0
	VPCMPEQQ  Z23, Z0, K1
	KMOVB     K1, (R9)
	VPSUBQ    Z19, Z0, Z1
	VPSRLVQ   Z20, Z1, Z1
	VPMULLQ   Z21, Z1, Z1
	VPXORQ    (SI), Z1, Z1
	VPMAXUQ   Z22, Z1, Z1
	VPSLLVQ   Z17, Z0, Z2
	VPSUBQ    Z18, Z2, Z3
	VMOVDQU64 Z3, timedBatch_earliest(DI)
	TESTQ     R8, R8
	JNZ       point
	VMOVDQU64 Z2, timedBatch_high(DI)
	VPANDQ    Z24, Z0, Z0

fields:
	VMOVDQU64  Z2, timedBatch_rotated(DI)
	VMOVDQU64  Z0, timedBatch_mark(DI)
	VPTERNLOGQ $0xb8, Z0, Z16, Z1
	VMOVDQU64  Z1, timedBatch_cell(DI)
	ADDQ $64, BX
	ADDQ $64, SI
	ADDQ $64, DI
	INCQ R9
	DECQ CX
	JNZ  group
	VZEROUPPER
	RET

point:
	VPMOVZXDQ  (R8), Z3
	VPCMPUQ    $5, Z26, Z3, K1
	VPMULUDQ   Z27, Z3, Z4
	VPSLLQ     $32, Z4, Z4
	VPSRLVQ    Z28, Z4, K1, Z3
	VPORQ      Z3, Z2, Z2
	VPSLLVQ    Z25, Z3, Z3
	VPTERNLOGQ $0xe2, Z3, Z24, Z0
	VPSLLVQ    Z29, Z0, Z3
	VMOVDQU64  Z3, timedBatch_high(DI)
	ADDQ $32, R8
	JMP  fields
