// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "common_amd64.h"

// Fingerprint rows that are words, a word a general register (BMI1 and BMI2): the
// algorithm of the plain kernels, with a prefetch. Registers are as in common_amd64.h; AX
// is the word, R12 the top bits of its cells and R13 minus their lowest bits.

// MATCH sets DX to the differences to the pattern, and R15 to a word whose lowest bit is
// the top bit of the first cell without a difference, or to 0.
#define MATCH \
	FETCH                       \
	MOVQ  (DI)(BX*1), AX        \
	MOVQ  PATTERN(SI)(CX*8), DX \
	XORQ  AX, DX                \
	LEAQ  (DX)(R13*1), R15      \
	ANDNQ R15, DX, R15          \
	ANDQ  R12, R15

// CHOOSE sets R14 to the bits of the cell to write: the one that matches, or the first
// empty one, or the victim. R10 collects the elements that take the victim.
#define CHOOSE(WIDTH) \
	LEAQ    (AX)(R13*1), R14      \
	ANDNQ   R14, AX, R14          \
	ANDQ    R12, R14              \
	CMPQ    R15, $1               \
	CMOVQCS R14, R15              \
	ADCQ    R8, R8                \
	CMPQ    R15, $1               \
	CMOVQCS VICTIM(SI)(CX*8), R15 \
	ADCQ    R10, R10              \
	BLSIQ   R15, R15              \
	LEAQ    (R15)(R15*1), R14     \
	SHRQ    $(WIDTH-1), R15       \
	SUBQ    R15, R14

// MOVED sets DX to the word with all cells moved on by one and the fingerprint in front.
// MOV stores a cell in the lowest bits of a register.
#define MOVED(WIDTH, MOV) \
	MOVQ AX, DX                \
	SHLQ $WIDTH, DX            \
	MOV  PATTERN(SI)(CX*8), DX

// STORE stores the word with those changes of DX that lie in BITS.
#define STORE(BITS) \
	ANDQ BITS, DX       \
	XORQ AX, DX         \
	MOVQ DX, (DI)(BX*1)

// KERNEL is the three loops over words of cells of WIDTH bits. The loops begin at
// multiples of 32 bytes, so that no jump back crosses such a border: many Intel cores do
// not keep a crossing jump in their cache of decoded instructions ("Mitigations for Jump
// Conditional Code Erratum", 2019), which costs these loops 7 %.
#define KERNEL(WIDTH, TOPS, ONES, MOV, CMP, LAST) \
	MOVQ $TOPS, R12               \
	MOVQ $-ONES, R13              \
	BRANCH                        \
	PCALIGN $32                   \
random:                               \
	MATCH                         \
	CHOOSE(WIDTH)                 \
	STORE(R14)                    \
	NEXT(random)                  \
	NOTQ R10                      \
	END                           \
	PCALIGN $32                   \
lru:                                  \
	MATCH                         \
	LASTEMPTY(CMP, LAST)          \
	BLSMSKQ R15, R15              \
	ADCQ R8, R8                   \
	MOVED(WIDTH, MOV)             \
	XORQ AX, DX                   \
	STORE(R15)                    \
	NEXT(lru)                     \
	END                           \
	PCALIGN $32                   \
queue:                                \
	MATCH                         \
	LASTEMPTY(CMP, LAST)          \
	CMPQ R15, $1                  \
	ADCQ R8, R8                   \
	MOVED(WIDTH, MOV)             \
	MOVQ DX, (DI)(BX*1)           \
	NEXT(queue)                   \
	ENDALL

// func words8x8AVX2(lines *[8]uint64, current, ahead *batch, n int, eviction Eviction) (missed, filled uint64)
TEXT ·words8x8AVX2(SB), NOSPLIT, $0-56
	BEGIN
	KERNEL(8, 0x8080808080808080, 0x0101010101010101, MOVB, CMPB, 7(DI)(BX*1))

// func words4x16AVX2(lines *[8]uint64, current, ahead *batch, n int, eviction Eviction) (missed, filled uint64)
TEXT ·words4x16AVX2(SB), NOSPLIT, $0-56
	BEGIN
	KERNEL(16, 0x8000800080008000, 0x0001000100010001, MOVW, CMPW, 6(DI)(BX*1))
