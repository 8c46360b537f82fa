//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "row_amd64.h"
#include "draw_amd64.h"

// Fingerprint rows, a row a register (AVX-512 F, BW, DQ, VL; BMI1 and BMI2 for
// scalars). Registers are those of row_amd64.h.
// LINE loads the line of this element to Z0, its pattern to Z1.
#define LINE \
	FETCH                               \
	VMOVDQU64 (DI)(BX*1), Z0            \
	VPBROADCASTQ PATTERN(SI)(CX*8), Z1

// FRONT makes AX, the cells that match, the cells from the front to the first of
// them, or all of them where TOP is the last one.
#define FRONT(TOP) \
	CMPL    AX, $1   \
	ADCQ    R8, R8   \
	ORL     $TOP, AX \
	BLSMSKL AX, AX

// ALL makes AX no cells if one matches, else all.
#define ALL \
	CMPL AX, $1 \
	SBBL AX, AX \
	ADCQ R8, R8

// CHOOSE makes AX the cell that is written: the one that matches, or the first
// empty one, which DX has, or the victim.
#define CHOOSE \
	MOVL    DX, R12                   \
	NEGL    R12                       \
	CMOVLEQ VICTIM(SI)(CX*8), DX      \
	ADCQ    R10, R10                  \
	CMPL    AX, $1                    \
	CMOVLCS DX, AX                    \
	ADCQ    R8, R8                    \
	BLSIL   AX, AX

// WORD loads the word of this element to the lower half of X0, its pattern to
// both halves of X1. No cell of the upper half matches, as no pattern is 0 there.
#define WORD \
	FETCH                               \
	VMOVQ (DI)(BX*1), X0                \
	VPBROADCASTQ PATTERN(SI)(CX*8), X1

// STORE stores the row and goes on to the next element.
#define STORE(MOV, ROW, LOOP) \
	MOV ROW, (DI)(BX*1) \
	INCQ CX                  \
	JNE  LOOP

// The cells of a line after a move of all by one: cell 32 is that of the pattern.
DATA moveWords<>+0(SB)/8, $0x0002000100000020
DATA moveWords<>+8(SB)/8, $0x0006000500040003
DATA moveWords<>+16(SB)/8, $0x000a000900080007
DATA moveWords<>+24(SB)/8, $0x000e000d000c000b
DATA moveWords<>+32(SB)/8, $0x001200110010000f
DATA moveWords<>+40(SB)/8, $0x0016001500140013
DATA moveWords<>+48(SB)/8, $0x001a001900180017
DATA moveWords<>+56(SB)/8, $0x001e001d001c001b
GLOBL moveWords<>(SB), RODATA|NOPTR, $64

// The same of a word, with cell 8 for that of the pattern.
DATA moveHalf<>+0(SB)/8, $0x0002000100000008
DATA moveHalf<>+8(SB)/8, $0x0006000500040003
GLOBL moveHalf<>(SB), RODATA|NOPTR, $16

// func words8x8AVX512(lines *[8]uint64, block, next *rowBlock, n int, eviction Eviction) (missed, filled uint64)
TEXT ·words8x8AVX512(SB), NOSPLIT, $0-56
	BEGIN
	CMPL AX, $1
	JEQ  fifo
	CMPL AX, $2
	JEQ  lru
	JGT  queue

random:
	WORD
	VPCMPEQB  X1, X0, K1
	VPTESTNMB X0, X0, K2
	KMOVB     K1, AX
	KMOVB     K2, DX
	CHOOSE
	KMOVB     AX, K1
	VMOVDQU8  X1, K1, X0
	STORE(VMOVQ, X0, random)
	HALF(random)
	VZEROUPPER
	END

fifo:
	WORD
	VPCMPEQB X1, X0, K1
	KMOVB    K1, AX
	LASTEMPTY(CMPB, 7)
	ALL
	KMOVB    AX, K1
	VPALIGNR $15, X1, X0, K1, X0
	STORE(VMOVQ, X0, fifo)
	HALF(fifo)
	VZEROUPPER
	END

lru:
	WORD
	VPCMPEQB X1, X0, K1
	KMOVB    K1, AX
	LASTEMPTY(CMPB, 7)
	FRONT(0x80)
	KMOVB    AX, K1
	VPALIGNR $15, X1, X0, K1, X0
	STORE(VMOVQ, X0, lru)
	HALF(lru)
	VZEROUPPER
	END

queue:
	WORD
	VPCMPEQB X1, X0, K1
	KMOVB    K1, AX
	LASTEMPTY(CMPB, 7)
	MISS(CMPL, AX)
	VPALIGNR $15, X1, X0, X0
	STORE(VMOVQ, X0, queue)
	HALF(queue)
	VZEROUPPER
	ENDALL

// func words4x16AVX512(lines *[8]uint64, block, next *rowBlock, n int, eviction Eviction) (missed, filled uint64)
//
// K3 leaves out the upper half, whose cells look empty.
TEXT ·words4x16AVX512(SB), NOSPLIT, $0-56
	BEGIN
	VMOVDQU moveHalf<>(SB), X2
	CMPL AX, $1
	JEQ  fifo
	CMPL AX, $2
	JEQ  lru
	JGT  queue
	MOVL $0xf, DX
	KMOVB DX, K3

random:
	WORD
	VPCMPEQW  X1, X0, K1
	VPTESTNMW X0, X0, K3, K2
	KMOVB     K1, AX
	KMOVB     K2, DX
	CHOOSE
	KMOVB     AX, K1
	VMOVDQU16 X1, K1, X0
	STORE(VMOVQ, X0, random)
	HALF(random)
	VZEROUPPER
	END

fifo:
	WORD
	VPCMPEQW X1, X0, K1
	KMOVB    K1, AX
	LASTEMPTY(CMPW, 6)
	ALL
	KMOVB    AX, K1
	VPERMT2W X1, X2, K1, X0
	STORE(VMOVQ, X0, fifo)
	HALF(fifo)
	VZEROUPPER
	END

lru:
	WORD
	VPCMPEQW X1, X0, K1
	KMOVB    K1, AX
	LASTEMPTY(CMPW, 6)
	FRONT(0x8)
	KMOVB    AX, K1
	VPERMT2W X1, X2, K1, X0
	STORE(VMOVQ, X0, lru)
	HALF(lru)
	VZEROUPPER
	END

queue:
	WORD
	VPCMPEQW X1, X0, K1
	KMOVB    K1, AX
	LASTEMPTY(CMPW, 6)
	MISS(CMPL, AX)
	VPERMT2W X1, X2, X0
	STORE(VMOVQ, X0, queue)
	HALF(queue)
	VZEROUPPER
	ENDALL

// func lines32x16AVX512(lines *[8]uint64, block, next *rowBlock, n int, eviction Eviction) (missed, filled uint64)
TEXT ·lines32x16AVX512(SB), NOSPLIT, $0-56
	BEGIN
	VMOVDQU64 moveWords<>(SB), Z2
	CMPL AX, $1
	JEQ  fifo
	CMPL AX, $2
	JEQ  lru
	JGT  queue

random:
	LINE
	VPCMPEQW   Z1, Z0, K1
	VPTESTNMW  Z0, Z0, K2
	KMOVD      K1, AX
	KMOVD      K2, DX
	CHOOSE
	KMOVD      AX, K1
	VMOVDQU16  Z1, K1, Z0
	STORE(VMOVDQU64, Z0, random)
	HALF(random)
	VZEROUPPER
	END

fifo:
	LINE
	VPCMPEQW Z1, Z0, K1
	KMOVD    K1, AX
	LASTEMPTY(CMPW, 62)
	ALL
	KMOVD    AX, K1
	VPERMT2W Z1, Z2, K1, Z0
	STORE(VMOVDQU64, Z0, fifo)
	HALF(fifo)
	VZEROUPPER
	END

lru:
	LINE
	VPCMPEQW Z1, Z0, K1
	KMOVD    K1, AX
	LASTEMPTY(CMPW, 62)
	FRONT(0x80000000)
	KMOVD    AX, K1
	VPERMT2W Z1, Z2, K1, Z0
	STORE(VMOVDQU64, Z0, lru)
	HALF(lru)
	VZEROUPPER
	END

queue:
	LINE
	VPCMPEQW Z1, Z0, K1
	KMOVD    K1, AX
	LASTEMPTY(CMPW, 62)
	MISS(CMPL, AX)
	VPERMT2W Z1, Z2, Z0
	STORE(VMOVDQU64, Z0, queue)
	HALF(queue)
	VZEROUPPER
	ENDALL

// func lines16x32AVX512(lines *[8]uint64, block, next *rowBlock, n int, eviction Eviction) (missed, filled uint64)
TEXT ·lines16x32AVX512(SB), NOSPLIT, $0-56
	BEGIN
	CMPL AX, $1
	JEQ  fifo
	CMPL AX, $2
	JEQ  lru
	JGT  queue

random:
	LINE
	VPCMPEQD   Z1, Z0, K1
	VPTESTNMD  Z0, Z0, K2
	KMOVW      K1, AX
	KMOVW      K2, DX
	CHOOSE
	KMOVW      AX, K1
	VMOVDQU32  Z1, K1, Z0
	STORE(VMOVDQU64, Z0, random)
	HALF(random)
	VZEROUPPER
	END

fifo:
	LINE
	VPCMPEQD Z1, Z0, K1
	KMOVW    K1, AX
	LASTEMPTY(CMPL, 60)
	ALL
	KMOVW    AX, K1
	VALIGND  $15, Z1, Z0, K1, Z0
	STORE(VMOVDQU64, Z0, fifo)
	HALF(fifo)
	VZEROUPPER
	END

lru:
	LINE
	VPCMPEQD Z1, Z0, K1
	KMOVW    K1, AX
	LASTEMPTY(CMPL, 60)
	FRONT(0x8000)
	KMOVW    AX, K1
	VALIGND  $15, Z1, Z0, K1, Z0
	STORE(VMOVDQU64, Z0, lru)
	HALF(lru)
	VZEROUPPER
	END

queue:
	LINE
	VPCMPEQD Z1, Z0, K1
	KMOVW    K1, AX
	LASTEMPTY(CMPL, 60)
	MISS(CMPL, AX)
	VALIGND  $15, Z1, Z0, Z0
	STORE(VMOVDQU64, Z0, queue)
	HALF(queue)
	VZEROUPPER
	ENDALL

// func lines8x64AVX512(lines *[8]uint64, block, next *rowBlock, n int, eviction Eviction) (missed, filled uint64)
TEXT ·lines8x64AVX512(SB), NOSPLIT, $0-56
	BEGIN
	CMPL AX, $1
	JEQ  fifo
	CMPL AX, $2
	JEQ  lru
	JGT  queue

random:
	LINE
	VPCMPEQQ   Z1, Z0, K1
	VPTESTNMQ  Z0, Z0, K2
	KMOVB      K1, AX
	KMOVB      K2, DX
	CHOOSE
	KMOVB      AX, K1
	VMOVDQU64  Z1, K1, Z0
	STORE(VMOVDQU64, Z0, random)
	HALF(random)
	VZEROUPPER
	END

fifo:
	LINE
	VPCMPEQQ Z1, Z0, K1
	KMOVB    K1, AX
	LASTEMPTY(CMPQ, 56)
	ALL
	KMOVB    AX, K1
	VALIGNQ  $7, Z1, Z0, K1, Z0
	STORE(VMOVDQU64, Z0, fifo)
	HALF(fifo)
	VZEROUPPER
	END

lru:
	LINE
	VPCMPEQQ Z1, Z0, K1
	KMOVB    K1, AX
	LASTEMPTY(CMPQ, 56)
	FRONT(0x80)
	KMOVB    AX, K1
	VALIGNQ  $7, Z1, Z0, K1, Z0
	STORE(VMOVDQU64, Z0, lru)
	HALF(lru)
	VZEROUPPER
	END

queue:
	LINE
	VPCMPEQQ Z1, Z0, K1
	KMOVB    K1, AX
	LASTEMPTY(CMPQ, 56)
	MISS(CMPL, AX)
	VALIGNQ  $7, Z1, Z0, Z0
	STORE(VMOVDQU64, Z0, queue)
	HALF(queue)
	VZEROUPPER
	ENDALL

// The numbers in two registers of the digests' elements 0 and 1.
DATA evenWords<>+0(SB)/8, $0
DATA evenWords<>+8(SB)/8, $2
DATA evenWords<>+16(SB)/8, $4
DATA evenWords<>+24(SB)/8, $6
DATA evenWords<>+32(SB)/8, $8
DATA evenWords<>+40(SB)/8, $10
DATA evenWords<>+48(SB)/8, $12
DATA evenWords<>+56(SB)/8, $14
GLOBL evenWords<>(SB), RODATA|NOPTR, $64

// func chooseVictimsAVX512(block *rowBlock, digests *Digest, groups int, position uint64, order *uint32, shift int)
//
// Eight elements at a time, in rows of 2^(64-shift) cells.
TEXT ·chooseVictimsAVX512(SB), NOSPLIT, $0-48
	MOVQ block+0(FP), DI
	MOVQ digests+8(FP), SI
	MOVQ groups+16(FP), CX
	VPBROADCASTQ position+24(FP), Z3
	MOVQ order+32(FP), R8
	VMOVQ shift+40(FP), X10
	VMOVDQU64 evenWords<>(SB), Z8
	VPSRLQ $1, Z8, Z4
	MOVQ $const_drawStep, AX
	VPBROADCASTQ AX, Z11
	MOVQ $const_drawMix, AX
	VPBROADCASTQ AX, Z12
	MOVL $1, AX
	VPBROADCASTQ AX, Z13
	MOVL $8, AX
	VPBROADCASTQ AX, Z14

group:
	TESTQ R8, R8
	JZ    consecutive
	VPMOVZXDQ (R8), Z4
	ADDQ $32, R8

consecutive:
	VPADDQ    Z3, Z4, Z5
	VPADDQ    Z14, Z4, Z4
	VMOVDQU64 (SI), Z0
	VPERMT2Q  64(SI), Z8, Z0
	DRAW512(Z0, Z5, Z11, Z12)
	VPSRLQ    X10, Z0, Z0
	VPSLLVQ   Z0, Z13, Z0
	VMOVDQU64 Z0, VICTIM(DI)
	ADDQ $128, SI
	ADDQ $64, DI
	DECQ CX
	JNZ  group
	VZEROUPPER
	RET

// func locateRowsAVX512(block *rowBlock, digests *Digest, groups int, geometry *rowGeometry)
//
// Eight elements at a time, for up to 2^32 - 1 rows. With h and l the halves of
// element 1 of a digest, the row is (h*rows + l*rows>>32) >> 32. With d its
// element 0, the fingerprint is (d*2^w - d) / 2^64 + 1, which is d >> (64-w), and
// one more unless the subtraction borrows.
TEXT ·locateRowsAVX512(SB), NOSPLIT, $0-32
	MOVQ block+0(FP), DI
	MOVQ digests+8(FP), SI
	MOVQ groups+16(FP), CX
	MOVQ geometry+24(FP), AX
	VPBROADCASTQ (AX), Z10
	VMOVQ 8(AX), X11
	VMOVQ 16(AX), X12
	VPBROADCASTQ 24(AX), Z14
	MOVQ  $64, DX
	SUBQ  16(AX), DX
	VMOVQ DX, X13
	MOVL  $1, DX
	VPBROADCASTQ DX, Z15
	VMOVDQU64 evenWords<>(SB), Z8
	VPADDQ    Z15, Z8, Z9

group:
	VMOVDQU64 (SI), Z0
	VMOVDQU64 64(SI), Z1
	VMOVDQA64 Z0, Z2
	VPERMT2Q  Z1, Z8, Z2
	VPERMT2Q  Z1, Z9, Z0
	VPSRLQ    $32, Z0, Z3
	VPMULUDQ  Z10, Z0, Z0
	VPMULUDQ  Z10, Z3, Z3
	VPSRLQ    $32, Z0, Z0
	VPADDQ    Z3, Z0, Z0
	VPSRLQ    $32, Z0, Z0
	VPSLLQ    X11, Z0, Z0
	VMOVDQU64 Z0, (DI)
	VPSRLQ    X13, Z2, Z3
	VPSLLQ    X12, Z2, Z4
	VPCMPUQ   $5, Z2, Z4, K1
	VPADDQ    Z15, Z3, K1, Z3
	VPMULLQ   Z14, Z3, Z3
	VMOVDQU64 Z3, PATTERN(DI)
	ADDQ $128, SI
	ADDQ $64, DI
	DECQ CX
	JNZ  group
	VZEROUPPER
	RET
