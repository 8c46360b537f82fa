//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"

// Bit lines of unbounded streams (AVX-512): a line is one register. Neither
// verdict makes a branch: a line that stays as it is takes a store of no lanes.
//
//	DI lines        SI digests, moving on    R10 positions, moving on
//	R8 their number CX elements left         R9 seen, moving on
//	R11 its word    R13 the element's bit    BX, R15 the multipliers of bitRandom
//	DX its line     R12 r1, later r2         AX, R14 free
//	Z31 ones        Z30 bits added so far    Z29 bits of a part, in 16-bit words
//	Z28 inLane      Z27 first                Z26 last     Z25 inLine
//	Z0 the line     Z1 the element's bits    Z2 bits to clear   Z3, Z4, Z5 free

// AHEAD is how many elements before its turn a line is fetched.
#define AHEAD 32

// ARGUMENTS loads the arguments that all kernels have.
#define ARGUMENTS \
	MOVQ lines+0(FP), DI                      \
	MOVQ count+8(FP), R8                      \
	MOVQ seen+16(FP), R9                      \
	MOVQ digests+24(FP), SI                   \
	MOVQ positions+32(FP), R10                \
	MOVQ n+40(FP), CX                         \
	MOVQ lanes+48(FP), AX                     \
	VPBROADCASTW bitLineLanes_size(AX), Z29   \
	VMOVDQU64 bitLineLanes_inLane(AX), Z28    \
	VMOVDQU64 bitLineLanes_first(AX), Z27     \
	VMOVDQU64 bitLineLanes_last(AX), Z26      \
	VMOVDQU64 bitLineLanes_inLine(AX), Z25    \
	VPXORQ Z30, Z30, Z30                      \
	MOVQ $1, R14                              \
	VPBROADCASTQ R14, Z31                     \
	MOVQ $const_bitRandomStep, BX             \
	MOVQ $const_bitRandomMix, R15             \
	KMOVB bitLineLanes_split(AX), K7

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
	PREFETCHT0 (DX)              \
SKIP:

// BITS sets OUT to the bits that the words W, broadcast, choose in all parts. W
// is lost.
#define BITS(W, OUT, WHOLE) \
	VPMULHUW Z29, W, W          \
	VPADDW Z28, W, W            \
	VPSHUFB Z27, W, OUT         \
	VPSLLVQ OUT, Z31, OUT       \
	KTESTB K7, K7               \
	JEQ  WHOLE                  \
	VPSHUFB Z26, W, W           \
	VPSLLVQ W, Z31, W           \
	VPORQ W, OUT, OUT           \
WHOLE:

// ELEMENT loads the line, and makes the element's bits.
#define ELEMENT(NEAR, WHOLE) \
	PREFETCH(NEAR)              \
	LINE(0)                     \
	VPBROADCASTQ (SI), Z3       \
	BITS(Z3, Z1, WHOLE)         \
	VMOVDQU64 (DX), Z0

// RANDOM sets R12 to r1.
#define RANDOM \
	MOVQ (R10), R12   \
	IMULQ BX, R12     \
	XORQ (SI), R12    \
	MOVQ R12, R14     \
	SHRQ $32, R14     \
	XORQ R14, R12     \
	IMULQ R15, R12    \
	MOVQ R12, R14     \
	SHRQ $29, R14     \
	XORQ R14, R12     \
	IMULQ R15, R12    \
	MOVQ R12, R14     \
	SHRQ $32, R14     \
	XORQ R14, R12

// NEXTRANDOM makes r2 of r1.
#define NEXTRANDOM \
	IMULQ R15, R12    \
	MOVQ R12, R14     \
	SHRQ $29, R14     \
	XORQ R14, R12

// VERDICT sets the element's bit of seen if it misses none of its bits, and AX
// to 0 then and else to something else.
#define VERDICT \
	VPANDNQ Z1, Z0, Z4       \
	VPTESTMQ Z4, Z4, K1      \
	KMOVB K1, AX             \
	XORL R14, R14            \
	TESTL AX, AX             \
	CMOVQEQ R13, R14         \
	ORQ R14, R11

// UPDATE clears Z2 and sets Z1 in the line if AX is not 0, and counts.
#define UPDATE \
	NEGQ AX                  \
	SBBQ AX, AX              \
	KMOVB AX, K2             \
	VPOPCNTQ Z0, Z5          \
	VPTERNLOGQ $0xba, Z1, Z2, Z0  \
	VMOVDQU64 Z0, K2, (DX)   \
	VPSUBQ Z5, Z30, K2, Z30  \
	VPOPCNTQ Z0, Z0          \
	VPADDQ Z0, Z30, K2, Z30

// NEXT goes on with the next element, behind the last to DONE.
#define NEXT(WORD, AGAIN, DONE) \
	ADDQ $16, SI             \
	ADDQ $8, R10             \
	SHLQ $1, R13             \
	DECQ CX                  \
	JZ   DONE                \
	TESTQ R13, R13           \
	JNZ  AGAIN               \
	MOVQ R11, (R9)           \
	ADDQ $8, R9              \
	JMP  WORD                \
DONE:                        \
	MOVQ R11, (R9)

// TOTAL sets AX to the sum of the lanes of Z30.
#define TOTAL \
	VEXTRACTI64X4 $1, Z30, Y0    \
	VPADDQ Y0, Y30, Y0           \
	VEXTRACTI64X2 $1, Y0, X1     \
	VPADDQ X1, X0, X0            \
	VPSRLDQ $8, X0, X1           \
	VPADDQ X1, X0, X0            \
	VMOVQ X0, AX                 \
	VZEROUPPER

// func testAndSetSBFAVX512(lines *[8]uint64, count int, seen *uint64, digests *Digest, positions *uint64, n int, lanes *bitLineLanes, run uint64) (added uint64)
TEXT ·testAndSetSBFAVX512(SB), NOSPLIT, $0-72
	ARGUMENTS
	// Z24 the run, Z23 the first bit of each lane, Z22 a line's bits, Z21 one less
	VPBROADCASTQ run+56(FP), Z24
	VMOVDQU64 bitLineLanes_start(AX), Z23
	MOVQ $const_lineBits, AX
	VPBROADCASTQ AX, Z22
	VPSUBQ Z31, Z22, Z21

word:
	XORL R11, R11
	MOVQ $1, R13

element:
	ELEMENT(near, whole)
	RANDOM
	// Bits from the start of a lane to that of the run, modulo the line's. The run
	// begins in a lane if that is below 64, and reaches into it from the lane before
	// if less than 64 are missing to a whole line. Shifts by 64 or more give 0.
	SHRQ $55, R12
	VPBROADCASTQ R12, Z3
	VPSUBQ Z23, Z3, Z3
	VPANDQ Z21, Z3, Z3
	VPSLLVQ Z3, Z24, Z2
	VPSUBQ Z3, Z22, Z3
	VPSRLVQ Z3, Z24, Z3
	VPORQ Z3, Z2, Z2
	VERDICT
	UPDATE
	NEXT(word, element, done)
	TOTAL
	MOVQ AX, added+64(FP)
	RET

// func testAndSetRSBFAVX512(lines *[8]uint64, count int, seen *uint64, digests *Digest, positions *uint64, n int, lanes *bitLineLanes, all uint64) (added uint64)
TEXT ·testAndSetRSBFAVX512(SB), NOSPLIT, $0-72
	ARGUMENTS

word:
	XORL R11, R11
	MOVQ $1, R13

element:
	ELEMENT(near, whole)
	RANDOM
	VPBROADCASTQ R12, Z3
	BITS(Z3, Z2, drawn)
	VERDICT
	// It is inserted if the upper half of r2 times the position is below all.
	NEXTRANDOM
	MOVQ DX, R14
	MOVQ (R10), AX
	MULQ R12
	CMPQ DX, all+56(FP)
	SBBQ AX, AX
	MOVQ R14, DX
	UPDATE
	NEXT(word, element, done)
	TOTAL
	MOVQ AX, added+64(FP)
	RET

// func testAndSetBSBFAVX512(lines *[8]uint64, count int, seen *uint64, digests *Digest, positions *uint64, n int, lanes *bitLineLanes) (added uint64)
TEXT ·testAndSetBSBFAVX512(SB), NOSPLIT, $0-64
	ARGUMENTS

word:
	XORL R11, R11
	MOVQ $1, R13

element:
	ELEMENT(near, whole)
	RANDOM
	VPBROADCASTQ R12, Z3
	BITS(Z3, Z2, drawn)
	VERDICT
	UPDATE
	NEXT(word, element, done)
	TOTAL
	MOVQ AX, added+56(FP)
	RET

// func testAndSetBSBFSDAVX512(lines *[8]uint64, count int, seen *uint64, digests *Digest, positions *uint64, n int, lanes *bitLineLanes, all uint64) (added uint64)
TEXT ·testAndSetBSBFSDAVX512(SB), NOSPLIT, $0-72
	ARGUMENTS
	// Z24 the first bit of each lane
	VMOVDQU64 bitLineLanes_start(AX), Z24

word:
	XORL R11, R11
	MOVQ $1, R13

element:
	ELEMENT(near, whole)
	RANDOM
	MOVQ DX, R14
	MOVQ R12, AX
	MULQ all+56(FP)
	VPBROADCASTQ DX, Z2
	MOVQ R14, DX
	VPSUBQ Z24, Z2, Z2
	VPSLLVQ Z2, Z31, Z2
	VERDICT
	UPDATE
	NEXT(word, element, done)
	TOTAL
	MOVQ AX, added+64(FP)
	RET

// GATE sets K to the lanes in whose part, chosen by PART, the bit of the line is
// set which the broadcast bits Z5 of all parts name.
#define GATE(PART, K) \
	VPSHUFB PART, Z5, Z4     \
	VPSRLQ $6, Z4, Z6        \
	VPERMQ Z0, Z6, Z6        \
	VPRORVQ Z4, Z6, Z6       \
	VPTESTMQ Z31, Z6, K

// func testAndSetRLBSBFAVX512(lines *[8]uint64, count int, seen *uint64, digests *Digest, positions *uint64, n int, lanes *bitLineLanes) (added uint64)
TEXT ·testAndSetRLBSBFAVX512(SB), NOSPLIT, $0-64
	ARGUMENTS

word:
	XORL R11, R11
	MOVQ $1, R13

element:
	ELEMENT(near, whole)
	RANDOM
	VPBROADCASTQ R12, Z3
	NEXTRANDOM
	VPBROADCASTQ R12, Z5
	VPMULHUW Z29, Z5, Z5
	VPADDW Z25, Z5, Z5
	// As in BITS, but of each part only where its gate is open.
	VPMULHUW Z29, Z3, Z3
	VPADDW Z28, Z3, Z3
	GATE(Z27, K3)
	VPSHUFB Z27, Z3, Z2
	VPSLLVQ.Z Z2, Z31, K3, Z2
	KTESTB K7, K7
	JEQ  drawn
	GATE(Z26, K4)
	VPSHUFB Z26, Z3, Z3
	VPSLLVQ.Z Z3, Z31, K4, Z3
	VPORQ Z3, Z2, Z2

drawn:
	VERDICT
	UPDATE
	NEXT(word, element, done)
	TOTAL
	MOVQ AX, added+56(FP)
	RET
