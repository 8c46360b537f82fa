// The loop of kernels over a block of elements. It is done in two halves. While one
// is looked up, the lines of the next half are fetched, which is 32 elements ahead:
// farther ahead, lines leave the first cache before their turn.
//
// DI is the first line. SI and R9 are the ends of this half and of the next one,
// and CX is minus the number of elements that are left of this one, so that it
// counts up to 0. R11 is the number of elements of the second half, then 0. R8
// collects the elements that were not found: each bit is shifted in from below (ADC
// doubles and adds the carry), so the first element ends up highest. R10 is 0, for
// what the kernel counts.

#define BLOCK \
	MOVQ lines+0(FP), DI  \
	MOVQ block+8(FP), SI  \
	MOVQ n+24(FP), R11    \
	MOVL $32, CX          \
	CMPQ R11, CX          \
	CMOVQLT R11, CX       \
	SUBQ CX, R11          \
	LEAQ (SI)(CX*8), SI   \
	LEAQ 256(SI), R9      \
	NEGQ CX               \
	XORL R8, R8           \
	XORL R10, R10

// FETCH fetches the line of an element of the next half and makes BX the offset of
// this element's line.
#define FETCH \
	MOVQ (R9)(CX*8), AX   \
	PREFETCHT0 (DI)(AX*1) \
	MOVQ (SI)(CX*8), BX

// HALF goes on with the second half, if there is one.
#define HALF(LOOP) \
	LEAQ (SI)(R11*8), SI \
	MOVQ next+16(FP), R9 \
	LEAQ (R9)(R11*8), R9 \
	MOVQ R11, CX         \
	XORL R11, R11        \
	NEGQ CX              \
	JNE  LOOP
