// SPDX-License-Identifier: Apache-2.0

//go:build arm64 && !purego

#include "textflag.h"

// POLYVAL (RFC 8452) of messages by polyvalTables, on CPUs without PMULL of 64 bits.
//
//	R0 dst  R1 buf  R2 end of buf  R3 message  R4 messages left
//	R5 next block  R6 bytes left  R7, R8 words of the sum  R9 scratch
//	R10 to R17 and R19 to R26 tables
//	V0 sum  V0 to V15 entries  V28 the bytes of a Message that count

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

message:
	MOVWU (R3), R5
	MOVWU 4(R3), R6
	ADD   R1, R5, R5
	ADD   R5, R6, R7
	CMP   R2, R7
	BHI   done
	VEOR  V0.B16, V0.B16, V0.B16
	SUBS  $16, R6, R6
	BLT   rest

whole:
	VLD1.P 16(R5), [V1.B16]

product:
	VEOR V1.B16, V0.B16, V0.B16
	VMOV V0.D[0], R7
	VMOV V0.D[1], R8
	BYTES(0, 10, 19, 0)
	BYTES(8, 11, 20, 2)
	BYTES(16, 12, 21, 4)
	BYTES(24, 13, 22, 6)
	BYTES(32, 14, 23, 8)
	BYTES(40, 15, 24, 10)
	BYTES(48, 16, 25, 12)
	BYTES(56, 17, 26, 14)
	FOLD(V0, V1, V2, V3)
	FOLD(V4, V5, V6, V7)
	FOLD(V8, V9, V10, V11)
	FOLD(V12, V13, V14, V15)
	FOLD(V0, V4, V8, V12)
	SUBS $16, R6, R6
	BGE  whole

rest:
	ADDS $16, R6, R6
	BEQ  next
	ADD  $16, R5, R7
	CMP  R2, R7
	BHI  copy
	MOVD $·blockMasks+16(SB), R7
	SUB  R6, R7, R7
	VLD1 (R5), [V1.B16]
	VLD1 (R7), [V2.B16]
	VAND V2.B16, V1.B16, V1.B16
	MOVD $0, R6
	JMP  product

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

	// Behind the last block buf ends: a copy of the block is padded.
copy:
	VEOR V1.B16, V1.B16, V1.B16
	MOVD $block-16(SP), R7
	VST1 [V1.B16], (R7)

byte:
	SUBS $1, R6, R6
	MOVBU (R5)(R6), R8
	MOVB  R8, (R7)(R6)
	BNE  byte
	VLD1 (R7), [V1.B16]
	JMP  product
