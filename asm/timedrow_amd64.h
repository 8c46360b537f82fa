// What the kernels for timed rows have in common, beside what row_amd64.h says: R15 is
// the timedBlock's end of this half, R14 what timedMoves has. R8 collects the copies, R13
// the elements that no cell has, R12 those in whose time the last cell is within the window,
// R10 those before which the last cell is empty.

#define START \
	MOVQ lines+0(FP), DI    \
	MOVQ block+8(FP), SI    \
	MOVQ n+24(FP), R11      \
	MOVQ b+32(FP), R15      \
	MOVL $32, CX            \
	CMPQ R11, CX            \
	CMOVQLT R11, CX         \
	SUBQ CX, R11            \
	LEAQ (SI)(CX*8), SI     \
	LEAQ (R15)(CX*8), R15   \
	LEAQ 256(SI), R9        \
	NEGQ CX                 \
	LEAQ ·timedMoves(SB), R14 \
	XORL R8, R8             \
	XORL R10, R10           \
	XORL R12, R12           \
	XORL R13, R13

