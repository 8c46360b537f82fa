// What the kernels for fingerprint rows have in common. A block is done in two
// halves. While one is looked up, the rows of the next half are fetched, which is 32
// elements ahead: farther ahead, lines leave the first cache before their turn.
//
// DI is the first line. SI and R9 are the ends of this half and of the next one,
// and CX is minus the number of elements that are left of this one, so that it
// counts up to 0. R11 is the number of elements of the second half, then 0. R8
// collects the elements that were not found, and R10 those whose row had an empty cell
// before (in some loops with random evictions, whose row had none): each bit is shifted
// in from below (ADC doubles and adds the carry), so the first element ends up highest.

// Where a lineBlock has patterns and victims, once it has them.
#define PATTERN lineBlock_low
#define VICTIM lineBlock_draw

// BEGIN leaves the eviction in AX.
#define BEGIN \
	BEGINHALVES                 \
	MOVBLZX eviction+32(FP), AX

// BEGINHALVES is BEGIN for kernels of other lines, whose blocks have the same layout.
#define BEGINHALVES \
	MOVQ lines+0(FP), DI        \
	MOVQ block+8(FP), SI        \
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

// END returns R8 and those of its elements that R10 has, whose row had an empty cell.
#define END \
	ANDQ R8, R10 \
	ENDALL

// ENDALL returns R8 and R10.
#define ENDALL \
	MOVQ R8, missed+40(FP)  \
	MOVQ R10, filled+48(FP) \
	VZEROUPPER              \
	RET
