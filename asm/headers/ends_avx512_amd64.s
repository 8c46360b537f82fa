// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"

// Offsets, lengths and tweaks of eight messages.
DATA ·endsOrders+0x00(SB)/8, $0
DATA ·endsOrders+0x08(SB)/8, $2
DATA ·endsOrders+0x10(SB)/8, $4
DATA ·endsOrders+0x18(SB)/8, $6
DATA ·endsOrders+0x20(SB)/8, $8
DATA ·endsOrders+0x28(SB)/8, $10
DATA ·endsOrders+0x30(SB)/8, $12
DATA ·endsOrders+0x38(SB)/8, $14
DATA ·endsOrders+0x40(SB)/8, $1
DATA ·endsOrders+0x48(SB)/8, $3
DATA ·endsOrders+0x50(SB)/8, $5
DATA ·endsOrders+0x58(SB)/8, $7
DATA ·endsOrders+0x60(SB)/8, $9
DATA ·endsOrders+0x68(SB)/8, $11
DATA ·endsOrders+0x70(SB)/8, $13
DATA ·endsOrders+0x78(SB)/8, $15
GLOBL ·endsOrders(SB), RODATA|NOPTR, $0x80

// Where the ports are in a word that begins with the second address.
DATA ·endsPorts+0x00(SB)/8, $0x8080808080800405
DATA ·endsPorts+0x08(SB)/8, $0x8080808080800c0d
DATA ·endsPorts+0x10(SB)/8, $0x8080808080800607
DATA ·endsPorts+0x18(SB)/8, $0x8080808080800e0f
GLOBL ·endsPorts(SB), RODATA|NOPTR, $0x20

// Bits of a tweak, their value, the least length, the lower half, the lowest byte, and 1.
DATA ·endsWords+0x00(SB)/8, $0xff00000000003fff
DATA ·endsWords+0x08(SB)/8, $0x4500000000000000
DATA ·endsWords+0x10(SB)/8, $12
DATA ·endsWords+0x18(SB)/8, $0xffffffff
DATA ·endsWords+0x20(SB)/8, $0xff
DATA ·endsWords+0x28(SB)/8, $1
GLOBL ·endsWords(SB), RODATA|NOPTR, $0x30

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

// func hashEndsAVX512(hashes *uint64, msgs *Message, groups int, buf *byte, e *Ends) (others uint64)
TEXT ·hashEndsAVX512(SB), NOSPLIT, $0-48
	MOVQ hashes+0(FP), DI
	MOVQ msgs+8(FP), SI
	MOVQ groups+16(FP), CX
	MOVQ buf+24(FP), BX
	MOVQ e+32(FP), AX
	VPBROADCASTQ 0(AX), Z20
	VPBROADCASTQ 8(AX), Z21
	VPBROADCASTQ 16(AX), Z22
	VPBROADCASTQ 24(AX), Z23
	LEAQ 32(AX), R8
	VMOVDQU64 ·endsOrders+0x00(SB), Z24
	VMOVDQU64 ·endsOrders+0x40(SB), Z25
	VBROADCASTI32X4 ·endsPorts+0x00(SB), Z18
	VBROADCASTI32X4 ·endsPorts+0x10(SB), Z19
	VPBROADCASTQ ·endsWords+0x00(SB), Z26
	VPBROADCASTQ ·endsWords+0x08(SB), Z27
	VPBROADCASTQ ·endsWords+0x10(SB), Z28
	VPBROADCASTQ ·endsWords+0x18(SB), Z29
	VPBROADCASTQ ·endsWords+0x20(SB), Z30
	VPBROADCASTQ ·endsWords+0x28(SB), Z31
	XORL R9, R9

group:
	// K1 has the messages that are whole datagrams of IPv4.
	VMOVDQU64 (SI), Z0
	VMOVDQA64 Z0, Z1
	VPERMT2Q  64(SI), Z24, Z0
	VPERMT2Q  64(SI), Z25, Z1
	VPANDQ    Z26, Z1, Z2
	VPCMPEQQ  Z27, Z2, K1
	VPSRLQ    $32, Z0, Z2
	VPCMPUQ   $5, Z28, Z2, K1, K1
	VPANDQ    Z29, Z0, Z0
	VPSRLQ    $48, Z1, Z3
	VPANDQ    Z30, Z3, Z3

	// Addresses, ports, and whether the protocol has ports.
	KMOVB  K1, K2
	KMOVB  K1, K3
	KMOVB  K1, K4
	VPXORQ Z4, Z4, Z4
	VPXORQ Z5, Z5, Z5
	VPXORQ Z6, Z6, Z6
	VPGATHERQQ (BX)(Z0*1), K2, Z4
	VPGATHERQQ 4(BX)(Z0*1), K3, Z5
	VPGATHERQD (R8)(Z3*4), K4, Y6
	VPMOVSXDQ  Y6, Z6
	VPSHUFB Z18, Z5, Z7
	VPSHUFB Z19, Z5, Z8
	VPANDQ  Z6, Z7, Z7
	VPANDQ  Z6, Z8, Z8

	// The ends in order.
	VPSLLQ   $32, Z4, Z9
	VPORQ    Z7, Z9, Z9
	VPANDNQ  Z4, Z29, Z10
	VPORQ    Z8, Z10, Z10
	VPMINUQ  Z10, Z9, Z11
	VPMAXUQ  Z10, Z9, Z12
	VPXORQ   Z20, Z11, Z11
	VPXORQ   Z21, Z12, Z12
	FOLD(Z11, Z12)
	VPXORQ   Z22, Z11, Z11
	VPXORQ   Z3, Z11, Z11
	FOLD(Z11, Z23)
	VPMAXUQ  Z31, Z11, Z11
	VMOVDQU64 Z11, K1, (DI)

	KMOVB K1, R10
	NOTQ  R10
	SHLQ  $56, R10
	SHRQ  $8, R9
	ORQ   R10, R9
	ADDQ  $128, SI
	ADDQ  $64, DI
	DECQ  CX
	JNZ   group

	VZEROUPPER
	MOVQ R9, others+40(FP)
	RET
