//go:build amd64 && !purego

#include "textflag.h"
#include "row_amd64.h"

// Fingerprint rows that are words, a word a general register (BMI1 and BMI2): what
// the plain kernels do, with a prefetch. Registers are those of row_amd64.h; AX is
// the word, R12 the top bits of its cells and R13 minus their lowest bits.

// MATCH makes DX a word whose lowest bit is the top bit of the first cell that
// matches, or 0 if none does.
#define MATCH \
	FETCH                       \
	MOVQ  (DI)(BX*1), AX        \
	MOVQ  PATTERN(SI)(CX*8), DX \
	XORQ  AX, DX                \
	LEAQ  (DX)(R13*1), R15      \
	ANDNQ R15, DX, DX           \
	ANDQ  R12, DX

// FRONT makes DX the bits of the cells from the front to the first that matches,
// or of all.
#define FRONT \
	CMPQ    DX, $1  \
	ADCQ    R8, R8  \
	BTSQ    $63, DX \
	BLSMSKQ DX, DX

// ALL makes DX no bits if a cell matches, else all.
#define ALL \
	CMPQ DX, $1 \
	SBBQ DX, DX \
	ADCQ R8, R8

// MOVE makes R15 the word with all cells moved on by one and the fingerprint in
// front. MOV stores a cell in the lowest bits of a register.
#define MOVE(WIDTH, MOV) \
	MOVQ AX, R15               \
	SHLQ $WIDTH, R15           \
	MOV  PATTERN(SI)(CX*8), R15

// CHOOSE makes DX the bits of the cell that is written: the one that matches, or
// the first empty one, or the victim.
#define CHOOSE(WIDTH, LOGWIDTH) \
	LEAQ     (AX)(R13*1), R15      \
	ANDNQ    R15, AX, R15          \
	ANDQ     R12, R15              \
	MOVQ     R15, R14              \
	NEGQ     R14                   \
	ADCQ     R10, R10               \
	CMPQ     DX, $1                \
	ADCQ     R8, R8                \
	TESTQ    DX, DX                \
	CMOVQNE  DX, R15               \
	TZCNTQ   VICTIM(SI)(CX*8), R14 \
	SHLQ     $LOGWIDTH, R14        \
	ADDQ     $(WIDTH-1), R14       \
	XORL     DX, DX                \
	BTSQ     R14, DX               \
	TESTQ    R15, R15              \
	CMOVQEQ  DX, R15               \
	BLSIQ    R15, R15              \
	LEAQ     (R15)(R15*1), DX      \
	SHRQ     $(WIDTH-1), R15       \
	SUBQ     R15, DX

// STORE stores the bits of R15 that DX has, and the others as they were, and goes on
// to the next element.
#define STORE(LOOP) \
	XORQ AX, R15         \
	ANDQ DX, R15         \
	XORQ AX, R15         \
	MOVQ R15, (DI)(BX*1) \
	INCQ CX              \
	JNE  LOOP

// func words8x8BMI(lines *[8]uint64, block, next *rowBlock, n int, eviction Eviction) (missed, filled uint64)
TEXT ·words8x8BMI(SB), NOSPLIT, $0-56
	BEGIN
	MOVQ $0x8080808080808080, R12
	MOVQ $-0x0101010101010101, R13
	CMPL AX, $1
	JEQ  fifo
	CMPL AX, $2
	JEQ  lru
	JGT  queue

random:
	MATCH
	CHOOSE(8, 3)
	MOVQ PATTERN(SI)(CX*8), R15
	STORE(random)
	HALF(random)
	END

fifo:
	MATCH
	LASTEMPTY(CMPB, 7)
	ALL
	MOVE(8, MOVB)
	STORE(fifo)
	HALF(fifo)
	END

lru:
	MATCH
	LASTEMPTY(CMPB, 7)
	FRONT
	MOVE(8, MOVB)
	STORE(lru)
	HALF(lru)
	END

queue:
	MATCH
	LASTEMPTY(CMPB, 7)
	MISS(CMPQ, DX)
	MOVE(8, MOVB)
	MOVQ R15, (DI)(BX*1)
	INCQ CX
	JNE  queue
	HALF(queue)
	ENDALL

// func words4x16BMI(lines *[8]uint64, block, next *rowBlock, n int, eviction Eviction) (missed, filled uint64)
TEXT ·words4x16BMI(SB), NOSPLIT, $0-56
	BEGIN
	MOVQ $0x8000800080008000, R12
	MOVQ $-0x0001000100010001, R13
	CMPL AX, $1
	JEQ  fifo
	CMPL AX, $2
	JEQ  lru
	JGT  queue

random:
	MATCH
	CHOOSE(16, 4)
	MOVQ PATTERN(SI)(CX*8), R15
	STORE(random)
	HALF(random)
	END

fifo:
	MATCH
	LASTEMPTY(CMPW, 6)
	ALL
	MOVE(16, MOVW)
	STORE(fifo)
	HALF(fifo)
	END

lru:
	MATCH
	LASTEMPTY(CMPW, 6)
	FRONT
	MOVE(16, MOVW)
	STORE(lru)
	HALF(lru)
	END

queue:
	MATCH
	LASTEMPTY(CMPW, 6)
	MISS(CMPQ, DX)
	MOVE(16, MOVW)
	MOVQ R15, (DI)(BX*1)
	INCQ CX
	JNE  queue
	HALF(queue)
	ENDALL
