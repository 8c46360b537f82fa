// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "common_amd64.h"

// Fingerprint rows that are lines, a line two registers (AVX2; BMI1 and BMI2 for
// scalars). Registers are as in common_amd64.h, except that BX is the line's address.

// LINE loads this element's line to Y0 and Y1, and its pattern to Y2, and sets the cells
// of Y3 and Y4 that match.
#define LINE(COMPARE) \
	FETCH                              \
	ADDQ    DI, BX                     \
	VMOVDQU (BX), Y0                   \
	VMOVDQU 32(BX), Y1                 \
	VPBROADCASTQ PATTERN(SI)(CX*8), Y2 \
	COMPARE Y2, Y0, Y3                 \
	COMPARE Y2, Y1, Y4

// BITS32x16, BITS16x32 and BITS8x64 set AX to the cells that are set in Y3 and Y4, a bit
// each.
#define BITS32x16 \
	VPACKSSWB Y4, Y3, Y3    \
	VPERMQ    $0xd8, Y3, Y3 \
	VPMOVMSKB Y3, AX

#define BITS16x32 \
	VMOVMSKPS Y3, AX  \
	VMOVMSKPS Y4, R12 \
	SHLL      $8, R12 \
	ORL       R12, AX

#define BITS8x64 \
	VMOVMSKPD Y3, AX  \
	VMOVMSKPD Y4, R12 \
	SHLL      $4, R12 \
	ORL       R12, AX

// BOTH32x16, BOTH16x32 and BOTH8x64 set AX to the same and, behind, the cells that are
// set in Y5 and Y6. Y14 reorders the packed bytes; cells of 64 bits have their bits
// twice.
#define BOTH32x16 \
	BITS32x16               \
	VPACKSSWB Y6, Y5, Y5    \
	VPERMQ    $0xd8, Y5, Y5 \
	VPMOVMSKB Y5, R12       \
	SHLQ      $32, R12      \
	ORQ       R12, AX

#define BOTH16x32 \
	VPACKSSDW Y4, Y3, Y3  \
	VPACKSSDW Y6, Y5, Y5  \
	VPACKSSWB Y5, Y3, Y3  \
	VPERMD    Y3, Y14, Y3 \
	VPMOVMSKB Y3, AX

#define BOTH8x64 \
	VPACKSSDW Y4, Y3, Y3  \
	VPACKSSDW Y6, Y5, Y5  \
	VPACKSSDW Y5, Y3, Y3  \
	VPERMD    Y3, Y14, Y3 \
	VPACKSSWB Y3, Y3, Y3  \
	VPMOVMSKB Y3, AX

// CHOOSE sets DX to minus 1 minus the number of the bit of the cell to write: AX has the
// matching cells and, behind, the empty ones, and the first of them is taken, or else the
// victim, for which R10 collects a bit. If there is no victim either, the number is 64.
#define CHOOSE(CMP) \
	CMP     AX, $1               \
	ADCQ    R8, R8               \
	CMPQ    AX, $1               \
	CMOVQCS VICTIM(SI)(CX*8), AX \
	ADCQ    R10, R10             \
	TZCNTQ  AX, DX               \
	NOTQ    DX

// PUT stores the line with the pattern in that cell. It stores all of it: the address of
// a store must be known early, or later lines are not loaded until then.
#define PUT(SIZE) \
	VMOVDQU   SIZE(R13)(DX*SIZE), Y6      \
	VMOVDQU   (SIZE+32)(R13)(DX*SIZE), Y7 \
	VPBLENDVB Y6, Y2, Y0, Y0              \
	VPBLENDVB Y7, Y2, Y1, Y1              \
	VMOVDQU   Y0, (BX)                    \
	VMOVDQU   Y1, 32(BX)

// MOVE moves the cells of SIZE bytes on by one, and the pattern in front, and
// stores all but the last AX of them. R13 points to the masks.
#define MOVE(SIZE) \
	VMOVDQU    (R13)(AX*SIZE), Y6     \
	VMOVDQU    32(R13)(AX*SIZE), Y7   \
	VINSERTI128 $1, X0, Y2, Y3        \
	VPERM2I128 $0x21, Y1, Y0, Y4      \
	VPALIGNR   $(16-SIZE), Y3, Y0, Y3 \
	VPALIGNR   $(16-SIZE), Y4, Y1, Y4 \
	VPBLENDVB  Y6, Y3, Y0, Y0         \
	VPBLENDVB  Y7, Y4, Y1, Y1         \
	VMOVDQU    Y0, (BX)               \
	VMOVDQU    Y1, 32(BX)

// KERNEL is the three loops over lines of CELLS cells of SIZE bytes: COMPARE compares
// cells, BITS and BOTH are the macros for the cells, CMP compares the cell LAST and
// CMPBITS a register of CELLS bits; CELL is the address of 64 bytes with a cell set, the
// one of bit 0. All loops except the first leave in AX the number of cells that stay in
// place, at the end of the line.
#define KERNEL(CELLS, SIZE, COMPARE, BITS, BOTH, CMPBITS, CMP, LAST, CELL) \
	VPXOR   Y15, Y15, Y15           \
	VMOVDQU packedOrder<>(SB), Y14  \
	LEAQ    lineMasks<>(SB), R13    \
	BRANCH                          \
	LEAQ    CELL, R13               \
random:                                 \
	LINE(COMPARE)                   \
	COMPARE Y15, Y0, Y5             \
	COMPARE Y15, Y1, Y6             \
	BOTH                            \
	CHOOSE(CMPBITS)                 \
	PUT(SIZE)                       \
	NEXT(random)                    \
	NOTQ    R10                     \
	END                             \
lru:                                    \
	LINE(COMPARE)                   \
	BITS                            \
	LASTEMPTY(CMP, LAST)            \
	CMPL    AX, $1                  \
	ADCQ    R8, R8                  \
	ORL     $(1<<(CELLS-1)), AX     \
	TZCNTL  AX, AX                  \
	XORL    $(CELLS-1), AX          \
	MOVE(SIZE)                      \
	NEXT(lru)                       \
	END                             \
queue:                                  \
	LINE(COMPARE)                   \
	BITS                            \
	LASTEMPTY(CMP, LAST)            \
	CMPL    AX, $1                  \
	ADCQ    R8, R8                  \
	XORL    AX, AX                  \
	MOVE(SIZE)                      \
	NEXT(queue)                     \
	ENDALL

// Ones, then zeros: from byte 64-n on, the first n bytes of a line are set.
DATA lineMasks<>+0(SB)/8, $-1
DATA lineMasks<>+8(SB)/8, $-1
DATA lineMasks<>+16(SB)/8, $-1
DATA lineMasks<>+24(SB)/8, $-1
DATA lineMasks<>+32(SB)/8, $-1
DATA lineMasks<>+40(SB)/8, $-1
DATA lineMasks<>+48(SB)/8, $-1
DATA lineMasks<>+56(SB)/8, $-1
GLOBL lineMasks<>(SB), RODATA|NOPTR, $128

// For cells of 16, 32 and 64 bits, from 64*SIZE on, 64 bytes with cell 0 set. The 64
// bytes that begin SIZE bytes earlier have the next cell set, and after the last one the
// first again, for all possible bits. The 64 bytes that begin 64 cells earlier have none
// set.
DATA cell16<>+64(SB)/8, $0xffff
DATA cell16<>+128(SB)/8, $0xffff
GLOBL cell16<>(SB), RODATA|NOPTR, $192
DATA cell32<>+192(SB)/8, $0xffffffff
DATA cell32<>+256(SB)/8, $0xffffffff
GLOBL cell32<>(SB), RODATA|NOPTR, $320
DATA cell64<>+384(SB)/8, $-1
DATA cell64<>+448(SB)/8, $-1
DATA cell64<>+512(SB)/8, $-1
GLOBL cell64<>(SB), RODATA|NOPTR, $576

// The numbers of the four bytes of a packed register that come first, then next.
DATA packedOrder<>+0(SB)/8, $0x0000000400000000
DATA packedOrder<>+8(SB)/8, $0x0000000500000001
DATA packedOrder<>+16(SB)/8, $0x0000000600000002
DATA packedOrder<>+24(SB)/8, $0x0000000700000003
GLOBL packedOrder<>(SB), RODATA|NOPTR, $32

// func lines32x16AVX2(lines *[8]uint64, current, ahead *batch, n int, eviction Eviction) (missed, filled uint64)
TEXT ·lines32x16AVX2(SB), NOSPLIT, $0-56
	BEGIN
	KERNEL(32, 2, VPCMPEQW, BITS32x16, BOTH32x16, CMPL, CMPW, 62(BX), cell16<>+128(SB))

// func lines16x32AVX2(lines *[8]uint64, current, ahead *batch, n int, eviction Eviction) (missed, filled uint64)
TEXT ·lines16x32AVX2(SB), NOSPLIT, $0-56
	BEGIN
	KERNEL(16, 4, VPCMPEQD, BITS16x32, BOTH16x32, CMPW, CMPL, 60(BX), cell32<>+256(SB))

// func lines8x64AVX2(lines *[8]uint64, current, ahead *batch, n int, eviction Eviction) (missed, filled uint64)
TEXT ·lines8x64AVX2(SB), NOSPLIT, $0-56
	BEGIN
	KERNEL(8, 8, VPCMPEQQ, BITS8x64, BOTH8x64, CMPB, CMPQ, 56(BX), cell64<>+512(SB))

// func fingerprintAVX2(b *batch, groups int, geometry *rowGeometry, victims bool)
//
// Four elements at a time, in the way of fingerprintAVX512. Y11 has the top bits, Y12
// minus 1.
TEXT ·fingerprintAVX2(SB), NOSPLIT, $0-25
	MOVQ b+0(FP), DI
	MOVQ groups+8(FP), CX
	MOVQ geometry+16(FP), AX
	MOVBLZX victims+24(FP), R8
	VBROADCASTI128 rowGeometry_spread(AX), Y8
	VPBROADCASTQ rowGeometry_top(AX), Y9
	VMOVQ rowGeometry_choose(AX), X13
	VMOVQ rowGeometry_spacing(AX), X10
	VMOVQ rowGeometry_width(AX), X14
	MOVQ  $64, DX
	SUBQ  rowGeometry_width(AX), DX
	VMOVQ DX, X15
	VPCMPEQQ Y12, Y12, Y12
	VPSLLQ $63, Y12, Y11

group:
	VMOVDQU batch_low(DI), Y0
	VPSRLQ X15, Y0, Y1
	VPSLLQ X14, Y0, Y2
	VPXOR  Y11, Y0, Y0
	VPXOR  Y11, Y2, Y2
	VPCMPGTQ Y2, Y0, Y2
	VPADDQ Y2, Y1, Y1
	VPSUBQ Y12, Y1, Y1
	VPSHUFB Y8, Y1, Y1
	VMOVDQU Y1, PATTERN(DI)
	TESTL R8, R8
	JZ    next
	VMOVDQU batch_random(DI), Y0
	VPSRLQ  X13, Y0, Y0
	VPSLLQ  X10, Y0, Y0
	VPSLLVQ Y0, Y9, Y0
	VMOVDQU Y0, VICTIM(DI)

next:
	ADDQ $32, DI
	DECQ CX
	JNZ  group
	VZEROUPPER
	RET
