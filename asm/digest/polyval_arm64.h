// SPDX-License-Identifier: Apache-2.0

// POLYVAL (RFC 8452) of messages, each by itself, and the encryption of it.
//
//	R0 dst  R1 buf  R2 end of buf  R3 message  R4 messages left  R6 H in the messageKey
//	R9 next block  R10 bytes left less 1, then last block  R11 end of message
//	R12 power of the next block  R13 middle of the masks of last blocks
//	R19 mask of the next block, R20 number of the next mask, R21 masks, where MASKED is defined
//	V0 sum of the groups before  V16 to V26 round keys
//	V27 the bits of the modulus from x^64 to x^127, as a word
//	V28 the bytes of a Message that count
//
// A product of elements has 256 bits. The sum of the products is V1, and V3 times x^128,
// and V2 times x^64. V2 has products of sums of words, which hold V1 and V3, too
// (Karatsuba).

// H is where a messageKey has H, after the round keys, H^2 and so on, 32 bytes each.
#define H 176

// BLOCK loads the next block to V4.
#define BLOCK VLD1.P 16(R9), [V4.B16]

#ifdef MASKED
// MASKEDBLOCK is BLOCK for one of the first eight blocks of a message or of a group.
#define MASKEDBLOCK \
	BLOCK                          \
	VLD1.P 16(R19), [V5.B16]       \
	VAND   V5.B16, V4.B16, V4.B16
#else
#define MASKEDBLOCK BLOCK
#endif

// FACTORS loads the next power and the sums of its words to V29 and V30, and sets V5 to the
// sum of the words of V4.
#define FACTORS \
	VLD1 (R12), [V29.B16, V30.B16]     \
	SUB  $32, R12, R12                 \
	VEXT $8, V4.B16, V4.B16, V5.B16    \
	VEOR V4.B16, V5.B16, V5.B16

// MULTIPLY begins the sum with the product of V4 and the next power.
#define MULTIPLY \
	FACTORS                          \
	VPMULL  V29.D1, V4.D1, V1.Q1     \
	VPMULL2 V29.D2, V4.D2, V3.Q1     \
	VPMULL  V30.D1, V5.D1, V2.Q1

// ADD1 adds the product of V4 and the next power to the sum.
#define ADD1 \
	FACTORS                          \
	VPMULL  V29.D1, V4.D1, V6.Q1     \
	VPMULL2 V29.D2, V4.D2, V7.Q1     \
	VPMULL  V30.D1, V5.D1, V5.Q1     \
	VEOR    V6.B16, V1.B16, V1.B16   \
	VEOR    V7.B16, V3.B16, V3.B16   \
	VEOR    V5.B16, V2.B16, V2.B16

// GROUP adds the next block of a group, and MASKEDGROUP one of the first eight.
#define GROUP \
	BLOCK \
	ADD1

#define MASKEDGROUP \
	MASKEDBLOCK \
	ADD1

// REDUCE sets V0 to the sum times x^-128. It adds the modulus, times the low word of the
// sum, and divides by x^64, twice.
#define REDUCE \
	VEOR   V1.B16, V2.B16, V2.B16      \
	VEOR   V3.B16, V2.B16, V2.B16      \
	VPMULL V27.D1, V1.D1, V4.Q1        \
	VEXT   $8, V1.B16, V1.B16, V1.B16  \
	VEOR   V2.B16, V1.B16, V1.B16      \
	VEOR   V4.B16, V1.B16, V1.B16      \
	VPMULL V27.D1, V1.D1, V4.Q1        \
	VEXT   $8, V1.B16, V1.B16, V1.B16  \
	VEOR   V3.B16, V1.B16, V1.B16      \
	VEOR   V4.B16, V1.B16, V0.B16

// The text of sumMessagesNEON and sumMaskedNEON.
	MOVD dst+0(FP), R0
	MOVD buf+8(FP), R1
	MOVD size+16(FP), R2
	MOVD msgs+24(FP), R3
	MOVD n+32(FP), R4
	MOVD key+40(FP), R5
	ADD  R1, R2, R2
	ADD  $H, R5, R6
	KEYS(R5)
	MOVD $·blockMasks+16(SB), R13
	VEOR V28.B16, V28.B16, V28.B16
	MOVD $0xffffffff00000000, R7
	VMOV R7, V28.D[0]
	MOVD $-1, R7
	VMOV R7, V28.D[1]
	MOVD $0xc200000000000000, R7
	VMOV R7, V27.D[0]
#ifdef MASKED
	MOVD which+48(FP), R20
	MOVD masks+56(FP), R21
#endif

message:
	MOVWU (R3), R9
	MOVWU 4(R3), R10
	ADD   R1, R9, R9
	ADD   R9, R10, R11
	CMP   R2, R11
	BHI   done
#ifdef MASKED
	MOVBU.P 1(R20), R19
	ADD   R19<<7, R21, R19
#endif
	SUB   $1, R10, R10
	CMP   $256, R10
	BHS   groups

	// The last block comes first: its products begin the sum.
rest:
	BIC  $15, R10, R10
	ADD  R10<<1, R6, R8
	ADD  R9, R10, R10
	SUB  R10, R11, R11
	ADD  $16, R10, R7
	CMP  R2, R7
	BHI  copy
	SUB  R11, R13, R7
	VLD1 (R10), [V4.B16]
	VLD1 (R7), [V5.B16]
	VAND V5.B16, V4.B16, V4.B16

last:
#ifdef MASKED
	SUB  R9, R10, R7
	CMP  $128, R7
	BHS  whole
	ADD  R19, R7, R7
	VLD1 (R7), [V5.B16]
	VAND V5.B16, V4.B16, V4.B16

whole:
#endif
	MOVD R6, R12
	MULTIPLY
	MOVD R8, R12
	CMP  R9, R10
	BEQ  before
#ifdef MASKED
	ADD  $128, R19, R8

maskedblock:
	MASKEDGROUP
	CMP R9, R10
	BEQ before
	CMP R19, R8
	BNE maskedblock
#endif

block:
	BLOCK
	ADD1
	CMP R9, R10
	BNE block

before:
	MOVWU 4(R3), R7
	CMP   $256, R7
	BHI   join

reduce:
	REDUCE

encrypt:
	VLD1.P 16(R3), [V4.B16]
	VAND   V28.B16, V4.B16, V4.B16
	VEOR   V4.B16, V0.B16, V0.B16
	ENCRYPT1
	VST1.P [V0.B16], 16(R0)
	SUBS   $1, R4, R4
	BNE    message

done:
	MOVD n+32(FP), R7
	SUB  R4, R7, R7
	MOVD R7, DONE
	RET

	// Behind the last block buf ends: a copy of the block is padded.
copy:
	VEOR V4.B16, V4.B16, V4.B16
	MOVD $block-16(SP), R7
	VST1 [V4.B16], (R7)
	SUB  $1, R10, R12
	SUB  $1, R7, R14

byte:
	MOVBU (R12)(R11), R15
	MOVB  R15, (R14)(R11)
	SUBS  $1, R11, R11
	BNE   byte
	VLD1  (R7), [V4.B16]
	JMP   last

	// More than 16 blocks, or none. The sum of the groups before is part of the first block.
groups:
	VEOR V0.B16, V0.B16, V0.B16
	CMN  $1, R10
	BEQ  encrypt

group:
	ADD  $(14*32), R6, R12
	MASKEDBLOCK
	VMOV V4.B16, V31.B16
	MASKEDBLOCK
	MULTIPLY
	MASKEDGROUP
	MASKEDGROUP
	MASKEDGROUP
	MASKEDGROUP
	MASKEDGROUP
	MASKEDGROUP
	GROUP
	GROUP
	GROUP
	GROUP
	GROUP
	GROUP
	GROUP
	GROUP
	ADD  $(15*32), R6, R12
	VEOR V31.B16, V0.B16, V4.B16
	ADD1
	REDUCE
#ifdef MASKED
	// Mask 0 has no effect: it is for what lies behind the first group.
	MOVD R21, R19
#endif
	SUB  $256, R10, R10
	CMP  $256, R10
	BHS  group
	JMP  rest

	// The first block after the groups has the power H^(n+1), for 16n bytes before the last.
join:
	SUB  $1, R7, R7
	AND  $0xf0, R7, R7
	ADD  R7<<1, R6, R12
	VMOV V0.B16, V4.B16
	ADD1
	JMP  reduce
