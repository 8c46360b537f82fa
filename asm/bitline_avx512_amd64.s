//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"

// Bit lines of unbounded streams (AVX-512): a line is one register. Whatever
// needs no line is made for eight elements at once, in PREPARE, some groups
// of eight before their turn. A ring of slots on the stack keeps it:
//
//	0 lines  64 the words of the digests, scaled  128 and 192 what is drawn
//
// Neither verdict makes a branch, and a line that stays as it is is stored too:
// a store of no lanes would hold up the next load of a frequent element's line,
// which cannot be served from it.
//
//	SI digests   R10 positions   R8 elements, all three of what is not prepared yet
//	BX the slot whose lines are to be fetched, or 0
//	CX elements left   R9 the next byte of seen   R11 that byte   R13 the bit in it
//	R14 where in the ring the group is   R12 the element's place in it
//	DI its line   R15 1 if a lane has bits of two parts   AX, DX free
//	K4, K5, K6 which digests, in pairs and again, and positions are loaded
//	Z31 ones      Z30 bits added so far   Z29 bits of a part, in 16-bit words
//	Z28 inLane    Z27 first   Z26 last    Z25 inLine   Z24 to Z21 a method's own
//	Z20 and Z19 drawStep and drawMix   Z18 number of lines   Z17 lines
//	Z16 even      Z15 odd
//	Z0 the line   Z1 the element's bits   Z2 bits to clear   Z3 to Z9 free

// SLOT is the size of a slot, RING that of eight. A group is prepared LEAD bytes of
// the ring before its turn.
#define SLOT 256
#define RING 2048
#define LEAD 1280

// ARGUMENTS loads the arguments that all kernels have, and goes on at group.
#define ARGUMENTS \
	MOVQ seen+16(FP), R9                       \
	MOVQ digests+24(FP), SI                    \
	MOVQ positions+32(FP), R10                 \
	MOVQ n+40(FP), CX                          \
	MOVQ CX, R8                                \
	MOVQ lanes+48(FP), AX                      \
	VPBROADCASTQ lines+0(FP), Z17              \
	VPBROADCASTQ count+8(FP), Z18              \
	VPBROADCASTW bitLineLanes_size(AX), Z29    \
	VMOVDQU64 bitLineLanes_inLane(AX), Z28     \
	VMOVDQU64 bitLineLanes_first(AX), Z27      \
	VMOVDQU64 bitLineLanes_last(AX), Z26       \
	VMOVDQU64 bitLineLanes_inLine(AX), Z25     \
	VMOVDQU64 bitLineLanes_even(AX), Z16       \
	VMOVDQU64 bitLineLanes_odd(AX), Z15        \
	MOVQ bitLineLanes_split(AX), R15           \
	MOVQ $const_drawStep, DX              \
	VPBROADCASTQ DX, Z20                       \
	MOVQ $const_drawMix, DX               \
	VPBROADCASTQ DX, Z19                       \
	MOVQ $1, DX                                \
	VPBROADCASTQ DX, Z31                       \
	VPXORQ Z30, Z30, Z30                       \
	KXNORB K4, K4, K4                          \
	KXNORB K5, K5, K5                          \
	KXNORB K6, K6, K6                          \
	XORL BX, BX                                \
	MOVQ $-LEAD, R14

// HIGH sets X to floor(X * BY / 2^64), where BY is below 2^32. T is lost.
#define HIGH(X, BY, T) \
	VPSRLQ $32, X, T      \
	VPMULUDQ BY, X, X     \
	VPMULUDQ BY, T, T     \
	VPSRLQ $32, X, X      \
	VPADDQ T, X, X        \
	VPSRLQ $32, X, X

// MULTIPLY is a round of draw: X = (X ^ X>>BY) * mix. T is lost.
#define MULTIPLY(BY, X, T) \
	VPSRLQ BY, X, T       \
	VPXORQ T, X, X        \
	VPMULLQ Z19, X, X

// FETCH fetches the line of an element of the slot at BX.
#define FETCH(ELEMENT) \
	MOVQ (8*ELEMENT)(BX), AX  \
	PREFETCHT0 (AX)

// PREPARE fills the slot of the next elements, up to eight, but for what is drawn.
// It sets DX to the slot and Z5 to r1 of each. Without elements it goes to NONE.
// Lines are fetched one group later: right after the store of their addresses,
// loads of them would wait for it.
#define PREPARE(FETCHED, FULL, NONE) \
	TESTQ BX, BX                     \
	JEQ  FETCHED                     \
	FETCH(0)                         \
	FETCH(1)                         \
	FETCH(2)                         \
	FETCH(3)                         \
	FETCH(4)                         \
	FETCH(5)                         \
	FETCH(6)                         \
	FETCH(7)                         \
	XORL BX, BX                      \
FETCHED:                             \
	TESTQ R8, R8                     \
	JEQ  NONE                        \
	MOVL $8, AX                      \
	CMPQ R8, AX                      \
	JGE  FULL                        \
	MOVQ R8, AX                      \
	MOVQ $-1, DX                     \
	BZHIQ AX, DX, DI                 \
	KMOVB DI, K6                     \
	LEAQ (AX)(AX*1), DI              \
	BZHIQ DI, DX, DI                 \
	KMOVB DI, K4                     \
	SHRQ $8, DI                      \
	KMOVB DI, K5                     \
FULL:                                \
	VMOVDQU64.Z (SI), K4, Z3         \
	VMOVDQU64.Z 64(SI), K5, Z4       \
	VMOVDQU64.Z (R10), K6, Z5        \
	SUBQ AX, R8                      \
	LEAQ (R10)(AX*8), R10            \
	SHLQ $4, AX                      \
	ADDQ AX, SI                      \
	LEAQ LEAD(R14), DX               \
	ANDQ $(RING-1), DX               \
	LEAQ ring-RING(SP), DI           \
	ADDQ DI, DX                      \
	VMOVDQA64 Z3, Z6                 \
	VPERMT2Q Z4, Z16, Z3             \
	VPERMT2Q Z4, Z15, Z6             \
	HIGH(Z6, Z18, Z7)                \
	VPSLLQ $6, Z6, Z6                \
	VPADDQ Z17, Z6, Z6               \
	VMOVDQU64 Z6, (DX)               \
	VPMULHUW Z29, Z3, Z6             \
	VMOVDQU64 Z6, 64(DX)             \
	VPMULLQ Z20, Z5, Z5              \
	VPXORQ Z3, Z5, Z5                \
	MULTIPLY($32, Z5, Z6)            \
	MULTIPLY($29, Z5, Z6)            \
	VPSRLQ $32, Z5, Z6               \
	VPXORQ Z6, Z5, Z5                \
	MOVQ DX, BX

// SECOND makes r2 of r1 in Z5.
#define SECOND \
	VPMULLQ Z19, Z5, Z5   \
	VPSRLQ $29, Z5, Z6    \
	VPXORQ Z6, Z5, Z5

// TURN begins the group whose turn it is, or else prepares another one first.
#define TURN(PREPARE) \
	ADDQ $SLOT, R14           \
	JMI  PREPARE              \
	ANDQ $(RING-1), R14       \
	LEAQ ring-RING(SP), R12   \
	ADDQ R14, R12             \
	XORL R11, R11             \
	MOVL $1, R13

// BITS sets OUT to the bits that the scaled words W, broadcast, choose in all
// parts. W is lost.
#define BITS(W, OUT, WHOLE) \
	VPADDW Z28, W, W            \
	VPSHUFB Z27, W, OUT         \
	VPSLLVQ OUT, Z31, OUT       \
	TESTQ R15, R15              \
	JEQ  WHOLE                  \
	VPSHUFB Z26, W, W           \
	VPSLLVQ W, Z31, W           \
	VPORQ W, OUT, OUT           \
WHOLE:

// ELEMENT loads the element's line and makes its bits. Those that the line lacks
// are in the lanes of AX.
#define ELEMENT(WHOLE) \
	MOVQ (R12), DI              \
	VPBROADCASTQ 64(R12), Z3    \
	BITS(Z3, Z1, WHOLE)         \
	VMOVDQU64 (DI), Z0          \
	VPANDNQ Z1, Z0, Z4          \
	VPTESTMQ Z4, Z4, K1         \
	KMOVB K1, AX

// VERDICT sets AX to 0 if it is 0 and to -1 if not, and the element's bit of seen
// if it is 0.
#define VERDICT \
	NEGQ AX                  \
	SBBQ AX, AX              \
	ANDNQ R13, AX, DX        \
	ORQ  DX, R11

// UPDATE clears Z2 and sets Z1 in the line if AX is -1, not if it is 0, and
// counts.
#define UPDATE \
	KMOVB AX, K2                   \
	VPOPCNTQ Z0, Z5                \
	VPTERNLOGQ $0xba, Z1, Z2, K2, Z0  \
	VMOVDQU64 Z0, (DI)             \
	VPSUBQ Z5, Z30, Z30            \
	VPOPCNTQ Z0, Z0                \
	VPADDQ Z0, Z30, Z30

// NEXT goes on with the next element of the group, or the next group.
#define NEXT(ELEMENT, GROUP, BYTE) \
	ADDQ $8, R12             \
	ADDL R13, R13            \
	DECQ CX                  \
	JEQ  BYTE                \
	CMPL R13, $256           \
	JNE  ELEMENT             \
BYTE:                        \
	MOVB R11, (R9)           \
	INCQ R9                  \
	TESTQ CX, CX             \
	JNE  GROUP

// FINISH clears what is left of the last word of seen, and sets AX to the sum of
// the lanes of Z30.
#define FINISH(CLEAR, CLEARED) \
CLEAR:                           \
	TESTQ $7, R9                 \
	JEQ  CLEARED                 \
	MOVB $0, (R9)                \
	INCQ R9                      \
	JMP  CLEAR                   \
CLEARED:                         \
	VEXTRACTI64X4 $1, Z30, Y0    \
	VPADDQ Y0, Y30, Y0           \
	VEXTRACTI64X2 $1, Y0, X1     \
	VPADDQ X1, X0, X0            \
	VPSRLDQ $8, X0, X1           \
	VPADDQ X1, X0, X0            \
	VMOVQ X0, AX                 \
	VZEROUPPER

// func testAndSetSBFAVX512(lines *[8]uint64, count int, seen *uint64, digests *Digest, positions *uint64, n int, lanes *bitLineLanes, run uint64) (added uint64)
TEXT ·testAndSetSBFAVX512(SB), 0, $2048-72
	ARGUMENTS
	// Z24 the run, Z23 the first bit of each lane, Z22 a line's bits, Z21 one less
	VPBROADCASTQ run+56(FP), Z24
	VMOVDQU64 bitLineLanes_start(AX), Z23
	MOVQ $const_lineBits, AX
	VPBROADCASTQ AX, Z22
	VPSUBQ Z31, Z22, Z21

group:
	PREPARE(fetched, full, prepared)
	VPSRLQ $55, Z5, Z5
	VMOVDQU64 Z5, 128(DX)

prepared:
	TURN(group)

element:
	ELEMENT(whole)
	// Bits from the start of a lane to that of the run, modulo the line's. The run
	// begins in a lane if that is below 64, and reaches into it from the lane before
	// if less than 64 are missing to a whole line. Shifts by 64 or more give 0.
	VPBROADCASTQ 128(R12), Z3
	VPSUBQ Z23, Z3, Z3
	VPANDQ Z21, Z3, Z3
	VPSLLVQ Z3, Z24, Z2
	VPSUBQ Z3, Z22, Z3
	VPSRLVQ Z3, Z24, Z3
	VPORQ Z3, Z2, Z2
	VERDICT
	UPDATE
	NEXT(element, group, byte)
	FINISH(clear, cleared)
	MOVQ AX, added+64(FP)
	RET

// func testAndSetRSBFAVX512(lines *[8]uint64, count int, seen *uint64, digests *Digest, positions *uint64, n int, lanes *bitLineLanes, all uint64) (added uint64)
TEXT ·testAndSetRSBFAVX512(SB), 0, $2048-72
	ARGUMENTS

group:
	PREPARE(fetched, full, prepared)
	VPMULHUW Z29, Z5, Z6
	VMOVDQU64 Z6, 128(DX)
	SECOND
	VMOVDQU64 Z5, 192(DX)

prepared:
	TURN(group)

element:
	ELEMENT(whole)
	VPBROADCASTQ 128(R12), Z3
	BITS(Z3, Z2, drawn)
	VERDICT
	// It is inserted if the upper half of r2 times the position is below all. The
	// position is as far behind R10 as elements are prepared.
	MOVQ R8, DX
	SUBQ CX, DX
	MOVQ (R10)(DX*8), AX
	MULQ 192(R12)
	CMPQ DX, all+56(FP)
	SBBQ AX, AX
	UPDATE
	NEXT(element, group, byte)
	FINISH(clear, cleared)
	MOVQ AX, added+64(FP)
	RET

// func testAndSetBSBFAVX512(lines *[8]uint64, count int, seen *uint64, digests *Digest, positions *uint64, n int, lanes *bitLineLanes) (added uint64)
TEXT ·testAndSetBSBFAVX512(SB), 0, $2048-64
	ARGUMENTS

group:
	PREPARE(fetched, full, prepared)
	VPMULHUW Z29, Z5, Z5
	VMOVDQU64 Z5, 128(DX)

prepared:
	TURN(group)

element:
	ELEMENT(whole)
	VPBROADCASTQ 128(R12), Z3
	BITS(Z3, Z2, drawn)
	VERDICT
	UPDATE
	NEXT(element, group, byte)
	FINISH(clear, cleared)
	MOVQ AX, added+56(FP)
	RET

// func testAndSetBSBFSDAVX512(lines *[8]uint64, count int, seen *uint64, digests *Digest, positions *uint64, n int, lanes *bitLineLanes, all uint64) (added uint64)
TEXT ·testAndSetBSBFSDAVX512(SB), 0, $2048-72
	ARGUMENTS
	// Z24 the first bit of each lane, Z23 the bits of all parts
	VMOVDQU64 bitLineLanes_start(AX), Z24
	VPBROADCASTQ all+56(FP), Z23

group:
	PREPARE(fetched, full, prepared)
	HIGH(Z5, Z23, Z6)
	VMOVDQU64 Z5, 128(DX)

prepared:
	TURN(group)

element:
	ELEMENT(whole)
	VPBROADCASTQ 128(R12), Z2
	VPSUBQ Z24, Z2, Z2
	VPSLLVQ Z2, Z31, Z2
	VERDICT
	UPDATE
	NEXT(element, group, byte)
	FINISH(clear, cleared)
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
TEXT ·testAndSetRLBSBFAVX512(SB), 0, $2048-64
	ARGUMENTS

group:
	PREPARE(fetched, full, prepared)
	VPMULHUW Z29, Z5, Z6
	VMOVDQU64 Z6, 128(DX)
	SECOND
	VPMULHUW Z29, Z5, Z5
	VMOVDQU64 Z5, 192(DX)

prepared:
	TURN(group)

element:
	ELEMENT(whole)
	// As BITS, but of each part only where its gate is open.
	VPBROADCASTQ 128(R12), Z3
	VPBROADCASTQ 192(R12), Z5
	VPADDW Z28, Z3, Z3
	VPADDW Z25, Z5, Z5
	GATE(Z27, K3)
	VPSHUFB Z27, Z3, Z2
	VPSLLVQ.Z Z2, Z31, K3, Z2
	TESTQ R15, R15
	JEQ  drawn
	GATE(Z26, K3)
	VPSHUFB Z26, Z3, Z3
	VPSLLVQ.Z Z3, Z31, K3, Z3
	VPORQ Z3, Z2, Z2

drawn:
	VERDICT
	UPDATE
	NEXT(element, group, byte)
	FINISH(clear, cleared)
	MOVQ AX, added+56(FP)
	RET
