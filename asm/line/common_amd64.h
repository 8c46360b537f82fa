// SPDX-License-Identifier: Apache-2.0

// The common part of the kernels of lines, mostly of fingerprint rows. A batch is done in
// two halves. While one is looked up, the rows of the next half are fetched, which is 32
// elements ahead: farther ahead, lines leave the first cache before their turn.
//
// DI is the first line. SI and R9 are the ends of this half and of the next one, and CX
// is minus the number of elements left of this one, so that it counts up to 0. R11 is the
// number of elements of the second half, then 0. R8 collects the elements that were not
// found, and R10 the elements whose row had an empty cell before (in some loops with
// random evictions, whose row had none): each bit is shifted in from below (ADC doubles
// and adds the carry), so the first element ends up highest.

// The places of a batch's patterns and victims, once it has them.
#define PATTERN batch_low
#define VICTIM batch_random

// BEGIN leaves the eviction in AX.
#define BEGIN \
	BEGINHALVES                 \
	MOVBLZX eviction+32(FP), AX

// BEGINHALVES is BEGIN for kernels of other lines, whose batches have the same layout.
#define BEGINHALVES \
	MOVQ lines+0(FP), DI        \
	MOVQ current+8(FP), SI        \
	MOVQ n+24(FP), R11          \
	MOVL $32, CX                \
	CMPQ R11, CX                \
	CMOVQLT R11, CX             \
	SUBQ CX, R11                \
	LEAQ (SI)(CX*8), SI         \
	LEAQ 256(SI), R9            \
	NEGQ CX                     \
	XORL R8, R8                 \
	XORL R10, R10

// BRANCH goes to the loop of the eviction, random being the next one.
#define BRANCH \
	CMPL AX, $1 \
	JEQ  lru    \
	JGT  queue

// FETCH fetches the row of an element of the next half and makes BX the offset of
// this element's row.
#define FETCH \
	MOVQ (R9)(CX*8), AX   \
	PREFETCHT0 (DI)(AX*1) \
	MOVQ (SI)(CX*8), BX

// LASTEMPTY collects whether CELL, the row's last one, is 0.
#define LASTEMPTY(CMP, CELL) \
	CMP  CELL, $1 \
	ADCQ R10, R10

// NEXT goes on with the next element of this half, and then with the second half.
#define NEXT(LOOP) \
	INCQ CX              \
	JNE  LOOP            \
	HALF(LOOP)

// HALF goes on with the second half, if there is one.
#define HALF(LOOP) \
	LEAQ (SI)(R11*8), SI  \
	MOVQ ahead+16(FP), R9 \
	LEAQ (R9)(R11*8), R9  \
	MOVQ R11, CX          \
	XORL R11, R11         \
	NEGQ CX               \
	JNE  LOOP

// END returns R8, and the elements of R8 in R10, whose row had an empty cell.
#define END \
	ANDQ R8, R10 \
	ENDALL

// ENDALL returns R8 and R10.
#define ENDALL \
	MOVQ R8, missed+40(FP)  \
	MOVQ R10, filled+48(FP) \
	VZEROUPPER              \
	RET

// BEGINTIMED is BEGINHALVES for timed rows: R15 is the end of this half of the
// timedBatch, R13 of its bytes, and R14 is the timedTable.
#define BEGINTIMED \
	BEGINHALVES                   \
	MOVQ b+32(FP), R15            \
	LEAQ timedBatch_found(R15), R13 \
	SUBQ CX, R13                  \
	MOVQ CX, DX                   \
	SHLQ $3, DX                   \
	SUBQ DX, R15                  \
	MOVQ ·timedTables(SB), R14

// The common part of the kernels for cells. Registers are as above, except that R8
// collects the elements that are found; R12 and R13 are the masks of runs after missed
// and after found elements.

// BEGINCELLS leaves the rule in DX.
#define BEGINCELLS \
	BEGINHALVES                 \
	MOVQ r+32(FP), DX           \
	LEAQ CellRule_run(DX), R12  \
	LEAQ const_cellWindows(R12), R13

// JUDGECELL sets DX to the masks of runs, by the cells that are not zero in FILLED and
// the element's own in OWN: it is found if none of these is missing, which sets the
// carry.
#define JUDGECELL(OWN, FILLED) \
	VPTEST  OWN, FILLED \
	MOVQ    R12, DX     \
	CMOVQCS R13, DX     \
	ADCQ    R8, R8

// ENDCELLS returns the elements that are found, and AX, the growth of the number of cells
// that are not zero.
#define ENDCELLS \
	VZEROUPPER              \
	MOVQ R8, found+40(FP)   \
	MOVQ AX, filled+48(FP)  \
	RET

// The common part of the kernels for sliding rows. R15 is the end of this half of before.
// R8 collects the elements that have a cell in the end.

// BEGINSLIDING makes R15, and sets Y or Z register MASK to the bits of cells that are
// compared.
#define BEGINSLIDING(MASK) \
	BEGINHALVES                \
	MOVQ before+32(FP), R15    \
	MOVQ CX, AX                \
	ADDQ AX, AX                \
	SUBQ AX, R15               \
	MOVQ $-0x8000, AX          \
	MOVQ AX, X1                \
	VPBROADCASTQ X1, MASK

// CHOOSECELL sets DX to the cell of an element: the one that matches, marked in AX, or
// else the first empty one, marked in DX. It goes to FULL if there is none.
#define CHOOSECELL(FULL) \
	SHLL   $8, DX                \
	LEAL   0x10000(AX)(DX*1), AX \
	TZCNTL AX, DX                \
	CMPL   DX, $16               \
	JCC    FULL                  \
	ADCQ   R8, R8                \
	ANDL   $7, DX

// LATERDATE writes the previous content of the cell, and sets R13 to the new one: with
// the later of both dates. A cell that was empty has no bit above a date's bits.
#define LATERDATE \
	MOVQ    (BX)(DX*8), R12         \
	MOVQ    PATTERN(SI)(CX*8), R13  \
	MOVW    R12, (R15)(CX*2)        \
	MOVQ    R13, R14                \
	SUBQ    R12, R14                \
	MOVQ    R12, AX                 \
	SHRQ    $1, AX                  \
	ANDQ    AX, R14                 \
	TESTL   $0x4000, R14            \
	CMOVQNE R12, R13

// NEXTSLIDING goes on with the next element.
#define NEXTSLIDING(LOOP) \
	INCQ CX                \
	JNE  LOOP              \
	LEAQ (R15)(R11*2), R15 \
	HALF(LOOP)             \
	MOVQ R8, held+40(FP)   \
	VZEROUPPER             \
	RET

// FULLSLIDING handles an element that finds no cell.
#define FULLSLIDING(LOOP) \
	ADDQ R8, R8          \
	MOVW $0, (R15)(CX*2) \
	NEXTSLIDING(LOOP)
