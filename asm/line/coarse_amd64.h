// What the kernels of coarse rows have in common. BX is the line's address, and BP the
// second row of coarseMasks. R8 collects the elements near their cell, R10 those that are
// not found, R13 those whose cell is empty: each bit is shifted in from below. Conditions
// are those that need the carry alone, which are faster.

// BEGINCOARSE leaves the coarseRule in DX, and what CLOCK and JUDGECOARSE need of it in the
// frame.
#define BEGINCOARSE \
	BEGINHALVES                   \
	XORL R13, R13                 \
	MOVQ r+32(FP), DX             \
	MOVQ coarseRule_masks(DX), BP \
	ADDQ $64, BP                  \
	MOVQ coarseRule_window(DX), AX \
	MOVQ AX, window-8(SP)         \
	MOVQ coarseRule_above(DX), AX \
	MOVQ AX, above-16(SP)         \
	MOVQ coarseRule_tooLate(DX), AX \
	MOVQ AX, tooLate-24(SP)       \
	MOVL $const_coarseOld, AX     \
	MOVQ AX, old-32(SP)

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
	CMPL  R15, old-32(SP)                 \
	CMOVLCC old-32(SP), R15               \
	CMPL  R14, tooLate-24(SP)             \
	CMOVLCC DX, R12                       \
	CMOVLCC AX, R14                       \
	CMOVLCS AX, R15

// JUDGECOARSE takes the cells that have the fingerprint in AX. It sets AX to the number of
// the cell that goes, DX to its age, and R15 to ones if that is near the element.
#define JUDGECOARSE \
	CMPL  AX, $1                          \
	ADCQ  R10, R10                        \
	ORL   $0x4000, AX                     \
	TZCNTL AX, AX                         \
	MOVL  (BX)(AX*4), DX                  \
	CMPL  DX, $0x100                      \
	ADCQ  R13, R13                        \
	MOVBLZX DX, DX                        \
	ADDL  R15, DX                         \
	CMPL  DX, old-32(SP)                  \
	CMOVLCC old-32(SP), DX                \
	MOVL  DX, R15                         \
	SUBL  R14, R15                        \
	ADDL  window-8(SP), R15               \
	CMPL  R15, above-16(SP)               \
	SBBL  R15, R15                        \
	ADCQ  R8, R8                          \
	ANDNL R15, R10, R15                   \
	ANDL  $1, R15

// KEEPCOARSE makes a copy move no cell: none is before number -1.
#define KEEPCOARSE \
	NEGQ  R15         \
	ORQ   R15, AX

// RENEWCOARSE gives a copy the later one of both times in R14.
#define RENEWCOARSE \
	CMPL  DX, R14     \
	CMOVLCC R14, DX   \
	NEGL  R15         \
	CMOVLCS DX, R14

#define ENDCOARSE \
	VZEROUPPER              \
	NOTQ R10                \
	NOTQ R13                \
	MOVQ R8, near+40(FP)    \
	MOVQ R10, found+48(FP)  \
	MOVQ R13, taken+56(FP)  \
	RET
