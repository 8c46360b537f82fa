// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"

// Numbers that each 64-bit word of a vector gets.
DATA ·tunnelWords+0x00(SB)/8, $0xf0ff000000003fff // of a tweak of IPv4: version, protocol, fragment
DATA ·tunnelWords+0x08(SB)/8, $0x4011000000000000
DATA ·tunnelWords+0x10(SB)/8, $0x611              // version and protocol of IPv6
DATA ·tunnelWords+0x18(SB)/8, $8                  // from a message to the header above IP
DATA ·tunnelWords+0x20(SB)/8, $28
DATA ·tunnelWords+0x28(SB)/8, $40                 // least that follows IP
DATA ·tunnelWords+0x30(SB)/8, $0xffffffff
DATA ·tunnelWords+0x38(SB)/8, $0xffff0000         // destination port
DATA ·tunnelWords+0x40(SB)/8, $16                 // headers of UDP and of the tunnel
DATA ·tunnelWords+0x48(SB)/8, $14                 // header of Ethernet
DATA ·tunnelWords+0x50(SB)/8, $0xf00000           // version of IP behind two bytes
DATA ·tunnelWords+0x58(SB)/8, $0xf0ffff           // ethertype and version
DATA ·tunnelWords+0x60(SB)/8, $0x400008
DATA ·tunnelWords+0x68(SB)/8, $0x60dd86
DATA ·tunnelWords+0x70(SB)/8, $0x400000
DATA ·tunnelWords+0x78(SB)/8, $0x600000
DATA ·tunnelWords+0x80(SB)/8, $0xffff             // source port
DATA ·tunnelWords+0x88(SB)/8, $0xf000000000003fff // of a tweak of IPv4: version, fragment
DATA ·tunnelWords+0x90(SB)/8, $0x4000000000000000
DATA ·tunnelWords+0x98(SB)/8, $6
DATA ·tunnelWords+0xa0(SB)/8, $0xff
DATA ·tunnelWords+0xa8(SB)/8, $4                  // IP in IP, by version, and GRE
DATA ·tunnelWords+0xb0(SB)/8, $41
DATA ·tunnelWords+0xb8(SB)/8, $47
DATA ·tunnelWords+0xc0(SB)/8, $0x0740             // routes and version of GRE
DATA ·tunnelWords+0xc8(SB)/8, $0x0008             // types in GRE
DATA ·tunnelWords+0xd0(SB)/8, $0xdd86
DATA ·tunnelWords+0xd8(SB)/8, $0x5865
DATA ·tunnelWords+0xe0(SB)/8, $0xbe88
DATA ·tunnelWords+0xe8(SB)/8, $24                 // least of IP
GLOBL ·tunnelWords(SB), RODATA|NOPTR, $240

// Bytes 4 and 5, and 2 and 3, of each word as a number.
DATA ·tunnelBytes+0x00(SB)/8, $0x8080808080800405
DATA ·tunnelBytes+0x08(SB)/8, $0x8080808080800c0d
DATA ·tunnelBytes+0x10(SB)/8, $0x8080808080800203
DATA ·tunnelBytes+0x18(SB)/8, $0x8080808080800a0b
GLOBL ·tunnelBytes(SB), RODATA|NOPTR, $32

#define WORD(OFFSET, Z) VPBROADCASTQ ·tunnelWords+OFFSET(SB), Z

// SHAPE adds to K the datagrams of K5 that have the shape at OFFSET of AX.
#define SHAPE(OFFSET, K) \
	VPANDQ.BCST (OFFSET+8)(AX), Z10, Z12         \
	VPCMPEQQ.BCST (OFFSET+16)(AX), Z12, K5, K1   \
	VPCMPEQQ.BCST OFFSET(AX), Z11, K1, K1        \
	KORB K1, K, K

// GATHER reads the words at INDEX of the datagrams of K.
#define GATHER(K, INDEX, Z) \
	KMOVB K, K1         \
	VPXORQ Z, Z, Z      \
	VPGATHERQQ INDEX, K1, Z

// LEADS adds to K1 the datagrams of K whose bytes in Z14 are the number at OFFSET.
#define LEADS(OFFSET, K) \
	VPCMPEQQ.BCST ·tunnelWords+OFFSET(SB), Z14, K, K4 \
	KORB K4, K1, K1

// PORT adds to K2 the datagrams to the port at OFFSET of AX.
#define PORT(OFFSET) \
	VPCMPEQQ.BCST OFFSET(AX), Z11, K4 \
	KORB K4, K2, K2

// func openTunnelsAVX512(numbers *uint32, groups int, msgs *digest.Message, buf *byte, inside *digest.Message, others *uint32, t *Tunnels) (plain, rest int)
//
// Z5 is the offset of the UDP header, Z9 has its words and Z10 the tunnel's, Z12 is the offset of
// IP, Z7 the end. K5 marks datagrams over UDP, K3 tunnels with frames, K2 with IP, K7 all that are
// plain, K6 others.
TEXT ·openTunnelsAVX512(SB), NOSPLIT, $0-72
	MOVQ numbers+0(FP), DI
	MOVQ groups+8(FP), CX
	MOVQ msgs+16(FP), SI
	MOVQ buf+24(FP), BX
	MOVQ inside+32(FP), DX
	MOVQ others+40(FP), R8
	MOVQ t+48(FP), AX
	MOVQ DI, R9
	WORD(0x00, Z31)
	WORD(0x08, Z30)
	WORD(0x10, Z29)
	WORD(0x18, Z28)
	WORD(0x20, Z27)
	WORD(0x28, Z26)
	WORD(0x30, Z25)
	WORD(0x38, Z24)
	WORD(0x40, Z23)
	WORD(0x48, Z22)
	WORD(0x50, Z19)
	WORD(0x58, Z18)
	VBROADCASTI64X2 ·tunnelBytes+0x00(SB), Z21
	VBROADCASTI64X2 ·tunnelBytes+0x10(SB), Z20
	VMOVDQU64 ·datagramOrders+0x80(SB), Z17
	VMOVDQU64 ·datagramOrders+0xc0(SB), Z16

group:
	VMOVDQU (DI), Y0
	VPMOVZXDQ Y0, Z1
	VPSLLQ $4, Z1, Z1
	KXNORB K7, K7, K7
	GATHER(K7, (SI)(Z1*1), Z2)
	GATHER(K7, 8(SI)(Z1*1), Z3)

	// Whole datagrams over UDP.
	VPANDQ Z31, Z3, Z4
	VPCMPEQQ Z30, Z4, K4
	VPSRLQ $52, Z3, Z4
	VPCMPEQQ Z29, Z4, K6
	KORB K4, K6, K5
	VMOVDQA64 Z28, Z5
	VMOVDQA64 Z27, K6, Z5
	VPSRLQ $32, Z2, Z7
	VPSUBQ Z5, Z7, Z8
	VPCMPQ $5, Z26, Z8, K5, K5
	VPANDQ Z25, Z2, Z2
	VPADDQ Z5, Z2, Z5
	VPADDQ Z7, Z2, Z7
	GATHER(K5, (BX)(Z5*1), Z9)
	GATHER(K5, 8(BX)(Z5*1), Z10)

	// Tunnels, and where IP begins in them.
	VPANDQ Z24, Z9, Z11
	KXORB K2, K2, K2
	KXORB K3, K3, K3
	SHAPE(0, K3)
	SHAPE(24, K3)
	SHAPE(48, K3)
	SHAPE(72, K3)
	SHAPE(96, K2)
	VPADDQ Z23, Z5, Z12
	VPADDQ Z22, Z12, K3, Z12

	// Where the packet ends.
	VPSHUFB Z21, Z9, Z13
	VPADDQ  Z5, Z13, Z13
	VPMINUQ Z13, Z7, K5, Z7
	VPSHUFB Z20, Z10, Z13
	VPADDQ  Z5, Z13, Z13
	VPADDQ  Z23, Z13, Z13
	VPMINUQ Z13, Z7, K2, Z7

	// Whether it is IP.
	KORB K2, K3, K7
	GATHER(K7, -2(BX)(Z12*1), Z13)
	VPANDQ Z19, Z13, Z14
	VPANDQ Z18, Z13, K3, Z14
	KXORB K1, K1, K1
	LEADS(0x60, K3)
	LEADS(0x68, K3)
	LEADS(0x70, K2)
	LEADS(0x78, K2)
	VPCMPUQ $6, Z12, Z7, K1, K7
	KORTESTB K5, K5
	JCC  withoutUDP

opened:
	KNOTB K7, K6
	KANDNB K5, K7, K1
	KORTESTB K1, K1
	JNZ  ports

place:
	VPCOMPRESSD.Z Y0, K7, Y1
	VMOVDQU Y1, (R9)
	VPSUBQ Z22, Z12, Z12
	VPSUBQ Z12, Z7, Z7
	VPSLLQ $32, Z7, Z7
	VPORQ  Z12, Z7, Z7
	VPCOMPRESSQ.Z Z7, K7, Z7
	VPXORQ Z13, Z13, Z13
	VMOVDQA64 Z7, Z8
	VPERMT2Q Z13, Z17, Z8
	VPERMT2Q Z13, Z16, Z7
	VMOVDQU64 Z8, (DX)
	VMOVDQU64 Z7, 64(DX)
	KMOVB K7, R11
	POPCNTL R11, R11
	LEAQ (R9)(R11*4), R9
	SHLQ $4, R11
	ADDQ R11, DX
	VPCOMPRESSD.Z Y0, K6, Y1
	VMOVDQU Y1, (R8)
	KMOVB K6, R11
	POPCNTL R11, R11
	LEAQ (R8)(R11*4), R8
	ADDQ $32, DI
	DECQ CX
	JNZ  group
	SUBQ numbers+0(FP), R9
	SHRQ $2, R9
	MOVQ R9, plain+56(FP)
	SUBQ others+40(FP), R8
	SHRQ $2, R8
	MOVQ R8, rest+64(FP)
	VZEROUPPER
	RET

	// The datagrams of K1 that have no port of a tunnel are dropped.
ports:
	VPANDQ.BCST ·tunnelWords+0x80(SB), Z9, Z13
	VPCMPEQQ.BCST 120(AX), Z13, K2
	PORT(128)
	PORT(136)
	PORT(144)
	PORT(152)
	PORT(160)
	PORT(168)
	PORT(176)
	PORT(184)
	PORT(192)
	PORT(200)
	PORT(208)
	PORT(216)
	KANDNB K1, K2, K1
	KANDNB K6, K1, K6
	JMP  place

	// Others than those of K5: IPv4 in IP goes to K2, IPv6 to K4, GRE to K3. Z8 is the offset of
	// the header above IP. Of GRE, Z10 has the header, and what holds a frame stays in K3.
withoutUDP:
	VPSRLQ $60, Z3, Z4
	VPCMPEQQ.BCST ·tunnelWords+0x98(SB), Z4, K2
	VPANDQ.BCST ·tunnelWords+0x88(SB), Z3, Z4
	VPCMPEQQ.BCST ·tunnelWords+0x90(SB), Z4, K3
	KORB K2, K3, K3
	VPSRLQ $48, Z3, Z4
	VPSRLQ $52, Z3, K2, Z4
	VPANDQ.BCST ·tunnelWords+0xa0(SB), Z4, Z4
	VPADDQ Z28, Z2, Z8
	VPADDQ Z27, Z2, K2, Z8
	VPSUBQ Z8, Z7, Z6
	VPCMPQ $5, Z26, Z6, K3, K3
	KANDNB K3, K5, K3
	VPCMPEQQ.BCST ·tunnelWords+0xa8(SB), Z4, K3, K2
	VPCMPEQQ.BCST ·tunnelWords+0xb0(SB), Z4, K3, K4
	VPCMPEQQ.BCST ·tunnelWords+0xb8(SB), Z4, K3, K3
	KORB K2, K4, K1
	VMOVDQA64 Z8, K1, Z12
	KORTESTB K3, K3
	JZ   versions

	// Fields of four bytes, and types.
	GATHER(K3, (BX)(Z8*1), Z10)
	VPTESTNMQ.BCST ·tunnelWords+0xc0(SB), Z10, K3, K3
	VPBROADCASTQ ·tunnelWords+0xa8(SB), Z13
	VPADDQ Z13, Z8, K3, Z12
	VPSRLQ $5, Z10, Z4
	VPANDQ Z13, Z4, Z4
	VPADDQ Z4, Z12, K3, Z12
	VPSRLQ $3, Z10, Z4
	VPANDQ Z13, Z4, Z4
	VPADDQ Z4, Z12, K3, Z12
	VPSRLQ $2, Z10, Z4
	VPANDQ Z13, Z4, Z4
	VPADDQ Z4, Z12, K3, Z12
	VPSLLQ $32, Z10, Z10
	VPSRLQ $48, Z10, Z10
	VPCMPEQQ.BCST ·tunnelWords+0xc8(SB), Z10, K3, K1
	KORB K1, K2, K2
	VPCMPEQQ.BCST ·tunnelWords+0xd0(SB), Z10, K3, K1
	KORB K1, K4, K4
	VPCMPEQQ.BCST ·tunnelWords+0xe0(SB), Z10, K3, K1
	VPADDQ Z4, Z12, K1, Z12
	VPADDQ Z4, Z12, K1, Z12
	VPCMPEQQ.BCST ·tunnelWords+0xd8(SB), Z10, K3, K3
	KORB K1, K3, K3
	VPADDQ Z22, Z12, K3, Z12

versions:
	KORB K2, K4, K1
	KORB K1, K3, K1
	VPSUBQ Z12, Z7, Z6
	VPCMPQ.BCST $5, ·tunnelWords+0xe8(SB), Z6, K1, K1
	KANDB K1, K2, K2
	KANDB K1, K3, K3
	KANDB K1, K4, K4
	VPXORQ Z13, Z13, Z13
	VPGATHERQQ -2(BX)(Z12*1), K1, Z13
	VPANDQ Z19, Z13, Z14
	VPCMPEQQ.BCST ·tunnelWords+0x70(SB), Z14, K2, K2
	VPCMPEQQ.BCST ·tunnelWords+0x78(SB), Z14, K4, K1
	KORB K2, K1, K1
	VPANDQ Z18, Z13, Z14
	LEADS(0x60, K3)
	LEADS(0x68, K3)
	KORB K1, K7, K7
	JMP  opened
