// What the kernels for fingerprint rows have in common. DI is the first line. SI
// and R9 are the ends of what is used of the block and of the next one, and CX is
// minus the number of elements that are left, so that it counts up to 0. R8
// collects the elements that were not found, and R10 those whose row had an empty
// cell before: each bit is shifted in from below (ADC doubles and adds the carry),
// so the first element ends up highest.

// Where a rowBlock has its patterns and victims.
#define PATTERN 512
#define VICTIM 1024

// BEGIN leaves the eviction in AX.
#define BEGIN \
	MOVQ lines+0(FP), DI        \
	MOVQ block+8(FP), SI        \
	MOVQ next+16(FP), R9        \
	MOVQ n+24(FP), CX           \
	MOVBLZX eviction+32(FP), AX \
	LEAQ (SI)(CX*8), SI        \
	LEAQ (R9)(CX*8), R9        \
	NEGQ CX                     \
	XORL R8, R8                 \
	XORL R10, R10

// FETCH fetches the row of the next block's element and makes BX the offset of
// this element's row.
#define FETCH \
	MOVQ (R9)(CX*8), AX   \
	PREFETCHT0 (DI)(AX*1) \
	MOVQ (SI)(CX*8), BX

// LASTEMPTY collects whether the row's last cell is 0, AT bytes behind its first.
#define LASTEMPTY(CMP, AT) \
	CMP  AT(DI)(BX*1), $1 \
	ADCQ R10, R10

// END returns R8, and the number of those whose row had an empty cell.
#define END \
	ANDQ    R8, R10            \
	POPCNTQ R10, R10           \
	MOVQ    R8, missed+40(FP)  \
	MOVQ    R10, filled+48(FP) \
	RET
