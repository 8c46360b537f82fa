// SPDX-License-Identifier: Apache-2.0

//go:build arm64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "common_arm64.h"

// Growing Bloom filters (Advanced SIMD): a line is four registers, two words each.
// Registers are as in common_arm64.h. R10 has the salts, R11 the number of rounds. V26 is
// ones. V28 counts the bits that were added.

// The place of a batch's digests, when R1 has moved on by one element.
#define LOW 504

// UMULL and UMULL2 multiply two of four words of 32 bits, MLA multiplies four of them and
// adds, USHL shifts words of 64 bits by signed bytes. The assembler does not know them.
#define UMULL(M, N, D) WORD $(0x2ea0c000 | M<<16 | N<<5 | D)
#define UMULL2(M, N, D) WORD $(0x6ea0c000 | M<<16 | N<<5 | D)
#define MLA(M, N, D) WORD $(0x4ea09400 | M<<16 | N<<5 | D)
#define USHL(M, N, D) WORD $(0x6ee04400 | M<<16 | N<<5 | D)

#define BEGINBITS \
	BEGINHALVES                     \
	MOVD salts+32(FP), R10    \
	MOVD rounds+40(FP), R11   \
	MOVD $1, R8               \
	VDUP R8, V26.D2

// FOUR sets V20 to the places of the bits of four words: with a and b the halves of the
// digest, which V5 and V4 have, and c and d the halves of the words' salts, high first,
// the highest six bits of b*d + (a*d + b*c) << 32.
#define FOUR \
	VLD2.P 32(R8), [V16.S4, V17.S4]       \
	UMULL(4, 16, 18)                      \
	UMULL2(4, 16, 19)                     \
	VUZP2  V19.S4, V18.S4, V20.S4         \
	MLA(5, 16, 20)                        \
	MLA(4, 17, 20)                        \
	VUSHR  $26, V20.S4, V20.S4

// LINE loads the line of this element, makes its bits V8 to V11, adds them to the line,
// which then is V12 to V15, and sets V0 to V3 to the bits that the line lacked.
#define LINE(ROUND) \
	LOADLINE                              \
	MOVD LOW(R1), R8                   \
	VMOV R8, V6.D[0]                   \
	VDUP V6.S[0], V4.S4                \
	VDUP V6.S[1], V5.S4                \
	VMOV V0.B16, V12.B16               \
	VMOV V1.B16, V13.B16               \
	VMOV V2.B16, V14.B16               \
	VMOV V3.B16, V15.B16               \
	MOVD R10, R8                       \
	MOVD R11, R9                       \
ROUND:                                 \
	FOUR                               \
	VUXTL  V20.S2, V8.D2               \
	VUXTL2 V20.S4, V9.D2               \
	FOUR                               \
	VUXTL  V20.S2, V10.D2              \
	VUXTL2 V20.S4, V11.D2              \
	USHL(8, 26, 8)                     \
	USHL(9, 26, 9)                     \
	USHL(10, 26, 10)                   \
	USHL(11, 26, 11)                   \
	VORR   V8.B16, V12.B16, V12.B16    \
	VORR   V9.B16, V13.B16, V13.B16    \
	VORR   V10.B16, V14.B16, V14.B16   \
	VORR   V11.B16, V15.B16, V15.B16   \
	SUBS   $1, R9, R9                  \
	BNE    ROUND                       \
	VEOR   V12.B16, V0.B16, V0.B16     \
	VEOR   V13.B16, V1.B16, V1.B16     \
	VEOR   V14.B16, V2.B16, V2.B16     \
	VEOR   V15.B16, V3.B16, V3.B16     \
	VORR   V1.B16, V0.B16, V4.B16      \
	VORR   V3.B16, V2.B16, V5.B16      \
	VORR   V5.B16, V4.B16, V4.B16      \
	VUADDLV V4.B16, V4                 \
	VMOV   V4.H[0], R8                 \
	CMP    $0, R8                      \
	CSET   NE, R9                      \
	ADD    R5<<1, R9, R5

// func testBloomNEON(lines *[8]uint64, current, ahead *batch, n int, salts *bloomSalts, rounds int) (missed uint64)
TEXT ·testBloomNEON(SB), NOSPLIT, $0-56
	BEGINBITS

element:
	LINE(round)
	NEXT(element)
	MOVD R5, missed+48(FP)
	RET

// func testAndSetBloomNEON(lines *[8]uint64, current, ahead *batch, n int, salts *bloomSalts, rounds int) (missed, added uint64)
TEXT ·testAndSetBloomNEON(SB), NOSPLIT, $0-64
	BEGINBITS
	VEOR V28.B16, V28.B16, V28.B16

element:
	LINE(round)
	VST1 [V12.B16, V13.B16, V14.B16, V15.B16], (R7)
	VCNT V0.B16, V0.B16
	VCNT V1.B16, V1.B16
	VCNT V2.B16, V2.B16
	VCNT V3.B16, V3.B16
	VADD V1.B16, V0.B16, V0.B16
	VADD V3.B16, V2.B16, V2.B16
	VADD V2.B16, V0.B16, V0.B16
	VUADDW V0.B8, V28.H8, V28.H8
	VUADDW2 V0.B16, V28.H8, V28.H8
	NEXT(element)
	VUADDLV V28.H8, V28
	VMOV V28.S[0], R8
	MOVD R5, missed+48(FP)
	MOVD R8, added+56(FP)
	RET
