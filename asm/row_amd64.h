// What the kernels for fingerprint rows have in common. DI is the first line, SI
// the block, R9 the next block, CX the element's number and R11 how many there are.
// R8 collects the elements that were not found: each is rotated in from the
// top, so after 64 of them the first one is bit 0. R10 counts the cells that were
// filled.

// Where a rowBlock has its patterns and victims.
#define PATTERN 512
#define VICTIM 1024

// BEGIN leaves the eviction in AX.
#define BEGIN \
	MOVQ lines+0(FP), DI     \
	MOVQ block+8(FP), SI     \
	MOVQ next+16(FP), R9     \
	MOVQ n+24(FP), R11       \
	MOVBLZX eviction+32(FP), AX \
	XORL CX, CX              \
	XORL R8, R8              \
	XORL R10, R10

// ADDRESS fetches the row of the next block's element and makes BX the address of
// this element's row.
#define ADDRESS \
	MOVQ (R9)(CX*8), AX   \
	PREFETCHT0 (DI)(AX*1) \
	MOVQ (SI)(CX*8), BX   \
	ADDQ DI, BX

// LOOPTO goes on to the next element.
#define LOOPTO(LOOP) \
	INCQ CX      \
	CMPQ CX, R11 \
	JNE  LOOP

// END returns the bits of the elements that were found: R8 has the others in its
// top R11 bits.
#define END \
	NOTQ  R8                 \
	NEGQ  R11                \
	SHRXQ R11, R8, R8        \
	MOVQ  R8, found+40(FP)   \
	MOVQ  R10, filled+48(FP) \
	RET
