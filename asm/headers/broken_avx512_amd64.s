// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"

// HEADERS sets X to the first 16 bytes of the header of the message at OFFSET of DI, and Y to those
// of it and of the message after the next.
#define HEADERS(OFFSET, X, Y) \
	MOVL OFFSET(DI), R10                 \
	MOVL OFFSET+32(DI), R11              \
	VMOVDQU -12(SI)(R10*1), X            \
	VINSERTI128 $1, -12(SI)(R11*1), Y, Y

// ENDS sets X to bytes 16 to 23 of two headers.
#define ENDS(OFFSET, X) \
	MOVL OFFSET(DI), R10           \
	MOVL OFFSET+16(DI), R11        \
	VMOVQ 4(SI)(R10*1), X          \
	VMOVHPS 4(SI)(R11*1), X, X

// func findBrokenAVX512(msgs *Message, rest, broken *uint8, groups int, buf *byte) (some uint64)
//
// A word of 64 bits for each of eight messages stands in Z0 the first bits of the tweak, Z6 and Z7
// bytes 0 to 15 of the header, Z1 bytes 16 to 23. K4, K6 and K7 mark messages by these bits.
TEXT ·findBrokenAVX512(SB), NOSPLIT, $0-48
	MOVQ msgs+0(FP), DI
	MOVQ rest+8(FP), DX
	MOVQ broken+16(FP), R8
	MOVQ groups+24(FP), CX
	MOVQ buf+32(FP), SI
	VMOVDQU64 ·datagramOrders+0x40(SB), Z28
	VPTERNLOGD $0xff, Z31, Z31, Z31
	VPSRLQ $32, Z31, Z30 // 32 bits
	VPSRLQ $48, Z31, Z29 // 16 bits
	VPSLLQ $16, Z29, Z27 // the checksum
	VPSRLQ $56, Z31, Z26 // the time to live
	VPSLLQ $24, Z26, Z25 // the hop limit, four bytes too far
	VPSLLQ $56, Z31, Z24 // the hop limit
	VPSRLQ $61, Z31, Z23 // 7
	VPSRLQ $62, Z31, Z22
	VPSLLQ $1, Z22, Z22  // 6
	VPSRLQ $63, Z31, Z21
	VPSLLQ $2, Z21, Z21  // 4
	XORQ R9, R9

group:
	CMPB (DX), $0
	JNE  next
	VMOVDQU64 (DI), Z0
	VPERMT2Q 64(DI), Z28, Z0
	VPSRLQ $60, Z0, Z0
	VPCMPEQQ Z21, Z0, K4
	VPCMPEQQ Z22, Z0, K6
	VPCMPEQQ Z23, Z0, K7
	HEADERS(0, X6, Y6)
	HEADERS(64, X7, Y7)
	VINSERTI64X4 $1, Y7, Z6, Z6
	HEADERS(16, X7, Y7)
	HEADERS(80, X8, Y8)
	VINSERTI64X4 $1, Y8, Z7, Z8
	VPUNPCKHQDQ Z8, Z6, Z7
	VPUNPCKLQDQ Z8, Z6, Z6
	ENDS(0, X1)
	ENDS(32, X2)
	ENDS(64, X3)
	ENDS(96, X4)
	VINSERTI128 $1, X2, Y1, Y1
	VINSERTI128 $1, X4, Y3, Y3
	VINSERTI64X4 $1, Y3, Z1, Z1
	VPTESTNMQ Z26, Z7, K4, K1
	VPTESTNMQ Z24, Z6, K6, K2
	VPTESTNMQ Z25, Z7, K7, K3
	KORB K2, K1, K1
	KORB K3, K1, K1
	VPTESTMQ Z27, Z7, K4, K4
	VPSRLQ $32, Z6, Z2
	VPANDQ Z30, Z6, Z6
	VPSRLQ $32, Z7, Z3
	VPANDQ Z30, Z7, Z7
	VPANDQ Z30, Z1, Z1
	VPADDQ Z2, Z6, Z6
	VPADDQ Z3, Z7, Z7
	VPADDQ Z1, Z6, Z6
	VPADDQ Z7, Z6, Z6
	VPSRLQ $16, Z6, Z2
	VPANDQ Z29, Z6, Z6
	VPADDQ Z2, Z6, Z6
	VPSRLQ $16, Z6, Z2
	VPANDQ Z29, Z6, Z6
	VPADDQ Z2, Z6, Z6
	VPSRLQ $16, Z6, Z2
	VPANDQ Z29, Z6, Z6
	VPADDQ Z2, Z6, Z6
	VPCMPUQ $4, Z29, Z6, K4, K4
	KORB K4, K1, K1
	KMOVB K1, R10
	ORB  R10, (R8)
	ORQ  R10, R9

next:
	ADDQ $128, DI
	INCQ DX
	INCQ R8
	DECQ CX
	JNZ  group
	MOVQ R9, some+40(FP)
	VZEROUPPER
	RET
