// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"

// Offsets and tweaks of eight messages, and both words of two frames each.
DATA ·placeOrders+0x00(SB)/8, $0
DATA ·placeOrders+0x08(SB)/8, $2
DATA ·placeOrders+0x10(SB)/8, $4
DATA ·placeOrders+0x18(SB)/8, $6
DATA ·placeOrders+0x20(SB)/8, $8
DATA ·placeOrders+0x28(SB)/8, $10
DATA ·placeOrders+0x30(SB)/8, $12
DATA ·placeOrders+0x38(SB)/8, $14
DATA ·placeOrders+0x40(SB)/8, $1
DATA ·placeOrders+0x48(SB)/8, $3
DATA ·placeOrders+0x50(SB)/8, $5
DATA ·placeOrders+0x58(SB)/8, $7
DATA ·placeOrders+0x60(SB)/8, $9
DATA ·placeOrders+0x68(SB)/8, $11
DATA ·placeOrders+0x70(SB)/8, $13
DATA ·placeOrders+0x78(SB)/8, $15
DATA ·placeOrders+0x80(SB)/8, $1
DATA ·placeOrders+0x88(SB)/8, $5
DATA ·placeOrders+0x90(SB)/8, $9
DATA ·placeOrders+0x98(SB)/8, $13
DATA ·placeOrders+0xa0(SB)/8, $2
DATA ·placeOrders+0xa8(SB)/8, $6
DATA ·placeOrders+0xb0(SB)/8, $10
DATA ·placeOrders+0xb8(SB)/8, $14
GLOBL ·placeOrders(SB), RODATA|NOPTR, $0xc0

// The bits of a tweak that are 4 in versions 4 and 6, their value, the length of a tag, a
// type of 802.1Q as it lies in memory, the bits of an identifier and of a type, the place
// of a tag, the lower half, and the places of the bytes of an identifier.
DATA ·placeWords+0x00(SB)/8, $0xd000000000000000
DATA ·placeWords+0x08(SB)/8, $0x4000000000000000
DATA ·placeWords+0x10(SB)/8, $4
DATA ·placeWords+0x18(SB)/8, $0x0081
DATA ·placeWords+0x20(SB)/8, $0x0fff
DATA ·placeWords+0x28(SB)/8, $0xffff
DATA ·placeWords+0x30(SB)/8, $12
DATA ·placeWords+0x38(SB)/8, $0xffffffff
DATA ·placeWords+0x40(SB)/8, $0x8080808080800203
DATA ·placeWords+0x48(SB)/8, $0x8080808080800a0b
GLOBL ·placeWords(SB), RODATA|NOPTR, $0x50

// FOLD multiplies the words of X and Y to 128 bits, and sets X to the XOR of both halves.
// Z29 has the lower half of each word set.
#define FOLD(X, Y) \
	VPMULUDQ Y, X, Z13     \
	VPSRLQ   $32, X, Z14   \
	VPSRLQ   $32, Y, Z15   \
	VPMULUDQ Y, Z14, Z16   \
	VPMULUDQ Z15, X, Z17   \
	VPMULUDQ Z15, Z14, Z14 \
	VPSRLQ   $32, Z13, Z15 \
	VPADDQ   Z15, Z17, Z17 \
	VPANDQ   Z29, Z17, Z15 \
	VPADDQ   Z15, Z16, Z16 \
	VPSRLQ   $32, Z17, Z17 \
	VPADDQ   Z17, Z14, Z14 \
	VPSRLQ   $32, Z16, Z17 \
	VPADDQ   Z17, Z14, Z14 \
	VPSLLQ   $32, Z16, Z16 \
	VPANDQ   Z29, Z13, Z13 \
	VPORQ    Z16, Z13, Z13 \
	VPXORQ   Z13, Z14, X

// func pointsAVX512(points *uint64, frames *Frame, msgs *digest.Message, groups int, buf *byte, last int, p *Place) (others uint64)
TEXT ·pointsAVX512(SB), NOSPLIT, $0-64
	MOVQ points+0(FP), DI
	MOVQ frames+8(FP), DX
	MOVQ msgs+16(FP), SI
	MOVQ groups+24(FP), CX
	MOVQ buf+32(FP), BX
	VPBROADCASTQ last+40(FP), Z18
	MOVQ p+48(FP), AX
	VPBROADCASTQ Place_Interface(AX), Z19
	VPBROADCASTQ Place_Skip(AX), Z20
	VPBROADCASTQ Place_Hash(AX), Z21
	VPXORQ.BCST Place_Kind(AX), Z21, Z22
	VPBROADCASTQ Place_Key(AX), Z23
	VMOVDQU64 ·placeOrders+0x00(SB), Z24
	VMOVDQU64 ·placeOrders+0x40(SB), Z25
	VMOVDQU64 ·placeOrders+0x80(SB), Z26
	VPBROADCASTQ ·placeWords+0x00(SB), Z27
	VPBROADCASTQ ·placeWords+0x08(SB), Z28
	VPBROADCASTQ ·placeWords+0x38(SB), Z29
	VPBROADCASTQ ·placeWords+0x10(SB), Z30
	VBROADCASTI32X4 ·placeWords+0x40(SB), Z31
	XORL R9, R9

group:
	// Offsets and tweaks of messages, where frames begin, and their interfaces.
	VMOVDQU64 (SI), Z0
	VMOVDQA64 Z0, Z1
	VPERMT2Q  64(SI), Z24, Z0
	VPERMT2Q  64(SI), Z25, Z1
	VMOVDQU64 (DX), Z2
	VMOVDQU64 128(DX), Z3
	VPERMT2Q  64(DX), Z26, Z2
	VPERMT2Q  192(DX), Z26, Z3
	VSHUFI64X2 $0xee, Z3, Z2, Z4
	VSHUFI64X2 $0x44, Z3, Z2, Z2
	VPANDQ    Z29, Z2, Z2
	VPSRLQ    $32, Z4, Z4

	// K2 has frames with 4 bytes of tags, and K3 frames without.
	VPCMPEQQ  Z19, Z4, K1
	VPANDQ    Z27, Z1, Z1
	VPCMPEQQ  Z28, Z1, K1, K1
	VPSUBQ    Z20, Z0, Z0
	VPSUBQ    Z2, Z0, Z0
	VPANDQ    Z29, Z0, Z0
	VPCMPEQQ  Z30, Z0, K1, K2
	VPTESTNMQ Z0, Z0, K1, K3

	// The bytes at the place of a tag, and the identifier of a VLAN.
	VPADDQ.BCST ·placeWords+0x30(SB), Z2, Z2
	VPMINUQ   Z18, Z2, Z2
	KMOVB     K2, K4
	VPXORQ    Z5, Z5, Z5
	VPGATHERQD (BX)(Z2*1), K4, Y5
	VPMOVZXDQ Y5, Z5
	VPANDQ.BCST ·placeWords+0x28(SB), Z5, Z6
	VPCMPEQQ.BCST ·placeWords+0x18(SB), Z6, K2, K2
	VPSHUFB   Z31, Z5, Z5
	VPANDQ.BCST ·placeWords+0x20(SB), Z5, Z5
	VPTESTMQ  Z5, Z5, K2, K5

	VPXORQ    Z22, Z5, Z6
	FOLD(Z6, Z23)
	VMOVDQA64 Z21, Z7
	VMOVDQA64 Z6, K5, Z7
	VMOVDQU64 Z7, (DI)

	KORB  K3, K2, K2
	KMOVB K2, R10
	NOTQ  R10
	SHLQ  $56, R10
	SHRQ  $8, R9
	ORQ   R10, R9
	ADDQ  $128, SI
	ADDQ  $256, DX
	ADDQ  $64, DI
	DECQ  CX
	JNZ   group

	VZEROUPPER
	MOVQ R9, others+56(FP)
	RET
