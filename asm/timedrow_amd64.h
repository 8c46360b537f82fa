// What the kernels for timed rows have in common, beside what row_amd64.h says: R15 is
// the end of this half of the timedBlock, R13 of its bytes, and R14 is the timedTable.

#define START \
	MOVQ lines+0(FP), DI                  \
	MOVQ block+8(FP), SI                  \
	MOVQ n+24(FP), R11                    \
	MOVQ b+32(FP), R15                    \
	MOVL $32, CX                          \
	CMPQ R11, CX                          \
	CMOVQLT R11, CX                       \
	SUBQ CX, R11                          \
	LEAQ timedBlock_found(R15)(CX*1), R13 \
	LEAQ (SI)(CX*8), SI                   \
	LEAQ (R15)(CX*8), R15                 \
	LEAQ 256(SI), R9                      \
	NEGQ CX                               \
	MOVQ ·timedTables(SB), R14
