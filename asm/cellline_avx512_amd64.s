//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "cellline_amd64.h"

// Cell lines (AVX-512): a line is one register. A slot has the lines, the first
// cells of the runs, and the cells of each part. Registers beside those of
// cellline_amd64.h:
//
//	R10 the rule             Z31 the lowest bits of all cells   Z30 Max in all cells
//	DI  the element's words  Z29 count of cells that are not zero, and
//	CX  elements left of the group                              for each element all cells of a line
//	Z24, Z23, Z22 multipliers and shift of random numbers

#define ARGUMENTS \
	RINGBASE(ring-RING(SP))                            \
	MOVQ r+56(FP), R10                                 \
	VPBROADCASTQ CellRule_low(R10), Z31                \
	VPBROADCASTQ CellRule_max(R10), Z30                \
	VPBROADCASTQ CellRule_randomShift(R10), Z22        \
	MOVQ $const_cellSpread, AX                         \
	VPBROADCASTQ AX, Z24                               \
	MOVQ $const_cellMix, AX                            \
	VPBROADCASTQ AX, Z23                               \
	VPXORQ Z29, Z29, Z29

// PREPARE fills the slot of the group whose first element is number AX.
#define PREPARE(PART) \
	LOCATE                                             \
	MOVQ positions+32(FP), DX                          \
	VMOVDQU64.Z (DX)(AX*8), K4, Z5                     \
	VPMULLQ Z24, Z5, Z5                                \
	VPXORQ Z4, Z5, Z5                                  \
	VPSRLQ $32, Z5, Z6                                 \
	VPXORQ Z6, Z5, Z5                                  \
	VPMULLQ Z23, Z5, Z5                                \
	VPSRLQ $32, Z5, Z6                                 \
	VPXORQ Z6, Z5, Z5                                  \
	VPMULLQ Z23, Z5, Z5                                \
	VPSRLVQ Z22, Z5, Z5                                \
	VMOVDQA64 Z5, 64(BX)                               \
	MOVQ salts+48(FP), SI                              \
	LEAQ CellRule_parts(R10), DI                       \
	MOVQ cellParts_k(DI), CX                           \
PART:                                                  \
	CELL(cellParts_size(DI), cellParts_start(DI))      \
	VMOVDQA64 Z6, 128(BX)                              \
	ADDQ $8, SI                                        \
	ADDQ $8, DI                                        \
	ADDQ $64, BX                                       \
	DECQ CX                                            \
	JNZ  PART

// ADDCELL adds the element's cell in part J to its mask, if there is such a part.
#define ADDCELL(J, DONE) \
	CMPQ (CellRule_parts+cellParts_k)(R10), $J         \
	JEQ  DONE                                          \
	MOVQ (128+64*J)(DI), AX                            \
	VPORQ CellRule_set(R10)(AX*1), Z1, Z1

// MASK loads the element's line to Z0 and makes Z1 the mask of its cells.
#define MASK(DONE) \
	MOVQ (DI), DX                                      \
	VMOVDQU64 (DX), Z0                                 \
	MOVQ 128(DI), AX                                   \
	VMOVDQU64 CellRule_set(R10)(AX*1), Z1              \
	ADDCELL(1, DONE)                                   \
	ADDCELL(2, DONE)                                   \
	ADDCELL(3, DONE)                                   \
	ADDCELL(4, DONE)                                   \
	ADDCELL(5, DONE)                                   \
	ADDCELL(6, DONE)                                   \
	ADDCELL(7, DONE)                                   \
DONE:

// UPDATE has the lowest bits of the cells that are zero in Z2. The element is seen if
// none is its own, which decides on the run that loses one. It leaves the new line
// in Z0 and stores it.
#define UPDATE \
	VPTESTMQ Z1, Z2, K1                                \
	MOVQ 64(DI), AX                                    \
	LEAQ CellRule_miss(R10)(AX*1), SI                  \
	LEAQ CellRule_hit(R10)(AX*1), AX                   \
	XORL BX, BX                                        \
	KORTESTB K1, K1                                    \
	CMOVQEQ AX, SI                                     \
	CMOVQEQ R13, BX                                    \
	ORQ  BX, R11                                       \
	VPANDNQ (SI), Z2, Z3                               \
	VPSUBQ Z3, Z0, Z0                                  \
	VPTERNLOGQ $0xb8, Z30, Z1, Z0                      \
	VMOVDQU64 Z0, (DX)

// ZERO2 makes Z2 the lowest bits of the cells of Z0 that are zero, COUNT2 adds to
// Z29 the number of those in Z2 and of the cells of Z0 that are not zero, which it
// marks in their highest bits.
#define ZERO2 \
	VPSRLQ $1, Z0, Z2                                  \
	VPTERNLOGQ $0x02, Z31, Z0, Z2

#define COUNT2 \
	VPADDQ Z0, Z0, Z4                                  \
	VPTERNLOGQ $0x54, Z31, Z0, Z4                      \
	VPORQ Z2, Z4, Z4                                   \
	VPOPCNTQ Z4, Z4                                    \
	VPADDQ Z4, Z29, Z29

#define ZERO4 \
	VPSRLQ $1, Z0, Z2                                  \
	VPORQ Z0, Z2, Z2                                   \
	VPSRLQ $2, Z2, Z3                                  \
	VPTERNLOGQ $0x02, Z31, Z3, Z2

#define COUNT4 \
	VPADDQ Z0, Z0, Z4                                  \
	VPORQ Z0, Z4, Z4                                   \
	VPSLLQ $2, Z4, Z3                                  \
	VPTERNLOGQ $0xa8, Z21, Z3, Z4                      \
	VPORQ Z2, Z4, Z4                                   \
	VPOPCNTQ Z4, Z4                                    \
	VPADDQ Z4, Z29, Z29

// KERNEL is the loop over all elements of lines with 2^LOGCELLS cells.
#define KERNEL(ZERO, COUNT, LOGCELLS) \
group:                                                 \
	MOVQ R8, AX                                        \
	SHLQ $3, AX                                        \
	MOVQ n+40(FP), CX                                  \
	SUBQ AX, CX                                        \
	JLE  take                                          \
	MOVL R8, DX                                        \
	SLOTOF(DX)                                         \
	PREPARE(part)                                      \
take:                                                  \
	LEAQ -AHEAD(R8), DI                                \
	INCQ R8                                            \
	TESTQ DI, DI                                       \
	JLT  group                                         \
	MOVQ DI, AX                                        \
	SHLQ $3, AX                                        \
	MOVQ n+40(FP), CX                                  \
	SUBQ AX, CX                                        \
	JLE  done                                          \
	MOVL $8, AX                                        \
	CMPQ CX, AX                                        \
	CMOVQGT AX, CX                                     \
	SLOTOF(DI)                                         \
	MOVQ BX, DI                                        \
element:                                               \
	MASK(masked)                                       \
	ZERO                                               \
	UPDATE                                             \
	COUNT                                              \
	ADDQ $8, DI                                        \
	SHLQ $1, R13                                       \
	DECQ CX                                            \
	JNZ  element                                       \
	TESTQ R13, R13                                     \
	JNZ  group                                         \
	MOVQ R11, (R9)                                     \
	ADDQ $8, R9                                        \
	XORL R11, R11                                      \
	MOVL $1, R13                                       \
	JMP  group                                         \
done:                                                  \
	CMPQ R13, $1                                       \
	JEQ  counts                                        \
	MOVQ R11, (R9)                                     \
counts:                                                \
	SUM(X29, Y29, Z29, AX)                             \
	MOVQ n+40(FP), DX                                  \
	SHLQ $LOGCELLS, DX                                 \
	SUBQ DX, AX                                        \
	MOVQ c+64(FP), DX                                  \
	ADDQ AX, CellCounts_NonZero(DX)                    \
	VZEROUPPER                                         \
	RET

// func testAndSetCells2AVX512(lines *[8]uint64, count int, seen *uint64, digests *Digest, positions *uint64, n int, salts *uint64, r *CellRule, c *CellCounts)
TEXT ·testAndSetCells2AVX512(SB), 0, $5184-72
	ARGUMENTS
	KERNEL(ZERO2, COUNT2, 8)

// func testAndSetCells4AVX512(lines *[8]uint64, count int, seen *uint64, digests *Digest, positions *uint64, n int, salts *uint64, r *CellRule, c *CellCounts)
TEXT ·testAndSetCells4AVX512(SB), 0, $5184-72
	ARGUMENTS
	VPSLLQ $3, Z31, Z21
	KERNEL(ZERO4, COUNT4, 7)
