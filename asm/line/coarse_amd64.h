// What the kernels of coarse rows have in common. BP is the coarseRule and BX the line's
// address. R8 collects the elements near their cell, R10 those that are found, R13 those
// whose cell is empty: each bit is shifted in from below.

#define BEGINCOARSE \
	BEGINHALVES         \
	MOVQ r+32(FP), BP   \
	XORL R13, R13

// CLOCK sets R12 to the new clock of the line, R14 to how late the element is, and R15 to
// how much the cells age.
#define CLOCK \
	FETCH                                 \
	ADDQ  DI, BX                          \
	MOVL  60(BX), R12                     \
	MOVL  (batch_low+4)(SI)(CX*8), DX     \
	MOVL  R12, R14                        \
	SUBL  DX, R14                         \
	MOVL  DX, R15                         \
	SUBL  R12, R15                        \
	XORL  AX, AX                          \
	CMPL  R15, coarseRule_old(BP)         \
	CMOVLHI coarseRule_old(BP), R15       \
	CMPL  R14, coarseRule_latest(BP)      \
	CMOVLHI DX, R12                       \
	CMOVLHI AX, R14                       \
	CMOVLLS AX, R15

// JUDGECOARSE takes the cells that have the fingerprint in AX. It sets AX to the number of
// the cell that goes, DX to its age, and R15 to ones if that is near the element.
#define JUDGECOARSE \
	MOVL  AX, DX                          \
	NEGL  DX                              \
	ADCQ  R10, R10                        \
	ORL   $0x4000, AX                     \
	TZCNTL AX, AX                         \
	MOVL  (BX)(AX*4), DX                  \
	CMPL  DX, $0x100                      \
	ADCQ  R13, R13                        \
	MOVBLZX DX, DX                        \
	ADDL  R15, DX                         \
	CMPL  DX, coarseRule_old(BP)          \
	CMOVLHI coarseRule_old(BP), DX        \
	MOVL  DX, R15                         \
	SUBL  R14, R15                        \
	ADDL  coarseRule_window(BP), R15      \
	CMPL  R15, coarseRule_above(BP)       \
	SBBL  R15, R15                        \
	ADCQ  R8, R8

// KEEPCOARSE makes a copy move no cell: none is before number -1. It negates the number.
#define KEEPCOARSE \
	ANDL  R10, R15    \
	ANDL  $1, R15     \
	NEGL  R15         \
	ORL   R15, AX     \
	MOVLQSX AX, AX    \
	NEGQ  AX

// RENEWCOARSE gives a copy the later one of both times in R14. It negates the number of
// the cell.
#define RENEWCOARSE \
	CMPL  DX, R14     \
	CMOVLHI R14, DX   \
	ANDL  R10, R15    \
	TESTL $1, R15     \
	CMOVLNE DX, R14   \
	NEGQ  AX

#define ENDCOARSE \
	VZEROUPPER              \
	NOTQ R13                \
	MOVQ R8, near+40(FP)    \
	MOVQ R10, found+48(FP)  \
	MOVQ R13, taken+56(FP)  \
	RET
