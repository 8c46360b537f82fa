// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "common_amd64.h"

// Bit lines of unbounded streams (AVX2): a line is two registers.
//
// Registers are as in common_amd64.h. R10 counts the lanes whose bits are present or not
// inserted, Y14 is decremented for lanes where nothing is cleared. Lanes that belong to
// two parts are counted twice, and so are the others then. Y0 and Y1 are the line, Y2 its
// element's bytes, Y3 and Y4 the element's bits, Y5 and Y6 those to clear. Y15 is ones,
// Y13 the flip, Y12 and Y11 are own, Y10 is random of the lower half, Y9 is 0. R14 has
// the lanes, R13 the source of Y7.

// BEGINBITS goes to SPLIT if lanes belong to two parts.
#define BEGINBITS(SPLIT) \
	BEGINHALVES                                  \
	MOVQ lanes+32(FP), R14                 \
	LEAQ oneOrNone<>+8(SB), R13            \
	VMOVDQU stableLanes_flip(R14), Y13        \
	VMOVDQU stableLanes_own(R14), Y12         \
	VMOVDQU stableLanes_own+32(R14), Y11      \
	VMOVDQU stableLanes_random(R14), Y10       \
	VPCMPEQQ Y15, Y15, Y15                 \
	VPSRLQ   $63, Y15, Y15                 \
	VPXOR    Y14, Y14, Y14                 \
	VPXOR    Y9, Y9, Y9                    \
	CMPQ stableLanes_split(R14), $0           \
	JNE  SPLIT

// LINE loads the line of this element and makes its bits.
#define LINE \
	FETCH                                    \
	VPBROADCASTQ batch_low(SI)(CX*8), Y2 \
	VPXOR   Y13, Y2, Y2                      \
	VMOVDQU (DI)(BX*1), Y0                   \
	VMOVDQU 32(DI)(BX*1), Y1                 \
	VPSHUFB Y12, Y2, Y3                      \
	VPSHUFB Y11, Y2, Y4                      \
	VPSLLVQ Y3, Y15, Y3                      \
	VPSLLVQ Y4, Y15, Y4

// PRESENT sets the lanes of Y7 and Y8 whose bits X and Y are all present.
#define PRESENT(X, Y) \
	VPAND    X, Y0, Y7 \
	VPAND    Y, Y1, Y8 \
	VPCMPEQQ X, Y7, Y7 \
	VPCMPEQQ Y, Y8, Y8

// HITS sets AX to the lanes whose bits are present, and sets the carry if these are not
// all.
#define HITS \
	PRESENT(Y3, Y4)      \
	VPACKSSDW Y8, Y7, Y7 \
	VMOVMSKPS Y7, AX     \
	CMPL      AX, $0xff

// HITSSPLIT does so where lanes belong to two parts: it makes the bits of their last
// parts, too. A lane is two bits of AX.
#define HITSSPLIT \
	PRESENT(Y3, Y4)                            \
	VPACKSSDW Y8, Y7, Y5                       \
	VMOVDQU   stableLanes_shared(R14), Y7         \
	VMOVDQU   stableLanes_shared+32(R14), Y8      \
	VPSHUFB   stableLanes_ownLast(R14), Y2, Y6    \
	VPSLLVQ   Y6, Y7, Y7                       \
	VPSHUFB   stableLanes_ownLast+32(R14), Y2, Y6 \
	VPSLLVQ   Y6, Y8, Y8                       \
	VPOR      Y7, Y3, Y3                       \
	VPOR      Y8, Y4, Y4                       \
	VPAND     Y7, Y0, Y6                       \
	VPCMPEQQ  Y7, Y6, Y7                       \
	VPAND     Y8, Y1, Y6                       \
	VPCMPEQQ  Y8, Y6, Y8                       \
	VPACKSSDW Y8, Y7, Y6                       \
	VPACKSSWB Y6, Y5, Y5                       \
	VPMOVMSKB Y5, AX                           \
	CMPL      AX, $-1

// VERDICT collects the carry, and makes Y7 ones if there is one, else 0.
#define VERDICT \
	SBBQ DX, DX                 \
	ADCQ R8, R8                 \
	VPBROADCASTQ (R13)(DX*8), Y7

// INSERTED collects the carry, and makes Y7 ones if R12 marks the element as inserted,
// else 0. If it is not inserted, its lanes in AX become ALL, as if all were present.
#define INSERTED(ALL) \
	ADCQ R8, R8                  \
	SHRQ $1, R12                 \
	SBBQ DX, DX                  \
	VPBROADCASTQ (R13)(DX*8), Y7 \
	NOTL DX                      \
	ANDL $ALL, DX                \
	ORL  DX, AX

// ADD counts the lanes of AX.
#define ADD \
	POPCNTL AX, AX \
	ADDQ    AX, R10

#define ADDSPLIT \
	POPCNTL AX, AX \
	SHRL    $1, AX \
	ADDQ    AX, R10

// RANDOM computes the bits to clear from the bytes of the random word, none if Y7 is 0.
#define RANDOM \
	VPSHUFB Y10, Y2, Y5                     \
	VPSHUFB stableLanes_random+32(R14), Y2, Y6  \
	VPSLLVQ Y5, Y7, Y5                      \
	VPSLLVQ Y6, Y7, Y6

// LAST makes the last parts' bits to clear, where lanes belong to two parts, in Y7 and
// Y8.
#define LAST \
	VPAND   stableLanes_shared+32(R14), Y7, Y8     \
	VPAND   stableLanes_shared(R14), Y7, Y7        \
	LASTOF

// LASTOF shifts the ones in Y7 and Y8 there.
#define LASTOF \
	VPSHUFB stableLanes_randomLast(R14), Y2, Y9     \
	VPSLLVQ Y9, Y7, Y7                          \
	VPSHUFB stableLanes_randomLast+32(R14), Y2, Y9  \
	VPSLLVQ Y9, Y8, Y8                          \
	VPXOR   Y9, Y9, Y9

// APART removes the element's bits from the line.
#define APART \
	VPANDN Y0, Y3, Y0 \
	VPANDN Y1, Y4, Y1

// LOSE counts the lanes where none of the bits X, Y is in the line, and clears them.
// It overwrites X and Y.
#define LOSE(X, Y) \
	VPAND    Y0, X, X    \
	VPAND    Y1, Y, Y    \
	VPXOR    X, Y0, Y0   \
	VPXOR    Y, Y1, Y1   \
	VPCMPEQQ Y9, X, X    \
	VPCMPEQQ Y9, Y, Y    \
	VPADDQ   Y, X, X     \
	VPADDQ   X, Y14, Y14

// SET stores the line with the element's bits.
#define SET \
	VPOR    Y3, Y0, Y0       \
	VPOR    Y4, Y1, Y1       \
	VMOVDQU Y0, (DI)(BX*1)   \
	VMOVDQU Y1, 32(DI)(BX*1)

// ONLY leaves the element's bits only if Y7 has ones.
#define ONLY \
	VPSUBQ Y7, Y9, Y8 \
	VPAND  Y8, Y3, Y3 \
	VPAND  Y8, Y4, Y4

// SUM sets AX to the negated sum of Y14 and R10.
#define SUM \
	VEXTRACTI128 $1, Y14, X0 \
	VPADDQ  X14, X0, X0      \
	VPSRLDQ $8, X0, X1       \
	VPADDQ  X1, X0, X0       \
	VMOVQ   X0, AX           \
	ADDQ    R10, AX          \
	NEGQ    AX               \
	VZEROUPPER

// FIND looks for the element's bits in its line, and counts.
#define FIND \
	LINE    \
	HITS    \
	VERDICT \
	ADD

// FINDSPLIT does so where lanes belong to two parts.
#define FINDSPLIT \
	LINE      \
	HITSSPLIT \
	VERDICT   \
	ADDSPLIT

// EXCHANGE clears the bits in Y5 and Y6, and sets the element's.
#define EXCHANGE \
	APART        \
	LOSE(Y5, Y6) \
	SET

// ENDBITS returns R8 and the sum.
#define ENDBITS(MISSED, ADDED) \
	SUM              \
	MOVQ R8, MISSED  \
	MOVQ AX, ADDED   \
	RET

// One for an element that is inserted, marked by -1, else none.
DATA oneOrNone<>+0(SB)/8, $1
DATA oneOrNone<>+8(SB)/8, $0
GLOBL oneOrNone<>(SB), RODATA|NOPTR, $16

// func clearBitsAVX2(lines *[8]uint64, current, ahead *batch, n int, lanes *stableLanes) (missed, added uint64)
TEXT ·clearBitsAVX2(SB), NOSPLIT, $0-56
	BEGINBITS(split)

element:
	FIND
	RANDOM
	EXCHANGE
	NEXT(element)
	JMP  done

split:
	FINDSPLIT
	RANDOM
	LAST
	APART
	LOSE(Y5, Y6)
	LOSE(Y7, Y8)
	SET
	NEXT(split)

done:
	ENDBITS(missed+40(FP), added+48(FP))

// func clearInsertedAVX2(lines *[8]uint64, current, ahead *batch, n int, lanes *stableLanes, inserted uint64) (missed, added uint64)
//
// R12 is inserted, the bit of this element last.
TEXT ·clearInsertedAVX2(SB), NOSPLIT, $0-64
	MOVQ inserted+40(FP), R12
	BEGINBITS(split)

element:
	LINE
	HITS
	INSERTED(0xff)
	ADD
	RANDOM
	ONLY
	EXCHANGE
	NEXT(element)
	JMP  done

split:
	LINE
	HITSSPLIT
	INSERTED(0xffffffff)
	ADDSPLIT
	RANDOM
	ONLY
	LAST
	APART
	LOSE(Y5, Y6)
	LOSE(Y7, Y8)
	SET
	NEXT(split)

done:
	ENDBITS(missed+48(FP), added+56(FP))

// RUN computes the run to clear, none if Y7 is 0, removes it from the line and adds to
// R10 the number of its bits that were set. These lie in two neighboring lanes, so every
// other lane can be combined. DX must not wait for them: the next verdict waits for DX.
#define RUN \
	MOVQ    batch_random(SI)(CX*8), AX \
	VPSUBQ  Y7, Y9, Y7                   \
	VPAND   (R12)(AX*1), Y7, Y5          \
	VPAND   32(R12)(AX*1), Y7, Y6        \
	APART                                \
	VPAND   Y0, Y5, Y5                   \
	VPAND   Y1, Y6, Y6                   \
	VPXOR   Y5, Y0, Y0                   \
	VPXOR   Y6, Y1, Y1                   \
	VPOR    Y6, Y5, Y5                   \
	VEXTRACTI128 $1, Y5, X6              \
	VPOR    X6, X5, X5                   \
	VMOVQ   X5, AX                       \
	VPEXTRQ $1, X5, R15                  \
	POPCNTQ AX, AX                       \
	POPCNTQ R15, R15                     \
	ADDQ    AX, R10                      \
	ADDQ    R15, R10

// func clearRunsAVX2(lines *[8]uint64, current, ahead *batch, n int, lanes *stableLanes, runs *stableRuns) (missed, added uint64)
//
// R12 is the first run.
TEXT ·clearRunsAVX2(SB), NOSPLIT, $0-64
	MOVQ runs+40(FP), R12
	BEGINBITS(split)

element:
	FIND
	RUN
	SET
	NEXT(element)
	MOVQ n+24(FP), AX
	SHLQ $3, AX
	JMP  done

split:
	FINDSPLIT
	RUN
	SET
	NEXT(split)
	MOVQ n+24(FP), AX
	SHLQ $4, AX

done:
	SUBQ R10, AX
	MOVQ R8, missed+48(FP)
	MOVQ AX, added+56(FP)
	VZEROUPPER
	RET

// GATE sets all words of Y to the word of the line with the second random word's bit of
// part J.
#define GATE(J, Y) \
	MOVBLZX (batch_random+2*J+1)(SI)(CX*8), AX \
	VPBROADCASTQ (BX)(AX*8), Y

// OPEN sets X to ones in the lanes where Y7 has them and the bit of the second random
// word is set in X; the choice BIT takes the bit from Y9.
#define OPEN(BIT, X, T) \
	VPSHUFB BIT, Y9, T \
	VPSRLVQ T, X, X    \
	VPAND   Y7, X, X

// GATED computes the bits to clear from the ones in Y5 and Y6.
#define GATED \
	VPSHUFB Y10, Y2, Y8                     \
	VPSLLVQ Y8, Y5, Y5                      \
	VPSHUFB stableLanes_random+32(R14), Y2, Y8  \
	VPSLLVQ Y8, Y6, Y6

// OPENGATES computes the bits to clear from the words of the line in Y5 and Y6.
#define OPENGATES \
	VPBROADCASTQ batch_random(SI)(CX*8), Y9 \
	OPEN(Y12, Y5, Y8)                       \
	OPEN(Y11, Y6, Y8)                       \
	GATED                                   \
	VPXOR Y9, Y9, Y9

// func clearGatedAVX2(lines *[8]uint64, current, ahead *batch, n int, lanes *stableLanes) (missed, added uint64)
//
// The loop with two parts looks at two gates, the loop with one or four at four. The loop
// with three takes the third gate for a lane's last part where a lane has two.
TEXT ·clearGatedAVX2(SB), NOSPLIT, $0-56
	BEGINBITS(split)
	CMPQ stableLanes_k(R14), $2
	JNE  quarters

element:
	FIND
	LEAQ (DI)(BX*1), BX
	VPBROADCASTQ batch_random(SI)(CX*8), Y9
	GATE(0, Y5)
	GATE(1, Y6)
	OPEN(Y12, Y5, Y8)
	OPEN(Y11, Y6, Y8)
	GATED
	VPXOR Y9, Y9, Y9
	SUBQ DI, BX
	EXCHANGE
	NEXT(element)
	JMP  done

quarters:
	FIND
	LEAQ (DI)(BX*1), BX
	GATE(0, Y5)
	GATE(1, Y9)
	GATE(2, Y6)
	GATE(3, Y8)
	VPBLENDD $0xf0, Y9, Y5, Y5
	VPBLENDD $0xf0, Y8, Y6, Y6
	OPENGATES
	SUBQ DI, BX
	EXCHANGE
	NEXT(quarters)
	JMP  done

split:
	FINDSPLIT
	LEAQ (DI)(BX*1), BX
	GATE(0, Y5)
	GATE(1, Y9)
	GATE(2, Y6)
	VPBLENDD $0xc0, Y9, Y5, Y5
	VPBLENDD $0x0f, Y9, Y6, Y6
	OPENGATES
	APART
	LOSE(Y5, Y6)
	GATE(1, Y5)
	GATE(2, Y8)
	VPBROADCASTQ batch_random(SI)(CX*8), Y9
	OPEN(stableLanes_ownLast(R14), Y5, Y6)
	OPEN(stableLanes_ownLast+32(R14), Y8, Y6)
	VPAND stableLanes_shared(R14), Y5, Y7
	VPAND stableLanes_shared+32(R14), Y8, Y8
	LASTOF
	SUBQ DI, BX
	LOSE(Y7, Y8)
	SET
	NEXT(split)

done:
	ENDBITS(missed+40(FP), added+48(FP))
