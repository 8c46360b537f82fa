// SPDX-License-Identifier: Apache-2.0

//go:build arm64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "common_arm64.h"

// Bit lines of unbounded streams (Advanced SIMD): a line is four registers, two lanes
// each. No verdict makes a branch.
//
// Registers are as in common_arm64.h. V4 has an element's bytes, V5 and V6 with the flips
// of V24 and V25, V8 to V11 its bits, V12 to V15 the bits to clear. V16 to V19 and V20 to
// V23 are own and random of stableLanes. R12 has the lanes. V26 is ones. V28 counts the
// bits before, V29 the bits after. V7, V27, V30 and V31 are free.

// The places of a batch's digests and random words, when R1 has moved on by one element.
#define LOW 504
#define DRAW 1016

// USHL shifts words of 64 bits by signed bytes. The assembler does not know it.
#define USHL(M, N, D) WORD $(0x6ee04400 | M<<16 | N<<5 | D)

// BEGINBITS goes to SPLIT if lanes belong to two parts.
#define BEGINBITS(SPLIT) \
	BEGINHALVES                                                \
	MOVD lanes+32(FP), R12                               \
	VLD1 (R12), [V24.B16, V25.B16]                       \
	ADD  $stableLanes_own, R12, R8                          \
	VLD1 (R8), [V16.B16, V17.B16, V18.B16, V19.B16]      \
	ADD  $stableLanes_random, R12, R8                        \
	VLD1 (R8), [V20.B16, V21.B16, V22.B16, V23.B16]      \
	MOVD $1, R8                                          \
	VDUP R8, V26.D2                                      \
	VEOR V28.B16, V28.B16, V28.B16                       \
	VEOR V29.B16, V29.B16, V29.B16                       \
	MOVD stableLanes_split(R12), R8                         \
	CBNZ R8, SPLIT

// LINE loads the line of this element and makes its bits.
#define LINE \
	LOADLINE                                \
	MOVD LOW(R1), R8                     \
	VDUP R8, V4.D2                       \
	VEOR V24.B16, V4.B16, V5.B16         \
	VEOR V25.B16, V4.B16, V6.B16         \
	VTBL V16.B16, [V5.B16], V8.B16       \
	VTBL V17.B16, [V6.B16], V9.B16       \
	VTBL V18.B16, [V5.B16], V10.B16      \
	VTBL V19.B16, [V6.B16], V11.B16      \
	USHL(8, 26, 8)                       \
	USHL(9, 26, 9)                       \
	USHL(10, 26, 10)                     \
	USHL(11, 26, 11)

// LAST sets X and Y to the bits that the last parts of the second and third two lanes
// choose, with the choices AT of stableLanes. T has ones.
#define LAST(AT, T, X, Y) \
	ADD  $(AT+16), R12, R8               \
	VLD1.P 16(R8), [V27.B16]             \
	VLD1 (R8), [V31.B16]                 \
	VTBL V27.B16, [V6.B16], V27.B16      \
	VTBL V31.B16, [V5.B16], V31.B16      \
	USHL(27, T, 27)                      \
	USHL(31, T, 31)                      \
	VORR V27.B16, X.B16, X.B16           \
	VORR V31.B16, Y.B16, Y.B16

// COUNT adds the bits of the line, of each byte, to SUM.
#define COUNT(SUM) \
	VCNT V0.B16, V4.B16           \
	VCNT V1.B16, V7.B16           \
	VCNT V2.B16, V30.B16          \
	VCNT V3.B16, V31.B16          \
	VADD V7.B16, V4.B16, V4.B16   \
	VADD V31.B16, V30.B16, V30.B16 \
	VADD V30.B16, V4.B16, V4.B16  \
	VUADDW V4.B8, SUM.H8, SUM.H8  \
	VUADDW2 V4.B16, SUM.H8, SUM.H8

// VERDICT collects whether one of the element's bits is missing, and sets R9 to 1 if so,
// else to 0.
#define VERDICT \
	VORR V8.B16, V0.B16, V4.B16    \
	VORR V9.B16, V1.B16, V7.B16    \
	VORR V10.B16, V2.B16, V30.B16  \
	VORR V11.B16, V3.B16, V31.B16  \
	VEOR V0.B16, V4.B16, V4.B16    \
	VEOR V1.B16, V7.B16, V7.B16    \
	VEOR V2.B16, V30.B16, V30.B16  \
	VEOR V3.B16, V31.B16, V31.B16  \
	VORR V7.B16, V4.B16, V4.B16    \
	VORR V31.B16, V30.B16, V30.B16 \
	VORR V30.B16, V4.B16, V4.B16   \
	VUADDLV V4.B16, V4             \
	VMOV V4.H[0], R8               \
	CMP  $0, R8                    \
	CSET NE, R9                    \
	ADD  R5<<1, R9, R5

// RANDOM computes the bits to clear from the bytes of the random word, none if R9 is 0.
// It leaves R9 in V30.
#define RANDOM \
	VDUP R9, V30.D2                     \
	VTBL V20.B16, [V5.B16], V12.B16     \
	VTBL V21.B16, [V6.B16], V13.B16     \
	VTBL V22.B16, [V5.B16], V14.B16     \
	VTBL V23.B16, [V6.B16], V15.B16     \
	USHL(12, 30, 12)                    \
	USHL(13, 30, 13)                    \
	USHL(14, 30, 14)                    \
	USHL(15, 30, 15)

// MASK ANDs four registers with V30.
#define MASK(A, B, C, D) \
	VAND V30.B16, A.B16, A.B16 \
	VAND V30.B16, B.B16, B.B16 \
	VAND V30.B16, C.B16, C.B16 \
	VAND V30.B16, D.B16, D.B16

// SET stores the line without the bits to clear and with the element's bits, and counts
// its bits before and after.
#define SET \
	COUNT(V28)                                        \
	VEOR V27.B16, V27.B16, V27.B16                    \
	VBIT V12.B16, V27.B16, V0.B16                     \
	VBIT V13.B16, V27.B16, V1.B16                     \
	VBIT V14.B16, V27.B16, V2.B16                     \
	VBIT V15.B16, V27.B16, V3.B16                     \
	VORR V8.B16, V0.B16, V0.B16                       \
	VORR V9.B16, V1.B16, V1.B16                       \
	VORR V10.B16, V2.B16, V2.B16                      \
	VORR V11.B16, V3.B16, V3.B16                      \
	VST1 [V0.B16, V1.B16, V2.B16, V3.B16], (R7)       \
	COUNT(V29)

// SUM sets R8 to the excess of V29 over V28.
#define SUM \
	VUADDLV V28.H8, V28  \
	VUADDLV V29.H8, V29  \
	VMOV V28.S[0], R9    \
	VMOV V29.S[0], R8    \
	SUB  R9, R8, R8

// func clearBitsNEON(lines *[8]uint64, current, ahead *batch, n int, lanes *stableLanes) (missed, added uint64)
TEXT ·clearBitsNEON(SB), NOSPLIT, $0-56
	BEGINBITS(split)

element:
	LINE
	VERDICT
	RANDOM
	SET
	NEXT(element)
	B    done

split:
	LINE
	LAST(stableLanes_ownLast, 26, V9, V10)
	VERDICT
	RANDOM
	LAST(stableLanes_randomLast, 30, V13, V14)
	SET
	NEXT(split)

done:
	SUM
	MOVD R5, missed+40(FP)
	MOVD R8, added+48(FP)
	RET

// func clearInsertedNEON(lines *[8]uint64, current, ahead *batch, n int, lanes *stableLanes, inserted uint64) (missed, added uint64)
//
// R14 is inserted, the bit of this element last.
TEXT ·clearInsertedNEON(SB), NOSPLIT, $0-64
	MOVD inserted+40(FP), R14
	BEGINBITS(split)

element:
	LINE
	VERDICT
	AND  $1, R14, R9
	LSR  $1, R14, R14
	RANDOM
	NEG  R9, R9
	VDUP R9, V30.D2
	MASK(V8, V9, V10, V11)
	SET
	NEXT(element)
	B    done

split:
	LINE
	LAST(stableLanes_ownLast, 26, V9, V10)
	VERDICT
	AND  $1, R14, R9
	LSR  $1, R14, R14
	RANDOM
	LAST(stableLanes_randomLast, 30, V13, V14)
	NEG  R9, R9
	VDUP R9, V30.D2
	MASK(V8, V9, V10, V11)
	SET
	NEXT(split)

done:
	SUM
	MOVD R5, missed+48(FP)
	MOVD R8, added+56(FP)
	RET

// RUN computes the run to clear, none if R9 is 0. The run begins at bit
// r1*span/2^64.
#define RUN \
	MOVD  DRAW(R1), R8                                 \
	UMULH R10, R8, R8                                  \
	LSR   $3, R8, R11                                  \
	NEG   R11, R11                                     \
	AND   $63, R11, R11                                \
	UBFIZ $7, R8, $3, R8                               \
	ADD   R8, R11, R11                                 \
	ADD   R14, R11, R11                                 \
	VLD1  (R11), [V12.B16, V13.B16, V14.B16, V15.B16]  \
	NEG   R9, R9                                       \
	VDUP  R9, V30.D2                                   \
	MASK(V12, V13, V14, V15)

// func clearRunsNEON(lines *[8]uint64, current, ahead *batch, n int, lanes *stableLanes, runs *stableRuns, span uint64) (missed, added uint64)
//
// R14 is the first run, R10 the span.
TEXT ·clearRunsNEON(SB), NOSPLIT, $0-72
	MOVD runs+40(FP), R14
	MOVD span+48(FP), R10
	BEGINBITS(split)

element:
	LINE
	VERDICT
	RUN
	SET
	NEXT(element)
	B    done

split:
	LINE
	LAST(stableLanes_ownLast, 26, V9, V10)
	VERDICT
	RUN
	SET
	NEXT(split)

done:
	SUM
	MOVD R5, missed+56(FP)
	MOVD R8, added+64(FP)
	RET

// OPEN sets V30 and V31 to all ones in the lanes whose bit of the second random word, in
// V27, is set: BYTE0 or BYTE1 chooses the byte of the line, and BIT0 or BIT1 the bit.
#define OPEN(BYTE0, BIT0, BYTE1, BIT1) \
	VTBL   BYTE0.B16, [V27.B16], V30.B16                            \
	VTBL   BYTE1.B16, [V27.B16], V31.B16                            \
	VTBL   V30.B16, [V0.B16, V1.B16, V2.B16, V3.B16], V30.B16       \
	VTBL   V31.B16, [V0.B16, V1.B16, V2.B16, V3.B16], V31.B16       \
	VTBL   BIT0.B16, [V27.B16], V4.B16                              \
	VTBL   BIT1.B16, [V27.B16], V7.B16                              \
	VCMTST V4.B16, V30.B16, V30.B16                                 \
	VCMTST V7.B16, V31.B16, V31.B16

// GATES leaves the bits to clear where the bits of the second random word are set.
#define GATES \
	MOVD DRAW(R1), R8                       \
	VDUP R8, V27.D2                         \
	OPEN(V16, V20, V17, V21)                \
	VAND V30.B16, V12.B16, V12.B16          \
	VAND V31.B16, V13.B16, V13.B16          \
	OPEN(V18, V22, V19, V23)                \
	VAND V30.B16, V14.B16, V14.B16          \
	VAND V31.B16, V15.B16, V15.B16

// func clearGatedNEON(lines *[8]uint64, current, ahead *batch, n int, lanes *stableLanes) (missed, added uint64)
TEXT ·clearGatedNEON(SB), NOSPLIT, $0-56
	BEGINBITS(split)

element:
	LINE
	VERDICT
	RANDOM
	GATES
	SET
	NEXT(element)
	B    done

split:
	LINE
	LAST(stableLanes_ownLast, 26, V9, V10)
	VERDICT
	RANDOM
	GATES
	// The bits to clear of the last parts, V5 and V6, have separate gates.
	ADD  $(stableLanes_ownLast+16), R12, R8
	VLD1 (R8), [V16.B16, V17.B16]
	ADD  $(stableLanes_randomLast+16), R12, R8
	VLD1 (R8), [V20.B16, V21.B16]
	VDUP R9, V4.D2
	VTBL V20.B16, [V6.B16], V6.B16
	VTBL V21.B16, [V5.B16], V5.B16
	USHL(6, 4, 6)
	USHL(5, 4, 5)
	OPEN(V16, V20, V17, V21)
	VAND V30.B16, V6.B16, V6.B16
	VAND V31.B16, V5.B16, V5.B16
	VORR V6.B16, V13.B16, V13.B16
	VORR V5.B16, V14.B16, V14.B16
	ADD  $stableLanes_own, R12, R8
	VLD1 (R8), [V16.B16, V17.B16]
	ADD  $stableLanes_random, R12, R8
	VLD1 (R8), [V20.B16, V21.B16]
	SET
	NEXT(split)

done:
	SUM
	MOVD R5, missed+40(FP)
	MOVD R8, added+48(FP)
	RET
