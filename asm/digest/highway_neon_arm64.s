// SPDX-License-Identifier: Apache-2.0

//go:build arm64 && !purego

#include "textflag.h"

// HighwayHash-128 of two messages at a time (NEON), so that each fills the other's waits.
// A register holds two of the four words that make a part of the state.
//
//	message      0         1
//	words        0,1 2,3   0,1 2,3
//	v0           V0  V1    V8  V9
//	v1           V2  V3    V10 V11
//	mul0         V4  V5    V12 V13
//	mul1         V6  V7    V14 V15
//	packet       V16 V17   V18 V19
//	scratch      V20 - V23 V24 - V27
//	V31 zipper
//
//	R0 dst  R1 buffer  R2 messages  R3 order  R4 groups  R6 start  R7 table of remainders
//	R5 distance from the buffer to the same byte of front
//	R8, R9 the messages' next bytes  R10, R11 their lengths  R12, R13 their packets
//	R19 16 bytes into the buffer

// Instructions that the assembler lacks, for the registers of each message: MULTIPLY
// multiplies the words of 32 bits of the first scratch register by the second's, the low
// half to the third, the high half to the fourth; ROTATE rotates the words of v1 to the
// left by the first scratch register, which is the second plus 32.

#define MULTIPLY0 \
	WORD $0x2eb5c296 \ // UMULL  V21.S2, V20.S2, V22.D2
	WORD $0x6eb5c297   // UMULL2 V21.S4, V20.S4, V23.D2

#define MULTIPLY1 \
	WORD $0x2eb9c31a \ // UMULL  V25.S2, V24.S2, V26.D2
	WORD $0x6eb9c31b   // UMULL2 V25.S4, V24.S4, V27.D2

#define ROTATE0 \
	WORD $0x6eb44456 \ // USHL V20.S4, V2.S4, V22.S4
	WORD $0x6eb54442 \ // USHL V21.S4, V2.S4, V2.S4
	WORD $0x6eb44477 \ // USHL V20.S4, V3.S4, V23.S4
	WORD $0x6eb54463 \ // USHL V21.S4, V3.S4, V3.S4
	VORR V22.B16, V2.B16, V2.B16 \
	VORR V23.B16, V3.B16, V3.B16

#define ROTATE1 \
	WORD $0x6eb8455a \ // USHL V24.S4, V10.S4, V26.S4
	WORD $0x6eb9454a \ // USHL V25.S4, V10.S4, V10.S4
	WORD $0x6eb8457b \ // USHL V24.S4, V11.S4, V27.S4
	WORD $0x6eb9456b \ // USHL V25.S4, V11.S4, V11.S4
	VORR V26.B16, V10.B16, V10.B16 \
	VORR V27.B16, V11.B16, V11.B16

// UPDATE takes the packet P, Q into the state V0A, V0B, V1A and so on.
#define UPDATE(V0A, V0B, V1A, V1B, MUL0A, MUL0B, MUL1A, MUL1B, P, Q, T0, T1, T2, T3, MULTIPLY) \
	VADD P.D2, V1A.D2, V1A.D2             \
	VADD Q.D2, V1B.D2, V1B.D2             \
	VADD MUL0A.D2, V1A.D2, V1A.D2         \
	VADD MUL0B.D2, V1B.D2, V1B.D2         \
	VUZP1 V1B.S4, V1A.S4, T0.S4           \
	VUZP2 V0B.S4, V0A.S4, T1.S4           \
	MULTIPLY                              \
	VEOR T2.B16, MUL0A.B16, MUL0A.B16     \
	VEOR T3.B16, MUL0B.B16, MUL0B.B16     \
	VADD MUL1A.D2, V0A.D2, V0A.D2         \
	VADD MUL1B.D2, V0B.D2, V0B.D2         \
	VUZP1 V0B.S4, V0A.S4, T0.S4           \
	VUZP2 V1B.S4, V1A.S4, T1.S4           \
	MULTIPLY                              \
	VEOR T2.B16, MUL1A.B16, MUL1A.B16     \
	VEOR T3.B16, MUL1B.B16, MUL1B.B16     \
	VTBL V31.B16, [V1A.B16], T0.B16       \
	VTBL V31.B16, [V1B.B16], T1.B16       \
	VADD T0.D2, V0A.D2, V0A.D2            \
	VADD T1.D2, V0B.D2, V0B.D2            \
	VTBL V31.B16, [V0A.B16], T2.B16       \
	VTBL V31.B16, [V0B.B16], T3.B16       \
	VADD T2.D2, V1A.D2, V1A.D2            \
	VADD T3.D2, V1B.D2, V1B.D2

#define UPDATE0 UPDATE(V0, V1, V2, V3, V4, V5, V6, V7, V16, V17, V20, V21, V22, V23, MULTIPLY0)
#define UPDATE1 UPDATE(V8, V9, V10, V11, V12, V13, V14, V15, V18, V19, V24, V25, V26, V27, MULTIPLY1)

// HEADER takes the first packet, P, into words 0 and 1 of the state.
#define HEADER(V0A, V1A, MUL0A, MUL1A, P, T0, T1, T2, MULTIPLY) \
	VADD P.D2, V1A.D2, V1A.D2             \
	VADD MUL0A.D2, V1A.D2, V1A.D2         \
	VUZP1 V1A.S4, V1A.S4, T0.S4           \
	VUZP2 V0A.S4, V0A.S4, T1.S4           \
	MULTIPLY                              \
	VEOR T2.B16, MUL0A.B16, MUL0A.B16     \
	VADD MUL1A.D2, V0A.D2, V0A.D2         \
	VUZP1 V0A.S4, V0A.S4, T0.S4           \
	VUZP2 V1A.S4, V1A.S4, T1.S4           \
	MULTIPLY                              \
	VEOR T2.B16, MUL1A.B16, MUL1A.B16     \
	VTBL V31.B16, [V1A.B16], T0.B16       \
	VADD T0.D2, V0A.D2, V0A.D2            \
	VTBL V31.B16, [V0A.B16], T1.B16       \
	VADD T1.D2, V1A.D2, V1A.D2

// MESSAGE finds the next message of the order: its first byte to AT, its length to
// LENGTH, the first words of its first packet to X.
#define MESSAGE(AT, LENGTH, X) \
	MOVHU.P 2(R3), R14        \
	ADD     R14<<4, R2, R14   \
	VLD1    (R14), [X.D2]     \
	MOVWU   (R14), AT         \
	MOVWU   4(R14), LENGTH    \
	ADD     R1, AT, AT        \
	VMOV    LENGTH, X.D[0]

// REST makes the packet P, Q of the last LENGTH bytes of a message, at AT, and adds their
// number. T0 and T1 are scratch registers.
#define REST(AT, LENGTH, P, Q, V0A, V0B, T0, T1, ROTATE) \
	ADD  LENGTH, AT, R14            \
	ADD  R5, R14, R15               \
	CMP  R19, R14                   \
	CSEL LO, R15, R14, R14          \
	MOVD $16, R15                   \
	CMP  R15, LENGTH                \
	CSEL HI, LENGTH, R15, R15       \
	SUB  R15, R14, R15              \
	SUB  $16, R14, R14              \
	VLD1 (R15), [P.B16]             \
	VLD1 (R14), [Q.B16]             \
	ADD  LENGTH<<5, R7, R15         \
	VLD1 (R15), [T0.B16, T1.B16]    \
	VTBL T0.B16, [P.B16], P.B16     \
	VTBL T1.B16, [Q.B16], Q.B16     \
	SUB  $32, LENGTH, R15           \
	VDUP LENGTH, T0.S4              \
	VDUP R15, T1.S4                 \
	VADD T0.D2, V0A.D2, V0A.D2      \
	VADD T0.D2, V0B.D2, V0B.D2      \
	ROTATE

// TURN makes the packet P, Q of a finishing round: v0 with its halves exchanged, and the
// halves of its words.
#define TURN(V0A, V0B, P, Q) \
	VREV64 V0B.S4, P.S4 \
	VREV64 V0A.S4, Q.S4

// STORE writes the digest of the next message of the order, that is now at R16.
#define STORE(V0A, V1B, MUL0A, MUL1B) \
	VADD MUL0A.D2, V0A.D2, V0A.D2     \
	VADD MUL1B.D2, V1B.D2, V1B.D2     \
	VADD V1B.D2, V0A.D2, V0A.D2       \
	MOVHU.P 2(R16), R14               \
	ADD  R14<<4, R0, R14              \
	VST1 [V0A.D2], (R14)

// func sumHighwayNEON(dst *Digest, buf *byte, msgs *Message, order *uint16, groups int, front *bufferFront, start *highwayState, remainders *remainderTable)
//
// A Message is its offset and length, 32 bits each, and its tweak.
TEXT ·sumHighwayNEON(SB), NOSPLIT, $0-64
	MOVD dst+0(FP), R0
	MOVD buf+8(FP), R1
	MOVD msgs+16(FP), R2
	MOVD order+24(FP), R3
	MOVD groups+32(FP), R4
	MOVD front+40(FP), R5
	MOVD start+48(FP), R6
	MOVD remainders+56(FP), R7
	ADD  $16, R1, R19
	ADD  $16, R5, R5
	SUB  R1, R5, R5
	MOVD $·zipper(SB), R14
	VLD1 (R14), [V31.B16]

group:
	MOVD R3, R16
	MESSAGE(R8, R10, V16)
	MESSAGE(R9, R11, V18)
	MOVD R6, R14
	VLD1.P 64(R14), [V0.D2, V1.D2, V2.D2, V3.D2]
	VLD1 (R14), [V4.D2, V5.D2, V6.D2, V7.D2]
	MOVD R6, R14
	VLD1.P 64(R14), [V8.D2, V9.D2, V10.D2, V11.D2]
	VLD1 (R14), [V12.D2, V13.D2, V14.D2, V15.D2]
	HEADER(V0, V2, V4, V6, V16, V20, V21, V22, MULTIPLY0)
	HEADER(V8, V10, V12, V14, V18, V24, V25, V26, MULTIPLY1)
	LSR  $5, R10, R12
	LSR  $5, R11, R13
	AND  $31, R10, R10
	AND  $31, R11, R11
	CMP  R13, R12
	CSEL LO, R12, R13, R14
	SUB  R14, R12, R12
	SUB  R14, R13, R13
	CBZ  R14, first

both:
	VLD1.P 32(R8), [V16.B16, V17.B16]
	VLD1.P 32(R9), [V18.B16, V19.B16]
	UPDATE0
	UPDATE1
	SUB  $1, R14, R14
	CBNZ R14, both

first:
	CBZ  R12, second
	VLD1.P 32(R8), [V16.B16, V17.B16]
	UPDATE0
	SUB  $1, R12, R12
	B    first

second:
	CBZ  R13, rest0
	VLD1.P 32(R9), [V18.B16, V19.B16]
	UPDATE1
	SUB  $1, R13, R13
	B    second

rest0:
	CBZ  R10, rest1
	REST(R8, R10, V16, V17, V0, V1, V20, V21, ROTATE0)
	UPDATE0

rest1:
	CBZ  R11, finish
	REST(R9, R11, V18, V19, V8, V9, V24, V25, ROTATE1)
	UPDATE1

finish:
	MOVD $6, R14

turn:
	TURN(V0, V1, V16, V17)
	TURN(V8, V9, V18, V19)
	UPDATE0
	UPDATE1
	SUB  $1, R14, R14
	CBNZ R14, turn
	STORE(V0, V3, V4, V7)
	STORE(V8, V11, V12, V15)
	SUB  $1, R4, R4
	CBNZ R4, group
	RET
