// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"
#include "highway_amd64.h"

// HighwayHash-128 of four messages side by side (AVX-512). A register holds two words of
// each message, one half of the four words that make a part of the state. Halves meet
// only in finishing rounds, which exchange them at no cost.
//
//	words  0,1 2,3       Z8, Z9 packet
//	v0     Z0  Z4        Z10, Z11 high words of v0, scratch
//	v1     Z1  Z5        Z12 lengths, then of remainders
//	mul0   Z2  Z6        Z30 31 in each word of 32 bits
//	mul1   Z3  Z7        Z31 zipper
//
//	K2 first word of each message  K3, K5, K6, K7 one message each
//	K4 messages that take part

// UPDATE takes a packet into half of the state. HIGH holds the high words of V0.
#define UPDATE(V0, V1, MUL0, MUL1, PACKET, HIGH, T) \
	VPADDQ PACKET, V1, K4, V1       \
	VPADDQ MUL0, V1, K4, V1         \
	VPMULUDQ HIGH, V1, T            \
	VPXORQ T, MUL0, K4, MUL0        \
	VPADDQ MUL1, V0, K4, V0         \
	VPSRLQ $32, V1, T               \
	VPMULUDQ T, V0, T               \
	VPXORQ T, MUL1, K4, MUL1        \
	VPSHUFB Z31, V1, T              \
	VPADDQ T, V0, K4, V0            \
	VPSHUFB Z31, V0, T              \
	VPADDQ T, V1, K4, V1

#define UPDATEFIRST \
	VPSRLQ $32, Z0, Z10 \
	UPDATE(Z0, Z1, Z2, Z3, Z8, Z10, Z10)

#define UPDATEBOTH \
	UPDATEFIRST \
	VPSRLQ $32, Z4, Z11 \
	UPDATE(Z4, Z5, Z6, Z7, Z9, Z11, Z11)

// PACKETOF loads the packet at AX from message P where mask K has it to both halves, AT
// bytes into them. Masked bytes are not touched.
#define PACKETOF(P, K, AT) \
	KANDB K, K4, K1                           \
	VMOVDQU64 (-(AT))(P)(AX*1), K1, Z8        \
	VMOVDQU64 (16-(AT))(P)(AX*1), K1, Z9

// REST2 computes the packets of two remainders, one behind the other.
#define REST2(LANE, P, Q, X, Y, Z, YT, ZT) \
	REST(LANE, P)                       \
	VMOVDQU (DX), X                     \
	VINSERTI64X2 $1, -16(P), Y, Y       \
	VMOVDQU (AX), YT                    \
	REST(LANE+1, Q)                     \
	VINSERTI64X2 $2, (DX), Z, Z         \
	VINSERTI64X2 $3, -16(Q), Z, Z       \
	VINSERTI64X4 $1, (AX), ZT, ZT       \
	VPSHUFB ZT, Z, Z

// func sumHighwayAVX512(dst *Digest, buf *byte, msgs *Message, order *uint16, groups int, front *bufferFront, start *highwayState, remainders *remainderTable)
//
// A Message is its offset and length, 32 bits each, and its tweak: moved right by
// 32 bits, the first word of 64 is the length, and so the header is there.
TEXT ·sumHighwayAVX512(SB), NOSPLIT, $0-64
	BEGIN
	VBROADCASTI64X2 ·zipper(SB), Z31
	MOVL  $31, AX
	VPBROADCASTD AX, Z30
	MOVL  $0x55, AX
	KMOVB AX, K2
	MOVL  $0x03, AX
	KMOVB AX, K3
	MOVL  $0x0c, AX
	KMOVB AX, K5
	MOVL  $0x30, AX
	KMOVB AX, K6
	MOVL  $0xc0, AX
	KMOVB AX, K7

group:
	MOVQ $-1, R14
	XORL DX, DX
	MESSAGE(0, R10)
	VMOVDQU (AX), X8
	MESSAGE(1, R11)
	VINSERTI64X2 $1, (AX), Y8, Y8
	MESSAGE(2, R12)
	VINSERTI64X2 $2, (AX), Z8, Z8
	MESSAGE(3, R13)
	VINSERTI64X2 $3, (AX), Z8, Z8
	VPSHUFD $0x55, Z8, Z12
	VPSRLQ  $32, Z8, K2, Z8
	MOVQ start+48(FP), AX
	VBROADCASTI64X2 (AX), Z0
	VBROADCASTI64X2 16(AX), Z4
	VBROADCASTI64X2 32(AX), Z1
	VBROADCASTI64X2 48(AX), Z5
	VBROADCASTI64X2 64(AX), Z2
	VBROADCASTI64X2 80(AX), Z6
	VBROADCASTI64X2 96(AX), Z3
	VBROADCASTI64X2 112(AX), Z7
	KXNORB K4, K4, K4
	UPDATEFIRST
	COUNT
	TESTQ R14, R14
	JZ   some

all:
	VMOVDQU (R10)(AX*1), Y10
	VINSERTI64X4 $1, (R11)(AX*1), Z10, Z10
	VMOVDQU (R12)(AX*1), Y11
	VINSERTI64X4 $1, (R13)(AX*1), Z11, Z11
	VSHUFI64X2 $0x88, Z11, Z10, Z8
	VSHUFI64X2 $0xdd, Z11, Z10, Z9
	UPDATEBOTH
	ADDQ $32, AX
	DECQ R14
	JNZ  all

some:
	TESTQ DX, DX
	JZ   rest
	VPSRLQ $32, Z12, Z13

packet:
	LEAQ 31(AX), DI
	VPBROADCASTQ DI, Z14
	VPCMPUQ $6, Z14, Z13, K4
	PACKETOF(R10, K3, 0)
	PACKETOF(R11, K5, 16)
	PACKETOF(R12, K6, 32)
	PACKETOF(R13, K7, 48)
	UPDATEBOTH
	ADDQ $32, AX
	DECQ DX
	JNZ  packet

rest:
	LEAQ 16(SI), R14
	REST2(0, R10, R11, X10, Y10, Z10, Y14, Z14)
	REST2(2, R12, R13, X11, Y11, Z11, Y15, Z15)
	VSHUFI64X2 $0x88, Z11, Z10, Z8
	VSHUFI64X2 $0xdd, Z11, Z10, Z9
	VPANDD Z30, Z12, Z12
	VPADDQ Z12, Z0, Z0
	VPADDQ Z12, Z4, Z4
	VPROLVD Z12, Z1, Z1
	VPROLVD Z12, Z5, Z5
	VPTESTMQ Z12, Z12, K4
	UPDATEBOTH
	KXNORB K4, K4, K4
	MOVL $6, DX

turn:
	VPSHUFD $0xb1, Z0, Z8
	VPSHUFD $0xb1, Z4, Z9
	UPDATE(Z0, Z1, Z2, Z3, Z9, Z8, Z10)
	UPDATE(Z4, Z5, Z6, Z7, Z8, Z9, Z11)
	DECL DX
	JNZ  turn
	VPADDQ Z2, Z0, Z0
	VPADDQ Z7, Z5, Z5
	VPADDQ Z5, Z0, Z0
	MOVQ dst+0(FP), DI
	PLACE(0)
	VMOVDQU X0, (DI)(AX*1)
	PLACE(1)
	VEXTRACTI64X2 $1, Z0, (DI)(AX*1)
	PLACE(2)
	VEXTRACTI64X2 $2, Z0, (DI)(AX*1)
	PLACE(3)
	VEXTRACTI64X2 $3, Z0, (DI)(AX*1)
	ADDQ $8, R9
	DECQ groups+32(FP)
	JNZ  group
	VZEROUPPER
	RET
