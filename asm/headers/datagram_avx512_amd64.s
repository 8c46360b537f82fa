// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"
#include "datagram_amd64.h"
#include "labels_amd64.h"

// func findDatagramsAVX512(msgs *Message, numbers *uint16, rest *uint8, groups int, buf *byte, last int, d *Datagrams) (cut, broken uint64)
//
// Z3 and Z14 are the tweaks, of the frame and of the datagram. K0 collects datagrams that
// were truncated, R13 those that no receiver takes.
TEXT ·findDatagramsAVX512(SB), NOSPLIT, $0-72
	MOVQ msgs+0(FP), DI
	MOVQ numbers+8(FP), DX
	MOVQ rest+16(FP), R8
	MOVQ groups+24(FP), CX
	MOVQ buf+32(FP), SI
	VPBROADCASTQ last+40(FP), Z30
	MOVQ d+48(FP), AX
	CONSTANTS
	VMOVDQU64 ·datagramOrders+0x40(SB), Z28
	VMOVDQU64 ·datagramOrders+0x80(SB), Z27
	VMOVDQU64 ·datagramOrders+0xc0(SB), Z26
	VPBROADCASTQ 144(AX), Z18
	VPBROADCASTQ 152(AX), Z17
	WORD(0x90, Z16)
	KXORB K0, K0, K0
	XORL R13, R13

group:
	PLACES(beyond)
	WIDEFRAMES(DI, 16)

types:
	TYPES
	KORTESTB K5, K5
	JCC  others

read:
	DATAGRAMS(0x38)
	BREAKS
	TWEAKS(cut)

place:
	VMOVDQU64 (DI), Z3
	VPERMT2Q 64(DI), Z28, Z3
	VPADDD Z19, Z4, Z4
	VPADDD Z8, Z4, Z4
	VPSUBD Z8, Z12, Z12
	VPSLLQ $32, Z12, Z12
	VPORQ  Z12, Z4, K5, Z2
	VMOVDQA64 Z14, K5, Z3
	VMOVDQA64.Z Z13, K5, Z13
	VPMOVQW Z13, (DX)
	VMOVDQA64 Z2, Z8
	VPERMT2Q Z3, Z27, Z8
	VPERMT2Q Z3, Z26, Z2
	VMOVDQU64 Z8, (DI)
	VMOVDQU64 Z2, 64(DI)
	KNOTB K5, K5
	KMOVB K5, (R8)
	ADDQ $128, DI
	ADDQ $16, DX
	INCQ R8
	DECQ CX
	JNZ  group
	KMOVB K0, R10
	MOVQ R10, cut+56(FP)
	MOVQ R13, broken+64(FP)
	VZEROUPPER
	RET

beyond:
	SOMEFRAMES
	TAILS
	JMP  types

cut:
	CUTTWEAKS
	JMP  place

	// Some frames do not start with IP: up to two tags are removed from them.
others:
	MOVQ $2, R10

tags:
	TAGGED
	JZ   labels
	UNTAG
	DECQ R10
	JNZ  tags

	// Of the rest, K2 has labels and K3 has PPPoE, if the frame lies in the buffer.
labels:
	VPADDQ  Z5, Z4, Z9
	VPSUBQ.BCST ·datagramWords+0xd0(SB), Z9, Z9
	VPCMPQ  $2, Z30, Z9, K1, K7
	VPCMPEQQ.BCST 672(AX), Z8, K7, K2
	VPCMPEQQ.BCST 680(AX), Z8, K7, K3
	KORB K2, K3, K2
	VPCMPEQQ.BCST 688(AX), Z8, K7, K3
	KORTESTB K2, K3
	JZ   tails
	BEHINDLABELS(entry, bottom, versions)

tails:
	TAILS
	JMP  read
