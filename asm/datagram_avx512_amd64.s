//go:build amd64 && !purego

#include "textflag.h"

// Numbers that each 64-bit word of a vector gets. Ethertypes are as they are read from
// memory, in little-endian order.
DATA datagramWords<>+0x00(SB)/8, $0xffffffff
DATA datagramWords<>+0x08(SB)/8, $0xffff
DATA datagramWords<>+0x10(SB)/8, $0x0008             // type of IPv4
DATA datagramWords<>+0x18(SB)/8, $0xdd86             // type of IPv6
DATA datagramWords<>+0x20(SB)/8, $0x0081             // types of tags
DATA datagramWords<>+0x28(SB)/8, $0xa888
DATA datagramWords<>+0x30(SB)/8, $0x0091
DATA datagramWords<>+0x38(SB)/8, $14
DATA datagramWords<>+0x40(SB)/8, $40
DATA datagramWords<>+0x48(SB)/8, $0xff00000000000000 // version and length of IPv4
DATA datagramWords<>+0x50(SB)/8, $0x4500000000000000
DATA datagramWords<>+0x58(SB)/8, $0xf000000000000000 // version of IPv6
DATA datagramWords<>+0x60(SB)/8, $0x6000000000000000
DATA datagramWords<>+0x68(SB)/8, $24                 // least lengths
DATA datagramWords<>+0x70(SB)/8, $44
DATA datagramWords<>+0x78(SB)/8, $0xff
DATA datagramWords<>+0x80(SB)/8, $4
DATA datagramWords<>+0x88(SB)/8, $1
DATA datagramWords<>+0x90(SB)/8, $0x00ff000000000000 // protocol of IPv4
DATA datagramWords<>+0x98(SB)/8, $0xff00             // of IPv6
DATA datagramWords<>+0xa0(SB)/8, $12
DATA datagramWords<>+0xa8(SB)/8, $8
DATA datagramWords<>+0xb0(SB)/8, $0xffffff00
DATA datagramWords<>+0xb8(SB)/8, $0x1000000000000000
GLOBL datagramWords<>(SB), RODATA|NOPTR, $192

// The first and the second words of eight messages, and back.
DATA datagramOrders<>+0x00(SB)/8, $0
DATA datagramOrders<>+0x08(SB)/8, $2
DATA datagramOrders<>+0x10(SB)/8, $4
DATA datagramOrders<>+0x18(SB)/8, $6
DATA datagramOrders<>+0x20(SB)/8, $8
DATA datagramOrders<>+0x28(SB)/8, $10
DATA datagramOrders<>+0x30(SB)/8, $12
DATA datagramOrders<>+0x38(SB)/8, $14
DATA datagramOrders<>+0x40(SB)/8, $1
DATA datagramOrders<>+0x48(SB)/8, $3
DATA datagramOrders<>+0x50(SB)/8, $5
DATA datagramOrders<>+0x58(SB)/8, $7
DATA datagramOrders<>+0x60(SB)/8, $9
DATA datagramOrders<>+0x68(SB)/8, $11
DATA datagramOrders<>+0x70(SB)/8, $13
DATA datagramOrders<>+0x78(SB)/8, $15
DATA datagramOrders<>+0x80(SB)/8, $0
DATA datagramOrders<>+0x88(SB)/8, $8
DATA datagramOrders<>+0x90(SB)/8, $1
DATA datagramOrders<>+0x98(SB)/8, $9
DATA datagramOrders<>+0xa0(SB)/8, $2
DATA datagramOrders<>+0xa8(SB)/8, $10
DATA datagramOrders<>+0xb0(SB)/8, $3
DATA datagramOrders<>+0xb8(SB)/8, $11
DATA datagramOrders<>+0xc0(SB)/8, $4
DATA datagramOrders<>+0xc8(SB)/8, $12
DATA datagramOrders<>+0xd0(SB)/8, $5
DATA datagramOrders<>+0xd8(SB)/8, $13
DATA datagramOrders<>+0xe0(SB)/8, $6
DATA datagramOrders<>+0xe8(SB)/8, $14
DATA datagramOrders<>+0xf0(SB)/8, $7
DATA datagramOrders<>+0xf8(SB)/8, $15
GLOBL datagramOrders<>(SB), RODATA|NOPTR, $256

// Bytes of a frame in the order of big-endian words, for both words of 16 bytes:
// bytes 14 to 19 of bytes 12 to 19, bytes 20 and 21 of bytes 20 to 27, and bytes 22 to
// 27 of the same.
DATA datagramBytes<>+0x00(SB)/8, $0x0203040506078080
DATA datagramBytes<>+0x08(SB)/8, $0x0a0b0c0d0e0f8080
DATA datagramBytes<>+0x10(SB)/8, $0x8080808080800001
DATA datagramBytes<>+0x18(SB)/8, $0x8080808080800809
DATA datagramBytes<>+0x20(SB)/8, $0x0203040506078080
DATA datagramBytes<>+0x28(SB)/8, $0x0a0b0c0d0e0f8080
GLOBL datagramBytes<>(SB), RODATA|NOPTR, $48

#define WORD(OFFSET, Z) VPBROADCASTQ datagramWords<>+OFFSET(SB), Z

// TYPES finds the type of each frame: bits of K4 for IPv4, of K6 for IPv6, of K5 for
// either.
#define TYPES \
	VPANDQ Z22, Z6, Z8       \
	VPCMPEQQ Z21, Z8, K4     \
	VPCMPEQQ Z20, Z8, K6     \
	KORB K4, K6, K5

// func placeDatagramsAVX512(msgs *Message, numbers *uint16, rest *uint8, groups int, buf *byte, last int, d *Datagrams)
//
// A word of 64 bits for each of eight frames stands in
//
//	Z2, Z3    the message: offset and length, tweak
//	Z4, Z5    offset of the frame without its tags, captured bytes
//	Z6, Z7    bytes 12 to 19 and 20 to 27
//	Z9, Z10   bytes 0 to 7 and 8 to 13 of the datagram, big-endian
//	Z11, Z12  its length as stated, and as captured
//	Z13, Z14  its protocol, its tweak
//
// K1 tells frames that can be read, K5 those that are not rare.
TEXT ·placeDatagramsAVX512(SB), NOSPLIT, $0-56
	MOVQ msgs+0(FP), DI
	MOVQ numbers+8(FP), DX
	MOVQ rest+16(FP), R8
	MOVQ groups+24(FP), CX
	MOVQ buf+32(FP), SI
	VPBROADCASTQ last+40(FP), Z30
	MOVQ d+48(FP), AX
	VMOVDQU64 datagramOrders<>+0x00(SB), Z29
	VMOVDQU64 datagramOrders<>+0x40(SB), Z28
	VMOVDQU64 datagramOrders<>+0x80(SB), Z27
	VMOVDQU64 datagramOrders<>+0xc0(SB), Z26
	VBROADCASTI64X2 datagramBytes<>+0x00(SB), Z25
	VBROADCASTI64X2 datagramBytes<>+0x10(SB), Z24
	VBROADCASTI64X2 datagramBytes<>+0x20(SB), Z23
	VMOVDQU64 16(AX), Z31
	WORD(0x08, Z22)
	WORD(0x10, Z21)
	WORD(0x18, Z20)
	WORD(0x38, Z19)
	VPBROADCASTQ (AX), Z18
	VPBROADCASTQ 8(AX), Z17
	WORD(0xa0, Z16)

group:
	VMOVDQU64 (DI), Z2
	VMOVDQA64 Z2, Z3
	VPERMT2Q 64(DI), Z29, Z2
	VPERMT2Q 64(DI), Z28, Z3
	VPANDQ.BCST datagramWords<>+0x00(SB), Z2, Z4
	VPSRLQ $32, Z2, Z5
	VPCMPUQ $2, Z30, Z4, K1
	KMOVB K1, K2
	KMOVB K1, K3
	VPXORQ Z6, Z6, Z6
	VPXORQ Z7, Z7, Z7
	VPGATHERQQ 12(SI)(Z4*1), K2, Z6
	VPGATHERQQ 20(SI)(Z4*1), K3, Z7
	TYPES
	KORTESTB K5, K5
	JCC  others

read:
	KANDB K1, K5, K5
	VPSHUFB Z25, Z6, Z9
	VPSHUFB Z24, Z7, Z10
	VPORQ   Z10, Z9, Z9
	VPSHUFB Z23, Z7, Z10

	// Versions.
	VPANDQ.BCST datagramWords<>+0x48(SB), Z9, Z11
	VPCMPEQQ.BCST datagramWords<>+0x50(SB), Z11, K4, K4
	VPANDQ.BCST datagramWords<>+0x58(SB), Z9, Z11
	VPCMPEQQ.BCST datagramWords<>+0x60(SB), Z11, K6, K7
	KORB  K4, K7, K7
	KANDB K7, K5, K5

	// Lengths.
	VPSRLQ $32, Z9, Z11
	VPSRLQ $16, Z9, K6, Z11
	VPANDQ Z22, Z11, Z11
	VPADDQ.BCST datagramWords<>+0x40(SB), Z11, K6, Z11
	VPMAXUD Z19, Z5, Z5
	VPSUBD  Z19, Z5, Z5
	VPMINUD Z5, Z11, Z12
	VPCMPUQ.BCST $5, datagramWords<>+0x68(SB), Z12, K5, K5
	VPCMPUQ.BCST $1, datagramWords<>+0x70(SB), Z12, K6, K7
	KANDNB K5, K7, K5

	// Protocols.
	VPSRLQ $48, Z10, Z13
	VPSRLQ $8, Z9, K6, Z13
	VPANDQ.BCST datagramWords<>+0x78(SB), Z13, Z13
	VPSRLQ $6, Z13, Z8
	VPADDQ.BCST datagramWords<>+0x80(SB), Z8, K6, Z8
	VPERMQ Z31, Z8, Z8
	VPRORVQ Z13, Z8, Z8
	VPTESTNMQ.BCST datagramWords<>+0x88(SB), Z8, K5, K5

	// Tweaks.
	VPANDQ Z18, Z9, Z14
	VPANDQ Z17, Z9, K6, Z14
	VPANDQ.BCST datagramWords<>+0x90(SB), Z10, Z8
	VPSRLQ $32, Z10, K6, Z8
	VPANDQ.BCST datagramWords<>+0x98(SB), Z9, Z15
	VPSLLQ.Z $44, Z15, K6, Z15
	VPTERNLOGQ $0xfe, Z15, Z8, Z14

	// Messages.
	VMOVDQA64 Z16, Z8
	VPCMPUQ $4, Z12, Z11, K6, K7
	KORTESTB K7, K7
	JNZ  cut

place:
	VPADDD Z19, Z4, Z4
	VPADDD Z8, Z4, Z4
	VPSUBD Z8, Z12, Z12
	VPSLLQ $32, Z12, Z12
	VPORQ  Z12, Z4, K5, Z2
	VMOVDQA64 Z14, K5, Z3
	VMOVDQA64.Z Z13, K5, Z13
	VPMOVQW Z13, (DX)
	VMOVDQA64 Z2, Z0
	VPERMT2Q Z3, Z27, Z0
	VPERMT2Q Z3, Z26, Z2
	VMOVDQU64 Z0, (DI)
	VMOVDQU64 Z2, 64(DI)
	KNOTB K5, K5
	KMOVB K5, (R8)
	ADDQ $128, DI
	ADDQ $16, DX
	INCQ R8
	DECQ CX
	JNZ  group
	VZEROUPPER
	RET

	// Payload lengths are not those of the captured bytes.
cut:
	VPORQ.BCST datagramWords<>+0xb0(SB), Z17, Z15
	VPANDQ Z15, Z9, K7, Z14
	VPORQ.BCST datagramWords<>+0xb8(SB), Z14, K7, Z14
	VPBROADCASTQ datagramWords<>+0xa8(SB), K7, Z8
	JMP  place

	// Some frames do not start with IP: up to two tags are taken out of these.
others:
	MOVQ $2, R10

tags:
	VPCMPEQQ.BCST datagramWords<>+0x20(SB), Z8, K1, K2
	VPCMPEQQ.BCST datagramWords<>+0x28(SB), Z8, K1, K3
	KORB K2, K3, K2
	VPCMPEQQ.BCST datagramWords<>+0x30(SB), Z8, K1, K3
	KORB K2, K3, K2
	KORTESTB K2, K2
	JZ   read
	VPADDQ.BCST datagramWords<>+0x80(SB), Z4, K2, Z4
	VPMAXUQ.BCST datagramWords<>+0x80(SB), Z5, K2, Z5
	VPSUBQ.BCST datagramWords<>+0x80(SB), Z5, K2, Z5
	VPCMPUQ $2, Z30, Z4, K1, K1
	KANDB K1, K2, K2
	KMOVB K2, K3
	VPGATHERQQ 12(SI)(Z4*1), K2, Z6
	VPGATHERQQ 20(SI)(Z4*1), K3, Z7
	TYPES
	DECQ R10
	JNZ  tags
	JMP  read
