// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"
#include "highway_amd64.h"

// HighwayHash-128 of two messages side by side (AVX2). A register holds two words of each
// message, one half of the four words that make a part of the state. Halves meet only in
// finishing rounds, which exchange them at no cost.
//
//	words  0,1 2,3       Y8, Y9 packet
//	v0     Y0  Y4        Y10, Y11 high words of v0, scratch
//	v1     Y1  Y5        Y12 lengths, then of remainders
//	mul0   Y2  Y6        Y13 the message that takes no part
//	mul1   Y3  Y7        Y15 zipper

// UPDATE takes a packet into half of the state. HIGH holds the high words of V0.
#define UPDATE(V0, V1, MUL0, MUL1, PACKET, HIGH, T) \
	VPADDQ PACKET, V1, V1       \
	VPADDQ MUL0, V1, V1         \
	VPMULUDQ HIGH, V1, T        \
	VPXOR  T, MUL0, MUL0        \
	VPADDQ MUL1, V0, V0         \
	VPSRLQ $32, V1, T           \
	VPMULUDQ T, V0, T           \
	VPXOR  T, MUL1, MUL1        \
	VPSHUFB Y15, V1, T          \
	VPADDQ T, V0, V0            \
	VPSHUFB Y15, V0, T          \
	VPADDQ T, V1, V1

#define UPDATEFIRST \
	VPSRLQ $32, Y0, Y10 \
	UPDATE(Y0, Y1, Y2, Y3, Y8, Y10, Y10)

#define UPDATEBOTH \
	UPDATEFIRST \
	VPSRLQ $32, Y4, Y11 \
	UPDATE(Y4, Y5, Y6, Y7, Y9, Y11, Y11)

// SAVE keeps the state, for KEEP.
#define SAVE \
	VMOVDQU Y0, (SP)        \
	VMOVDQU Y1, 32(SP)      \
	VMOVDQU Y2, 64(SP)      \
	VMOVDQU Y3, 96(SP)      \
	VMOVDQU Y4, 128(SP)     \
	VMOVDQU Y5, 160(SP)     \
	VMOVDQU Y6, 192(SP)     \
	VMOVDQU Y7, 224(SP)

// KEEP takes the saved state of the messages of Y13 back.
#define KEEP \
	VPBLENDVB Y13, (SP), Y0, Y0      \
	VPBLENDVB Y13, 32(SP), Y1, Y1    \
	VPBLENDVB Y13, 64(SP), Y2, Y2    \
	VPBLENDVB Y13, 96(SP), Y3, Y3    \
	VPBLENDVB Y13, 128(SP), Y4, Y4   \
	VPBLENDVB Y13, 160(SP), Y5, Y5   \
	VPBLENDVB Y13, 192(SP), Y6, Y6   \
	VPBLENDVB Y13, 224(SP), Y7, Y7

// LOAD loads the packets at AX from P and Q.
#define LOAD(P, Q) \
	VMOVDQU (P)(AX*1), X8                    \
	VINSERTI128 $1, (Q)(AX*1), Y8, Y8        \
	VMOVDQU 16(P)(AX*1), X9                  \
	VINSERTI128 $1, 16(Q)(AX*1), Y9, Y9

// ROTATE rotates words of 32 bits to the left by Y12. Y14 is 32 less that.
#define ROTATE(V1) \
	VPSRLVD Y14, V1, Y10     \
	VPSLLVD Y12, V1, V1      \
	VPOR   Y10, V1, V1

// func sumHighwayAVX2(dst *Digest, buf *byte, msgs *Message, order *uint16, groups int, front *bufferFront, start *highwayState, remainders *remainderTable)
//
// A Message is its offset and length, 32 bits each, and its tweak: moved right by
// 32 bits, the first word of 64 is the length, and so the header is there.
TEXT ·sumHighwayAVX2(SB), NOSPLIT, $256-64
	BEGIN
	VBROADCASTI128 ·zipper(SB), Y15

group:
	MOVQ $-1, R14
	XORL DX, DX
	MESSAGE(0, R10)
	VMOVDQU (AX), X8
	MESSAGE(1, R11)
	VINSERTI128 $1, (AX), Y8, Y8
	VPSHUFD $0x55, Y8, Y12
	VPSRLQ  $32, Y8, Y9
	VPBLENDD $0x33, Y9, Y8, Y8
	MOVQ start+48(FP), AX
	VBROADCASTI128 (AX), Y0
	VBROADCASTI128 16(AX), Y4
	VBROADCASTI128 32(AX), Y1
	VBROADCASTI128 48(AX), Y5
	VBROADCASTI128 64(AX), Y2
	VBROADCASTI128 80(AX), Y6
	VBROADCASTI128 96(AX), Y3
	VBROADCASTI128 112(AX), Y7
	UPDATEFIRST
	COUNT
	TESTQ R14, R14
	JZ   one

both:
	LOAD(R10, R11)
	UPDATEBOTH
	ADDQ $32, AX
	DECQ R14
	JNZ  both

one:
	TESTQ DX, DX
	JZ   rest

	// The message with fewer packets rereads the other one's bytes.
	VPSRLD $5, Y12, Y13
	VPERM2I128 $0x01, Y13, Y13, Y14
	VPCMPGTD Y13, Y14, Y13
	VMOVMSKPD Y13, DI
	MOVQ R10, R12
	TESTL $1, DI
	CMOVQNE R11, R12
	SAVE

packet:
	LOAD(R12, R12)
	UPDATEBOTH
	ADDQ $32, AX
	DECQ DX
	JNZ  packet
	KEEP

rest:
	LEAQ 16(SI), R14
	REST(0, R10)
	VMOVDQU (DX), X8
	VMOVDQU -16(R10), X9
	VMOVDQU (AX), X10
	VMOVDQU 16(AX), X11
	REST(1, R11)
	VINSERTI128 $1, (DX), Y8, Y8
	VINSERTI128 $1, -16(R11), Y9, Y9
	VINSERTI128 $1, (AX), Y10, Y10
	VINSERTI128 $1, 16(AX), Y11, Y11
	VPSHUFB Y10, Y8, Y8
	VPSHUFB Y11, Y9, Y9
	VPSLLD  $27, Y12, Y12
	VPSRLD  $27, Y12, Y12
	VPXOR   Y13, Y13, Y13
	VPCMPEQD Y13, Y12, Y13
	VMOVMSKPD Y13, DI
	TESTL   DI, DI
	JZ      take
	SAVE

take:
	VPADDQ  Y12, Y0, Y0
	VPADDQ  Y12, Y4, Y4
	VPCMPEQD Y14, Y14, Y14
	VPSRLD  $31, Y14, Y14
	VPSLLD  $5, Y14, Y14
	VPSUBD  Y12, Y14, Y14
	ROTATE(Y1)
	ROTATE(Y5)
	UPDATEBOTH
	TESTL   DI, DI
	JZ      finish
	KEEP

finish:
	MOVL $6, DX

turn:
	VPSHUFD $0xb1, Y0, Y8
	VPSHUFD $0xb1, Y4, Y9
	UPDATE(Y0, Y1, Y2, Y3, Y9, Y8, Y10)
	UPDATE(Y4, Y5, Y6, Y7, Y8, Y9, Y11)
	DECL DX
	JNZ  turn
	VPADDQ Y2, Y0, Y0
	VPADDQ Y7, Y5, Y5
	VPADDQ Y5, Y0, Y0
	MOVQ dst+0(FP), DI
	PLACE(0)
	VMOVDQU X0, (DI)(AX*1)
	PLACE(1)
	VEXTRACTI128 $1, Y0, (DI)(AX*1)
	ADDQ $4, R9
	DECQ groups+32(FP)
	JNZ  group
	VZEROUPPER
	RET
