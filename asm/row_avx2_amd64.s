//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "row_amd64.h"
#include "draw_amd64.h"

// Fingerprint rows that are lines, a line two registers (AVX2; BMI1 and BMI2 for
// scalars). Registers are those of row_amd64.h.

// LINE loads the line of this element to Y0 and Y1, its pattern to Y2, and sets
// the cells of Y3 and Y4 that match.
#define LINE(COMPARE) \
	FETCH                               \
	VMOVDQU (DI)(BX*1), Y0              \
	VMOVDQU 32(DI)(BX*1), Y1            \
	VPBROADCASTQ PATTERN(SI)(CX*8), Y2  \
	COMPARE Y2, Y0, Y3                  \
	COMPARE Y2, Y1, Y4

// EMPTY sets the cells of Y3 and Y4 that are empty. Y15 is 0.
#define EMPTY(COMPARE) \
	COMPARE Y15, Y0, Y3 \
	COMPARE Y15, Y1, Y4

// BITSW, BITSD and BITSQ make R the cells that are set in Y3 and Y4, a bit each.
#define BITSW(R) \
	VPACKSSWB Y4, Y3, Y3   \
	VPERMQ    $0xd8, Y3, Y3 \
	VPMOVMSKB Y3, R

#define BITSD(R) \
	VMOVMSKPS Y3, R   \
	VMOVMSKPS Y4, R12 \
	SHLL      $8, R12 \
	ORL       R12, R

#define BITSQ(R) \
	VMOVMSKPD Y3, R   \
	VMOVMSKPD Y4, R12 \
	SHLL      $4, R12 \
	ORL       R12, R

// FRONT makes AX, the cells that match, the number of cells behind the first of
// them, 0 if there is none. TOP is the last cell and LAST its number, which is of
// ones only.
#define FRONT(TOP, LAST) \
	CMPL   AX, $1    \
	ADCQ   R8, R8    \
	ORL    $TOP, AX  \
	TZCNTL AX, AX    \
	XORL   $LAST, AX

// MOVE moves the cells of SIZE bytes on by one, and the pattern in front, and
// stores all but the last AX of them. R13 points to the masks.
#define MOVE(SIZE, LOOP) \
	VMOVDQU    (R13)(AX*SIZE), Y6      \
	VMOVDQU    32(R13)(AX*SIZE), Y7    \
	VINSERTI128 $1, X0, Y2, Y3         \
	VPERM2I128 $0x21, Y1, Y0, Y4       \
	VPALIGNR   $(16-SIZE), Y3, Y0, Y3  \
	VPALIGNR   $(16-SIZE), Y4, Y1, Y4  \
	VPBLENDVB  Y6, Y3, Y0, Y0          \
	VPBLENDVB  Y7, Y4, Y1, Y1          \
	VMOVDQU    Y0, (DI)(BX*1)          \
	VMOVDQU    Y1, 32(DI)(BX*1)        \
	INCQ       CX                      \
	JNE        LOOP

// ALL makes AX, the cells that match, the number of cells behind those that move:
// none, or all if one matches.
#define ALL(CELLS) \
	CMPL AX, $1      \
	ADCQ R8, R8      \
	NEGL AX          \
	SBBL AX, AX      \
	ANDL $CELLS, AX

// CHOOSE makes DX the number of the cell that is written: of the one that matches
// (AX), or the first empty one (DX), or the victim, and BX its row's address.
#define CHOOSE \
	MOVL    DX, R12              \
	NEGL    R12                  \
	CMOVLEQ VICTIM(SI)(CX*8), DX \
	ADCQ    R10, R10             \
	CMPL    AX, $1               \
	CMOVLCS DX, AX               \
	ADCQ    R8, R8               \
	TZCNTL  AX, DX               \
	ADDQ    DI, BX

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

// func lines32x16AVX2(lines *[8]uint64, block, next *rowBlock, n int, eviction Eviction) (missed, filled uint64)
TEXT ·lines32x16AVX2(SB), NOSPLIT, $0-56
	BEGIN
	LEAQ  lineMasks<>(SB), R13
	VPXOR Y15, Y15, Y15
	CMPL  AX, $1
	JEQ   fifo
	CMPL  AX, $2
	JEQ   lru
	JGT   queue

random:
	LINE(VPCMPEQW)
	BITSW(AX)
	EMPTY(VPCMPEQW)
	BITSW(DX)
	CHOOSE
	MOVQ PATTERN(SI)(CX*8), AX
	MOVW AX, (BX)(DX*2)
	INCQ CX
	JNE  random
	HALF(random)
	VZEROUPPER
	END

fifo:
	LINE(VPCMPEQW)
	BITSW(AX)
	LASTEMPTY(CMPW, 62)
	ALL(32)
	MOVE(2, fifo)
	HALF(fifo)
	VZEROUPPER
	END

lru:
	LINE(VPCMPEQW)
	BITSW(AX)
	LASTEMPTY(CMPW, 62)
	FRONT(0x80000000, 31)
	MOVE(2, lru)
	HALF(lru)
	VZEROUPPER
	END

queue:
	LINE(VPCMPEQW)
	BITSW(AX)
	LASTEMPTY(CMPW, 62)
	MISS(CMPL, AX)
	XORL AX, AX
	MOVE(2, queue)
	HALF(queue)
	VZEROUPPER
	ENDALL

// func lines16x32AVX2(lines *[8]uint64, block, next *rowBlock, n int, eviction Eviction) (missed, filled uint64)
TEXT ·lines16x32AVX2(SB), NOSPLIT, $0-56
	BEGIN
	LEAQ  lineMasks<>(SB), R13
	VPXOR Y15, Y15, Y15
	CMPL  AX, $1
	JEQ   fifo
	CMPL  AX, $2
	JEQ   lru
	JGT   queue

random:
	LINE(VPCMPEQD)
	BITSD(AX)
	EMPTY(VPCMPEQD)
	BITSD(DX)
	CHOOSE
	MOVQ PATTERN(SI)(CX*8), AX
	MOVL AX, (BX)(DX*4)
	INCQ CX
	JNE  random
	HALF(random)
	VZEROUPPER
	END

fifo:
	LINE(VPCMPEQD)
	BITSD(AX)
	LASTEMPTY(CMPL, 60)
	ALL(16)
	MOVE(4, fifo)
	HALF(fifo)
	VZEROUPPER
	END

lru:
	LINE(VPCMPEQD)
	BITSD(AX)
	LASTEMPTY(CMPL, 60)
	FRONT(0x8000, 15)
	MOVE(4, lru)
	HALF(lru)
	VZEROUPPER
	END

queue:
	LINE(VPCMPEQD)
	BITSD(AX)
	LASTEMPTY(CMPL, 60)
	MISS(CMPL, AX)
	XORL AX, AX
	MOVE(4, queue)
	HALF(queue)
	VZEROUPPER
	ENDALL

// func lines8x64AVX2(lines *[8]uint64, block, next *rowBlock, n int, eviction Eviction) (missed, filled uint64)
TEXT ·lines8x64AVX2(SB), NOSPLIT, $0-56
	BEGIN
	LEAQ  lineMasks<>(SB), R13
	VPXOR Y15, Y15, Y15
	CMPL  AX, $1
	JEQ   fifo
	CMPL  AX, $2
	JEQ   lru
	JGT   queue

random:
	LINE(VPCMPEQQ)
	BITSQ(AX)
	EMPTY(VPCMPEQQ)
	BITSQ(DX)
	CHOOSE
	MOVQ PATTERN(SI)(CX*8), AX
	MOVQ AX, (BX)(DX*8)
	INCQ CX
	JNE  random
	HALF(random)
	VZEROUPPER
	END

fifo:
	LINE(VPCMPEQQ)
	BITSQ(AX)
	LASTEMPTY(CMPQ, 56)
	ALL(8)
	MOVE(8, fifo)
	HALF(fifo)
	VZEROUPPER
	END

lru:
	LINE(VPCMPEQQ)
	BITSQ(AX)
	LASTEMPTY(CMPQ, 56)
	FRONT(0x80, 7)
	MOVE(8, lru)
	HALF(lru)
	VZEROUPPER
	END

queue:
	LINE(VPCMPEQQ)
	BITSQ(AX)
	LASTEMPTY(CMPQ, 56)
	MISS(CMPL, AX)
	XORL AX, AX
	MOVE(8, queue)
	HALF(queue)
	VZEROUPPER
	ENDALL

// func locateRowsAVX2(block *rowBlock, digests *Digest, groups int, geometry *rowGeometry)
//
// Four elements at a time, in the way of locateRowsAVX512. Y8 is the number of
// rows, Y9 and Y10 the low and high halves of ones, Y11 the top bits, Y12 minus 1.
TEXT ·locateRowsAVX2(SB), NOSPLIT, $0-32
	MOVQ block+0(FP), DI
	MOVQ digests+8(FP), SI
	MOVQ groups+16(FP), CX
	MOVQ geometry+24(FP), AX
	VPBROADCASTQ (AX), Y8
	VMOVQ 8(AX), X13
	VMOVQ 16(AX), X14
	VPBROADCASTQ 24(AX), Y9
	VPSRLQ $32, Y9, Y10
	MOVQ  $64, DX
	SUBQ  16(AX), DX
	VMOVQ DX, X15
	VPCMPEQQ Y12, Y12, Y12
	VPSLLQ $63, Y12, Y11

group:
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	VPUNPCKHQDQ Y1, Y0, Y2
	VPUNPCKLQDQ Y1, Y0, Y3
	VPERMQ $0xd8, Y2, Y2
	VPERMQ $0xd8, Y3, Y3
	VPSRLQ $32, Y2, Y4
	VPMULUDQ Y8, Y2, Y2
	VPMULUDQ Y8, Y4, Y4
	VPSRLQ $32, Y2, Y2
	VPADDQ Y4, Y2, Y2
	VPSRLQ $32, Y2, Y2
	VPSLLQ X13, Y2, Y2
	VMOVDQU Y2, (DI)
	VPSRLQ X15, Y3, Y4
	VPSLLQ X14, Y3, Y5
	VPXOR  Y11, Y3, Y3
	VPXOR  Y11, Y5, Y5
	VPCMPGTQ Y5, Y3, Y5
	VPADDQ Y5, Y4, Y4
	VPSUBQ Y12, Y4, Y4
	PRODUCT256(Y9, Y10, Y4)
	VMOVDQU Y4, PATTERN(DI)
	ADDQ $64, SI
	ADDQ $32, DI
	DECQ CX
	JNZ  group
	VZEROUPPER
	RET

DATA firstFour<>+0(SB)/8, $0
DATA firstFour<>+8(SB)/8, $1
DATA firstFour<>+16(SB)/8, $2
DATA firstFour<>+24(SB)/8, $3
GLOBL firstFour<>(SB), RODATA|NOPTR, $32

// func chooseVictimsAVX2(block *rowBlock, digests *Digest, groups int, position uint64, order *uint32, shift int)
//
// Four elements at a time, in the way of chooseVictimsAVX512. Y8 and Y9 are one
// factor and its upper half, Y10 and Y11 the other, Y4 is where elements are behind
// the position, Y7 that position, Y13 one and Y14 four.
TEXT ·chooseVictimsAVX2(SB), NOSPLIT, $0-48
	MOVQ block+0(FP), DI
	MOVQ digests+8(FP), SI
	MOVQ groups+16(FP), CX
	VPBROADCASTQ position+24(FP), Y7
	MOVQ order+32(FP), R8
	VMOVQ shift+40(FP), X12
	VMOVDQU firstFour<>(SB), Y4
	MOVQ $const_drawStep, AX
	VMOVQ AX, X8
	VPBROADCASTQ X8, Y8
	VPSRLQ $32, Y8, Y9
	MOVQ $const_drawMix, AX
	VMOVQ AX, X10
	VPBROADCASTQ X10, Y10
	VPSRLQ $32, Y10, Y11
	VPCMPEQQ Y13, Y13, Y13
	VPSRLQ $63, Y13, Y13
	VPSLLQ $2, Y13, Y14

group:
	TESTQ R8, R8
	JZ    consecutive
	VPMOVZXDQ (R8), Y4
	ADDQ $16, R8

consecutive:
	VPADDQ  Y7, Y4, Y0
	VPADDQ  Y14, Y4, Y4
	VMOVDQU (SI), Y1
	VPUNPCKLQDQ 32(SI), Y1, Y1
	VPERMQ  $0xd8, Y1, Y1
	DRAW256(Y1, Y0, Y8, Y9, Y10, Y11)
	VPSRLQ  X12, Y1, Y0
	VPSLLVQ Y0, Y13, Y0
	VMOVDQU Y0, VICTIM(DI)
	ADDQ $64, SI
	ADDQ $32, DI
	DECQ CX
	JNZ  group
	VZEROUPPER
	RET
