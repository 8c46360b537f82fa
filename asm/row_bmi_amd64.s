//go:build amd64 && !purego

#include "textflag.h"
#include "row_amd64.h"

// Fingerprint rows that are words, a word a general register (BMI1 and BMI2): what
// the plain kernels do, with a prefetch. Registers are those of row_amd64.h; AX is
// the word, R12 the top bits of its cells and R13 minus their lowest bits.

// MATCH makes DX a word whose lowest bit is the top bit of the first cell that
// matches, or 0 if none does.
#define MATCH \
	ADDRESS                        \
	MOVQ  (BX), AX                 \
	MOVQ  PATTERN(SI)(CX*8), DX    \
	XORQ  AX, DX                   \
	LEAQ  (DX)(R13*1), R15         \
	ANDNQ R15, DX, DX              \
	ANDQ  R12, DX

// FILLED counts the element if none matches and the last cell is empty.
#define FILLED(WIDTH) \
	MOVQ AX, R15          \
	SHRQ $(64-WIDTH), R15 \
	ORQ  DX, R15          \
	CMPQ R15, $1          \
	ADCQ $0, R10

// FRONT makes DX the bits of the cells from the front to the first that matches,
// or of all.
#define FRONT \
	CMPQ    DX, $1  \
	RCRQ    $1, R8  \
	BTSQ    $63, DX \
	BLSMSKQ DX, DX

// ALL makes DX no bits if a cell matches, else all.
#define ALL \
	CMPQ DX, $1 \
	SBBQ DX, DX \
	RCRQ $1, R8

// MOVE moves all cells on by one, puts the fingerprint in front, stores the bits
// in DX of that and the other ones as they were.
#define MOVE(WIDTH, MOVZX, LOOP) \
	MOVZX PATTERN(SI)(CX*8), R15 \
	XORQ  AX, R15                \
	MOVQ  AX, R14                \
	SHLQ  $WIDTH, R14            \
	XORQ  R14, R15               \
	ANDQ  DX, R15                \
	XORQ  R15, AX                \
	MOVQ  AX, (BX)               \
	LOOPTO(LOOP)

// CHOOSE makes DX the bits of the cell that is written: the one that matches, or
// the first empty one, or the victim.
#define CHOOSE(WIDTH, LOGWIDTH) \
	CMPQ     DX, $1                \
	SBBQ     R14, R14              \
	RCRQ     $1, R8                \
	LEAQ     (AX)(R13*1), R15      \
	ANDNQ    R15, AX, R15          \
	ANDQ     R12, R15              \
	ANDQ     R15, R14              \
	NEGQ     R14                   \
	ADCQ     $0, R10               \
	TESTQ    DX, DX                \
	CMOVQNE  DX, R15               \
	MOVQ     VICTIM(SI)(CX*8), R14 \
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

// PUT stores the pattern in the bits in DX.
#define PUT(LOOP) \
	MOVQ PATTERN(SI)(CX*8), R15 \
	XORQ AX, R15                \
	ANDQ DX, R15                \
	XORQ R15, AX                \
	MOVQ AX, (BX)               \
	LOOPTO(LOOP)

// func words8x8BMI(lines *[8]uint64, block, next *rowBlock, n int, eviction Eviction) (found, filled uint64)
TEXT ·words8x8BMI(SB), NOSPLIT, $0-56
	BEGIN
	MOVQ $0x8080808080808080, R12
	MOVQ $-0x0101010101010101, R13
	CMPL AX, $1
	JEQ  fifo
	JGT  lru

random:
	MATCH
	CHOOSE(8, 3)
	PUT(random)
	END

fifo:
	MATCH
	FILLED(8)
	ALL
	MOVE(8, MOVBQZX, fifo)
	END

lru:
	MATCH
	FILLED(8)
	FRONT
	MOVE(8, MOVBQZX, lru)
	END

// func words4x16BMI(lines *[8]uint64, block, next *rowBlock, n int, eviction Eviction) (found, filled uint64)
TEXT ·words4x16BMI(SB), NOSPLIT, $0-56
	BEGIN
	MOVQ $0x8000800080008000, R12
	MOVQ $-0x0001000100010001, R13
	CMPL AX, $1
	JEQ  fifo
	JGT  lru

random:
	MATCH
	CHOOSE(16, 4)
	PUT(random)
	END

fifo:
	MATCH
	FILLED(16)
	ALL
	MOVE(16, MOVWQZX, fifo)
	END

lru:
	MATCH
	FILLED(16)
	FRONT
	MOVE(16, MOVWQZX, lru)
	END
