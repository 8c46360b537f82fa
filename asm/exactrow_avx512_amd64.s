//go:build amd64 && !purego

#include "textflag.h"

// Exact rows (AVX-512): a line is one register.
//
//	DI lines     SI permuted, moving on   R9 seen, moving on   R10 spill, moving on
//	R8 shift     BX 2^shift - 1           CX elements left     R14 the element's number
//	R11 the word of seen                  R13 the element's bit in it

// AHEAD is how many elements before its turn a line is fetched.
#define AHEAD 32

// LINE sets DX to the address of the line of the element at OFFSET of SI, and AX
// to the element.
#define LINE(OFFSET) \
	MOVL OFFSET(SI), AX    \
	SHRXL R8, AX, DX       \
	SHLQ $6, DX            \
	ADDQ DI, DX

#define ARGUMENTS \
	MOVQ lines+0(FP), DI             \
	MOVQ shift+8(FP), R8             \
	MOVQ seen+16(FP), R9             \
	MOVQ permuted+24(FP), SI         \
	MOVQ n+32(FP), CX                \
	MOVQ spill+40(FP), R10           \
	MOVQ $1, BX                      \
	SHLXQ R8, BX, BX                 \
	DECQ BX                          \
	XORQ R14, R14

// PREPARE fetches the line of the element AHEAD elements on, if there is one, and
// loads this element's line to Z0 and what a cell of it holds to AX.
#define PREPARE(NEAR) \
	CMPQ CX, $AHEAD              \
	JLE  NEAR                    \
	LINE(AHEAD*4)                \
	PREFETCHT0 (DX)              \
NEAR:                            \
	LINE(0)                      \
	ANDL BX, AX                  \
	INCL AX                      \
	VMOVDQU32 (DX), Z0

// DECIDE has the cells that hold the element in AX and the empty ones, of which
// there are some, in R12. It notes whether the element was seen and leaves in R12
// the first empty cell if it was not. It has no branch: which elements are new
// cannot be foreseen.
#define DECIDE \
	BLSIL R12, R12         \
	CMPL  AX, $1           \
	SBBQ  R15, R15         \
	ANDL  R15, R12         \
	ANDNQ R13, R15, AX     \
	ORQ   AX, R11

// KERNEL is the loop over all elements; COMPARE leaves the cells that hold the
// element in AX, the empty ones in R12 and what to store in Z1, STORE stores Z1's
// cells R12.
#define KERNEL(COMPARE, STORE) \
word:                          \
	XORQ R11, R11          \
	MOVQ $1, R13           \
element:                       \
	PREPARE(near)          \
	COMPARE                \
	TESTL R12, R12         \
	JZ   full              \
	DECIDE                 \
	STORE                  \
next:                          \
	ADDQ $4, SI            \
	INCQ R14               \
	SHLQ $1, R13           \
	DECQ CX                \
	JZ   done              \
	TESTQ R13, R13         \
	JNZ  element           \
	MOVQ R11, (R9)         \
	ADDQ $8, R9            \
	JMP  word              \
full:                          \
	TESTL AX, AX           \
	JZ   spill             \
	ORQ  R13, R11          \
	JMP  next              \
spill:                         \
	MOVL R14, (R10)        \
	ADDQ $4, R10           \
	JMP  next              \
done:                          \
	MOVQ R11, (R9)         \
	SUBQ spill+40(FP), R10 \
	SHRQ $2, R10           \
	MOVQ R10, spilled+48(FP) \
	VZEROUPPER             \
	RET

#define COMPARE32 \
	VPBROADCASTD AX, Z1        \
	VPCMPEQD Z1, Z0, K1        \
	VPTESTNMD Z0, Z0, K2       \
	KMOVW K1, AX               \
	KMOVW K2, R12

#define STORE32 \
	KMOVW R12, K2              \
	VMOVDQU32 Z1, K2, (DX)

#define COMPARE16 \
	VPBROADCASTW AX, Z1        \
	VPCMPEQW Z1, Z0, K1        \
	VPTESTNMW Z0, Z0, K2       \
	KMOVD K1, AX               \
	KMOVD K2, R12

#define STORE16 \
	KMOVD R12, K2              \
	VMOVDQU16 Z1, K2, (DX)

// func testAndSetExact32AVX512(lines *[8]uint64, shift int, seen *uint64, permuted *uint32, n int, spill *uint32) (spilled int)
TEXT ·testAndSetExact32AVX512(SB), NOSPLIT, $0-56
	ARGUMENTS
	KERNEL(COMPARE32, STORE32)

// func testAndSetExact16AVX512(lines *[8]uint64, shift int, seen *uint64, permuted *uint32, n int, spill *uint32) (spilled int)
TEXT ·testAndSetExact16AVX512(SB), NOSPLIT, $0-56
	ARGUMENTS
	KERNEL(COMPARE16, STORE16)
