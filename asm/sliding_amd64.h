// What the kernels for sliding rows have in common, beside common_amd64.h. R15 is the end of
// this half of before. R8 collects the elements that have a cell in the end.

// BEGINSLIDING makes R15, and Y or Z register MASK the bits of cells that are compared.
#define BEGINSLIDING(MASK) \
	BEGINHALVES                \
	MOVQ before+32(FP), R15    \
	MOVQ CX, AX                \
	ADDQ AX, AX                \
	SUBQ AX, R15               \
	MOVQ $-0x8000, AX          \
	MOVQ AX, X1                \
	VPBROADCASTQ X1, MASK

// CHOOSECELL makes DX the cell of an element: the one that matches, of which AX has a bit,
// or else the first empty one, of which DX has a bit. It goes to FULL if there is none.
#define CHOOSECELL(FULL) \
	SHLL   $8, DX                \
	LEAL   0x10000(AX)(DX*1), AX \
	TZCNTL AX, DX                \
	CMPL   DX, $16               \
	JCC    FULL                  \
	ADCQ   R8, R8                \
	ANDL   $7, DX

// LATER writes what the cell held before, and makes R13 what it holds from now on: the later
// one of both dates. A cell that was empty has no bit above that of a date.
#define LATER \
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

// FULLSLIDING is where an element finds no cell.
#define FULLSLIDING(LOOP) \
	ADDQ R8, R8          \
	MOVW $0, (R15)(CX*2) \
	NEXTSLIDING(LOOP)
