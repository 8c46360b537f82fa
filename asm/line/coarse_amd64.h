// SPDX-License-Identifier: Apache-2.0

// The common part of the kernels of coarse rows. BX is the line's address, and BP the
// second row of the masks. R8 collects the hits, R10 the elements that are not found:
// each bit is shifted in from below. R11 is the line's place in the log. Conditions use
// only the carry, which is faster.

// BEGINCOARSE leaves the coarseRule in DX, and the parts that CLOCK and JUDGE need in the
// frame.
#define BEGINCOARSE \
	BEGINHALVES                   \
	MOVQ R11, half-8(SP)          \
	MOVQ log+32(FP), R11          \
	MOVQ r+40(FP), DX             \
	MOVQ coarseRule_masks(DX), BP \
	ADDQ $64, BP                  \
	MOVQ coarseRule_old(DX), AX   \
	MOVQ AX, old-16(SP)           \
	MOVQ coarseRule_tooLate(DX), AX \
	MOVQ AX, tooLate-24(SP)       \
	MOVQ $0, none-32(SP)          \
	MOVQ coarseRule_bias(DX), AX  \
	MOVQ AX, bias-48(SP)          \
	MOVQ (coarseRule_bias+8)(DX), AX \
	MOVQ AX, biasFull-40(SP)      \
	MOVQ coarseRule_limit(DX), AX \
	MOVQ AX, limit-64(SP)         \
	MOVQ (coarseRule_limit+8)(DX), AX \
	MOVQ AX, limitFull-56(SP)

// CLOCK sets R12 to the new clock of the line, R14 to the youth of the element, and R15
// to the aging of the cells.
#define CLOCK \
	FETCH                                 \
	ADDQ  DI, BX                          \
	MOVL  60(BX), R12                     \
	MOVL  batch_random(SI)(CX*8), DX      \
	MOVL  R12, R14                        \
	SUBL  DX, R14                         \
	MOVL  DX, R15                         \
	SUBL  R12, R15                        \
	CMPL  R15, old-16(SP)                 \
	CMOVLCC old-16(SP), R15               \
	CMPL  R14, tooLate-24(SP)             \
	CMOVLCC DX, R12                       \
	CMOVLCC none-32(SP), R14              \
	CMOVLCS none-32(SP), R15              \
	XORL  old-16(SP), R14

// CHOOSE takes the cells that have the fingerprint in AX, and LAST, the bit of the last
// cell. It sets AX to the number of the cell to remove.
#define CHOOSE(LAST) \
	CMPL   AX, $1   \
	ADCQ   R10, R10 \
	ORL    LAST, AX \
	TZCNTL AX, AX

// JUDGE takes the youth of the cell to remove in DX, before this element. It sets DX to
// its youth now, and R15 to ones if the element is a copy of it.
#define JUDGE \
	SUBL  R15, DX                         \
	CMOVLCS none-32(SP), DX               \
	MOVL  R14, R15                        \
	SUBL  DX, R15                         \
	MOVL  R10, R13                        \
	ANDL  $1, R13                         \
	ADDL  bias-48(SP)(R13*8), R15         \
	CMPL  R15, limit-64(SP)(R13*8)        \
	SBBL  R15, R15                        \
	ADCQ  R8, R8                          \
	ANDNL R15, R10, R15                   \
	ANDL  $1, R15

// KEEPCOARSE makes a copy move no cell: no cell is before number -1.
#define KEEPCOARSE \
	NEGQ  R15         \
	ORQ   R15, AX

// RENEWCOARSE sets R14 to the later time of a copy and its original.
#define RENEWCOARSE \
	CMPL  DX, R14     \
	CMOVLCS R14, DX   \
	NEGL  R15         \
	CMOVLCS DX, R14

// NEXTCOARSE goes on with the next element of this half, and then with the second half.
#define NEXTCOARSE(LOOP) \
	MOVL  R12, 60(BX)     \
	ADDQ  $64, R11        \
	INCQ  CX              \
	JNE   LOOP            \
	MOVQ  half-8(SP), AX  \
	LEAQ  (SI)(AX*8), SI  \
	MOVQ  ahead+16(FP), R9 \
	LEAQ  (R9)(AX*8), R9  \
	MOVQ  AX, CX          \
	MOVQ  $0, half-8(SP)  \
	NEGQ  CX              \
	JNE   LOOP

#define ENDCOARSE \
	VZEROUPPER              \
	NOTQ R10                \
	MOVQ R8, hits+48(FP)    \
	MOVQ R10, found+56(FP)  \
	RET

// BEGINFILL, BEGINGROUP and ENDGROUP enclose the code that makes four new cells of the
// digests in Y4. AX collects the elements without a time. The random words come 512 bytes
// behind the low halves.
#define BEGINFILL \
	MOVQ low+0(FP), DI    \
	MOVQ ticks+8(FP), SI  \
	MOVQ groups+16(FP), CX \
	LEAQ (CX*4), R10      \
	NEGQ R10              \
	ADDQ $64, R10         \
	XORL AX, AX           \
	VPCMPEQD Y0, Y0, Y0   \
	VPSLLQ $63, Y0, Y1    \
	VPSRLQ $63, Y0, Y2    \
	VPXOR  Y3, Y3, Y3

#define BEGINGROUP \
	VMOVDQU  (DI), Y4     \
	VMOVDQU  (SI), Y5     \
	VPCMPEQQ Y1, Y5, Y6   \
	VMOVMSKPD Y6, DX      \
	SHRQ     $4, AX       \
	SHLQ     $60, DX      \
	ORQ      DX, AX       \
	VMOVDQU  Y5, 512(DI)

#define ENDGROUP(LOOP) \
	VMOVDQU  Y4, (DI)     \
	ADDQ $32, DI          \
	ADDQ $32, SI          \
	DECQ CX               \
	JNZ  LOOP             \
	SHRXQ R10, AX, AX     \
	MOVQ AX, noTime+24(FP) \
	VZEROUPPER            \
	RET
