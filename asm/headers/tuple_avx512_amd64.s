// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"
#include "datagram_amd64.h"

// APPEND lists the datagrams of K in the list at R: frame, offset and tail.
#define APPEND(K, R) \
	MOVQ 24(R), AX                   \
	MOVQ (R), R11                    \
	MOVQ 8(R), R12                   \
	MOVQ 16(R), R13                  \
	VPCOMPRESSQ Z17, K, Z8           \
	VPMOVQD Z8, (R11)(AX*4)          \
	VPCOMPRESSQ Z4, K, Z8            \
	VPMOVQD Z8, (R12)(AX*4)          \
	VPCOMPRESSQ Z14, K, Z8           \
	VMOVDQU64 Z8, (R13)(AX*8)        \
	KMOVB K, R11                     \
	POPCNTQ R11, R11                 \
	ADDQ R11, AX                     \
	MOVQ AX, 24(R)

// func listTuplesAVX512(msgs *Message, first, groups int, buf *byte, last int, t *Tuples, four, six *tupleEnd) (done int)
//
// Z14 is the tail, Z15 its VLAN, Z17 the number of the frame.
TEXT ·listTuplesAVX512(SB), NOSPLIT, $0-72
	MOVQ msgs+0(FP), DI
	VPBROADCASTQ first+8(FP), Z17
	VPADDQ ·datagramOrders+0x100(SB), Z17, Z17
	MOVQ groups+16(FP), CX
	MOVQ buf+24(FP), SI
	VPBROADCASTQ last+32(FP), Z30
	MOVQ t+40(FP), AX
	MOVQ four+48(FP), R8
	MOVQ six+56(FP), R9
	CONSTANTS
	VBROADCASTI64X4 144(AX), Z28
	VBROADCASTI64X2 ·datagramBytes+0x40(SB), Z27
	WORD(0x98, Z26)
	XORL BX, BX

group:
	VPXORQ Z15, Z15, Z15
	PLACES(beyond)
	FRAMES

types:
	TYPES
	KORTESTB K5, K5
	JCC  others

read:
	DATAGRAMS(0xb0)
	KORTESTB K5, K5
	JCC  done

	// Ports: the last half of 8 bytes.
	VPADDQ Z19, Z4, Z4
	VMOVDQA64 Z4, Z3
	VPADDQ.BCST ·datagramWords+0xb8(SB), Z4, K6, Z3
	KXNORB K2, K2, K2
	VPXORQ Z14, Z14, Z14
	VPGATHERQQ 16(SI)(Z3*1), K2, Z14
	VPSRLQ $6, Z13, Z8
	VPERMQ Z28, Z8, Z8
	VPRORVQ Z13, Z8, Z8
	VPTESTMQ.BCST ·datagramWords+0x78(SB), Z8, K3
	VPSHUFB Z27, Z14, Z14
	VMOVDQA64.Z Z14, K3, Z14
	VPSLLQ $24, Z13, Z13
	VPTERNLOGQ $0xfe, Z13, Z15, Z14
	APPEND(K4, R8)
	APPEND(K6, R9)
	VPADDQ Z26, Z17, Z17
	ADDQ $128, DI
	ADDQ $8, BX
	DECQ CX
	JNZ  group

done:
	VZEROUPPER
	MOVQ BX, done+64(FP)
	RET

beyond:
	SOMEFRAMES
	JMP  types

	// Some frames do not start with IP: up to two tags are removed from them, and the
	// first is recorded.
others:
	TAGGED
	JZ   read
	VBROADCASTI64X2 ·datagramBytes+0x30(SB), Z14
	VPSHUFB Z14, Z6, Z14
	VPANDQ.BCST ·datagramWords+0xc0(SB), Z14, Z14
	VPORQ.BCST ·datagramWords+0xc8(SB), Z14, K2, Z15
	UNTAG
	TAGGED
	JZ   read
	UNTAG
	JMP  read
