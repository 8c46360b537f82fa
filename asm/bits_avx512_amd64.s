//go:build amd64 && !purego

#include "textflag.h"

// Bit lines (AVX-512): a line is one register, its words the lanes.
//
//	DI lines            SI digests, moving on       R9 seen, moving on
//	R8 number of lines  CX elements left            R10 8*64*rounds, the end of the salts
//	BX salts            R11 the word of seen        R13 the element's bit in it
//	Z31 ones            Z30 bits added so far

// AHEAD is how many elements before its turn a line is fetched.
#define AHEAD 32

// ARGUMENTS loads the arguments that both kernels have.
#define ARGUMENTS \
	MOVQ lines+0(FP), DI             \
	MOVQ count+8(FP), R8             \
	MOVQ seen+16(FP), R9             \
	MOVQ digests+24(FP), SI          \
	MOVQ n+32(FP), CX                \
	MOVQ salts+40(FP), BX            \
	MOVQ rounds+48(FP), R10          \
	SHLQ $6, R10                     \
	MOVQ $1, AX                      \
	VPBROADCASTQ AX, Z31             \
	VPXORQ Z30, Z30, Z30

// LINE sets DX to the address of the line of the digest at OFFSET of SI.
#define LINE(OFFSET) \
	MOVQ OFFSET+8(SI), AX    \
	MULQ R8                  \
	SHLQ $6, DX              \
	ADDQ DI, DX

// PREFETCH fetches the line of the element AHEAD elements on, if there is one.
#define PREFETCH(SKIP) \
	CMPQ CX, $AHEAD              \
	JLE  SKIP                    \
	LINE(AHEAD*16)               \
	PREFETCHT0 (DX)


// MASK sets Z1 to the element's bits. R12 runs over the salts of its rounds.
#define MASK(MORE, END) \
	VPBROADCASTQ (SI), Z0          \
	VPMULLQ (BX), Z0, Z1           \
	VPSRLQ $58, Z1, Z1             \
	VPSLLVQ Z1, Z31, Z1            \
	MOVQ $64, R12                  \
MORE:                              \
	CMPQ R12, R10                  \
	JGE  END                       \
	VPMULLQ (BX)(R12*1), Z0, Z2    \
	VPSRLQ $58, Z2, Z2             \
	VPSLLVQ Z2, Z31, Z2            \
	VPORQ Z2, Z1, Z1               \
	ADDQ $64, R12                  \
	JMP  MORE                      \
END:

// func testBitsAVX512(lines *[8]uint64, count int, seen *uint64, digests *Digest, n int, salts *uint64, rounds int)
TEXT ·testBitsAVX512(SB), NOSPLIT, $0-56
	ARGUMENTS

word:
	MOVQ (R9), R11
	MOVQ $1, R13

element:
	PREFETCH(near)

near:
	TESTQ R13, R11
	JNZ  next
	MASK(more, test)
	LINE(0)
	VMOVDQU64 (DX), Z4
	VPANDNQ Z1, Z4, Z3
	VPTESTMQ Z3, Z3, K1
	KMOVW K1, AX
	XORL R14, R14
	TESTL AX, AX
	CMOVQEQ R13, R14
	ORQ R14, R11

next:
	ADDQ $16, SI
	SHLQ $1, R13
	DECQ CX
	JZ   done
	TESTQ R13, R13
	JNZ  element
	MOVQ R11, (R9)
	ADDQ $8, R9
	JMP  word

done:
	MOVQ R11, (R9)
	VZEROUPPER
	RET

// func testAndSetBitsAVX512(lines *[8]uint64, count int, seen *uint64, digests *Digest, n int, salts *uint64, rounds int) (added uint64)
TEXT ·testAndSetBitsAVX512(SB), NOSPLIT, $0-64
	ARGUMENTS

word:
	MOVQ (R9), R11
	MOVQ $1, R13

element:
	PREFETCH(near)

near:
	TESTQ R13, R11
	JNZ  next
	MASK(more, test)
	LINE(0)
	VMOVDQU64 (DX), Z4
	// The bits that are missing; where there are none nothing is written, so that
	// the line stays clean.
	VPANDNQ Z1, Z4, Z3
	VPTESTMQ Z3, Z3, K1
	VPORQ Z1, Z4, Z4
	VMOVDQU64 Z4, K1, (DX)
	VPOPCNTQ Z3, Z3
	VPADDQ Z3, Z30, Z30
	KMOVW K1, AX
	XORL R14, R14
	TESTL AX, AX
	CMOVQEQ R13, R14
	ORQ R14, R11

next:
	ADDQ $16, SI
	SHLQ $1, R13
	DECQ CX
	JZ   done
	TESTQ R13, R13
	JNZ  element
	MOVQ R11, (R9)
	ADDQ $8, R9
	JMP  word

done:
	MOVQ R11, (R9)
	VEXTRACTI64X4 $1, Z30, Y0
	VPADDQ Y0, Y30, Y0
	VEXTRACTI64X2 $1, Y0, X1
	VPADDQ X1, X0, X0
	VPSRLDQ $8, X0, X1
	VPADDQ X1, X0, X0
	VMOVQ X0, AX
	MOVQ AX, added+56(FP)
	VZEROUPPER
	RET
