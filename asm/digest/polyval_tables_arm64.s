// SPDX-License-Identifier: Apache-2.0

//go:build arm64 && !purego

#include "textflag.h"

// POLYVAL (RFC 8452) of messages by polyvalTables, on CPUs without PMULL of 64 bits.
//
//	R0 dst  R1 buf  R2 end of buf  R3 message  R4 messages left
//	R5 next block  R6 bytes left  R7, R8 words of the sum  R9 scratch
//	R10 to R17 and R19 to R26 tables
//	V0 sum  V0 to V15 entries  V28 the bytes of a Message that count  V29 0 to 15

// ENTRY loads the entry with the number in register INDEX of the table at register TABLE, to TO.
#define ENTRY(TABLE, INDEX, TO) WORD $(0x3ce07800 + INDEX<<16 + TABLE<<5 + TO) // LDR Q, [R, R, LSL #4]

// BYTE is ENTRY of byte BIT/8 of WORD64.
#define BYTE(BIT, WORD64, TABLE, TO) \
	UBFX $BIT, WORD64, $8, R9 \
	ENTRY(TABLE, 9, TO)

// BYTES loads the entries of bytes at equal places of both words.
#define BYTES(BIT, LOW, HIGH, TO) \
	BYTE(BIT, R7, LOW, TO)   \
	BYTE(BIT, R8, HIGH, TO+1)

// FOLD adds B, C and D to A.
#define FOLD(A, B, C, D) \
	VEOR B.B16, A.B16, A.B16 \
	VEOR D.B16, C.B16, C.B16 \
	VEOR C.B16, A.B16, A.B16

// PRODUCT sets V0 to the product of R7 and R8.
#define PRODUCT \
	BYTES(0, 10, 19, 0)    \
	BYTES(8, 11, 20, 2)    \
	BYTES(16, 12, 21, 4)   \
	BYTES(24, 13, 22, 6)   \
	BYTES(32, 14, 23, 8)   \
	BYTES(40, 15, 24, 10)  \
	BYTES(48, 16, 25, 12)  \
	BYTES(56, 17, 26, 14)  \
	FOLD(V0, V1, V2, V3)   \
	FOLD(V4, V5, V6, V7)   \
	FOLD(V8, V9, V10, V11) \
	FOLD(V12, V13, V14, V15) \
	FOLD(V0, V4, V8, V12)

// ADDPRODUCT adds the block in V1 and multiplies.
#define ADDPRODUCT \
	VEOR V1.B16, V0.B16, V0.B16 \
	VMOV V0.D[0], R7            \
	VMOV V0.D[1], R8            \
	PRODUCT

// TABLES sets the pointers to two tables.
#define TABLES(AT, FIRST, SECOND) \
	ADD $(AT*4096), R10, FIRST \
	ADD $(AT*4096+4096), R10, SECOND

// func polyvalARM64(dst *Digest, buf *byte, size int, msgs *Message, n int, tables *polyvalTables) (done int)
TEXT ·polyvalARM64(SB), NOSPLIT, $16-56
	MOVD dst+0(FP), R0
	MOVD buf+8(FP), R1
	MOVD size+16(FP), R2
	MOVD msgs+24(FP), R3
	MOVD n+32(FP), R4
	MOVD tables+40(FP), R10
	ADD  R1, R2, R2
	ADD  $4096, R10, R11
	TABLES(2, R12, R13)
	TABLES(4, R14, R15)
	TABLES(6, R16, R17)
	TABLES(8, R19, R20)
	TABLES(10, R21, R22)
	TABLES(12, R23, R24)
	TABLES(14, R25, R26)
	VEOR V28.B16, V28.B16, V28.B16
	MOVD $0xffffffff00000000, R7
	VMOV R7, V28.D[0]
	MOVD $-1, R7
	VMOV R7, V28.D[1]
	MOVD $0x0706050403020100, R7
	VMOV R7, V29.D[0]
	MOVD $0x0f0e0d0c0b0a0908, R7
	VMOV R7, V29.D[1]

message:
	LDPW (R3), (R5, R6)
	ADD  R1, R5, R5
	ADD  R5, R6, R7
	CMP  R2, R7
	BHI  done
	SUBS $16, R6, R6
	BLT  short
	LDP.P 16(R5), (R7, R8)
	PRODUCT
	SUBS $16, R6, R6
	BLT  rest

whole:
	VLD1.P 16(R5), [V1.B16]
	ADDPRODUCT
	SUBS $16, R6, R6
	BGE  whole

	// The last block is the end of the 16 bytes before the end of the message.
rest:
	CMN  $16, R6
	BEQ  next
	ADD  R6, R5, R5
	VLD1 (R5), [V1.B16]
	NEG  R6, R6
	VDUP R6, V2.B16
	VADD V29.B16, V2.B16, V2.B16
	VTBL V2.B16, [V1.B16], V1.B16
	ADDPRODUCT

next:
	VLD1.P 16(R3), [V1.B16]
	VAND   V28.B16, V1.B16, V1.B16
	VEOR   V1.B16, V0.B16, V0.B16
	VST1.P [V0.B16], 16(R0)
	SUBS   $1, R4, R4
	BNE    message

done:
	MOVD n+32(FP), R7
	SUB  R4, R7, R7
	MOVD R7, done+48(FP)
	RET

	// A message of less than a block may lie at either end of buf: a copy is padded.
short:
	VEOR V0.B16, V0.B16, V0.B16
	ADDS $16, R6, R6
	BEQ  next
	MOVD $block-16(SP), R7
	VST1 [V0.B16], (R7)

byte:
	SUBS $1, R6, R6
	MOVBU (R5)(R6), R8
	MOVB  R8, (R7)(R6)
	BNE  byte
	VLD1 (R7), [V1.B16]
	ADDPRODUCT
	JMP  next
