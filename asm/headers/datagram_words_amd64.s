// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"

// Numbers that each 64-bit word of a vector gets. Ethertypes are as they are read from
// memory, in little-endian order.
DATA ·datagramWords+0x00(SB)/8, $0xffffffff
DATA ·datagramWords+0x08(SB)/8, $0xffff
DATA ·datagramWords+0x10(SB)/8, $0x0081             // types of tags
DATA ·datagramWords+0x18(SB)/8, $0xa888
DATA ·datagramWords+0x20(SB)/8, $0x0091
DATA ·datagramWords+0x28(SB)/8, $14
DATA ·datagramWords+0x30(SB)/8, $40
DATA ·datagramWords+0x38(SB)/8, $0xff00000000000000 // version and length of IPv4
DATA ·datagramWords+0x40(SB)/8, $0x4500000000000000
DATA ·datagramWords+0x48(SB)/8, $0xf000000000000000 // version of IPv6
DATA ·datagramWords+0x50(SB)/8, $0x6000000000000000
DATA ·datagramWords+0x58(SB)/8, $24                 // least lengths
DATA ·datagramWords+0x60(SB)/8, $44
DATA ·datagramWords+0x68(SB)/8, $0xff
DATA ·datagramWords+0x70(SB)/8, $4
DATA ·datagramWords+0x78(SB)/8, $1
DATA ·datagramWords+0x80(SB)/8, $0x00ff000000000000 // protocol of IPv4
DATA ·datagramWords+0x88(SB)/8, $0xff00             // of IPv6
DATA ·datagramWords+0x90(SB)/8, $12
DATA ·datagramWords+0x98(SB)/8, $8
DATA ·datagramWords+0xa0(SB)/8, $0xffffff00
DATA ·datagramWords+0xa8(SB)/8, $0x1000000000000000
DATA ·datagramWords+0xb0(SB)/8, $0xff00000000003fff // the same, and fragments
DATA ·datagramWords+0xb8(SB)/8, $20
DATA ·datagramWords+0xc0(SB)/8, $0xfff               // a tag's identifier
DATA ·datagramWords+0xc8(SB)/8, $0x10000             // that there is one
DATA ·datagramWords+0xd0(SB)/8, $36                  // bytes that are read of a frame
DATA ·datagramWords+0xd8(SB)/8, $46                  // least frame with PPPoE
DATA ·datagramWords+0xe0(SB)/8, $42                  // with an entry of a stack
DATA ·datagramWords+0xe8(SB)/8, $58                  // with IPv6
DATA ·datagramWords+0xf0(SB)/8, $0x2100              // PPP's numbers for IP
DATA ·datagramWords+0xf8(SB)/8, $0x5700
DATA ·datagramWords+0x100(SB)/8, $0x100000000        // bottom of the stack
DATA ·datagramWords+0x108(SB)/8, $0xf00000           // version of IP behind two bytes
DATA ·datagramWords+0x110(SB)/8, $0x400000
DATA ·datagramWords+0x118(SB)/8, $0x600000
DATA ·datagramWords+0x120(SB)/8, $0x0008             // types of IP, and one more of tags
DATA ·datagramWords+0x128(SB)/8, $0xdd86
DATA ·datagramWords+0x130(SB)/8, $0x0092
DATA ·datagramWords+0x138(SB)/8, $0x0000ffff0000ffff // every other number of 16 bits
DATA ·datagramWords+0x140(SB)/8, $0x0000ffffffffffff // the last bytes of IPv4
DATA ·datagramWords+0x148(SB)/8, $0xfffefffefffeffff // the inverse of 0xffff, modulo 2^64
DATA ·datagramWords+0x150(SB)/8, $0x0000ffff00000000 // behind byte 6 of IP: the checksum of IPv4
DATA ·datagramWords+0x158(SB)/8, $0xff0000           // its time to live
DATA ·datagramWords+0x160(SB)/8, $0x0001000100010001 // the most that it takes a multiple of 0xffff to
GLOBL ·datagramWords(SB), RODATA|NOPTR, $360

// The first and the second words of eight messages, and back, and all as they are.
DATA ·datagramOrders+0x00(SB)/8, $0
DATA ·datagramOrders+0x08(SB)/8, $2
DATA ·datagramOrders+0x10(SB)/8, $4
DATA ·datagramOrders+0x18(SB)/8, $6
DATA ·datagramOrders+0x20(SB)/8, $8
DATA ·datagramOrders+0x28(SB)/8, $10
DATA ·datagramOrders+0x30(SB)/8, $12
DATA ·datagramOrders+0x38(SB)/8, $14
DATA ·datagramOrders+0x40(SB)/8, $1
DATA ·datagramOrders+0x48(SB)/8, $3
DATA ·datagramOrders+0x50(SB)/8, $5
DATA ·datagramOrders+0x58(SB)/8, $7
DATA ·datagramOrders+0x60(SB)/8, $9
DATA ·datagramOrders+0x68(SB)/8, $11
DATA ·datagramOrders+0x70(SB)/8, $13
DATA ·datagramOrders+0x78(SB)/8, $15
DATA ·datagramOrders+0x80(SB)/8, $0
DATA ·datagramOrders+0x88(SB)/8, $8
DATA ·datagramOrders+0x90(SB)/8, $1
DATA ·datagramOrders+0x98(SB)/8, $9
DATA ·datagramOrders+0xa0(SB)/8, $2
DATA ·datagramOrders+0xa8(SB)/8, $10
DATA ·datagramOrders+0xb0(SB)/8, $3
DATA ·datagramOrders+0xb8(SB)/8, $11
DATA ·datagramOrders+0xc0(SB)/8, $4
DATA ·datagramOrders+0xc8(SB)/8, $12
DATA ·datagramOrders+0xd0(SB)/8, $5
DATA ·datagramOrders+0xd8(SB)/8, $13
DATA ·datagramOrders+0xe0(SB)/8, $6
DATA ·datagramOrders+0xe8(SB)/8, $14
DATA ·datagramOrders+0xf0(SB)/8, $7
DATA ·datagramOrders+0xf8(SB)/8, $15
DATA ·datagramOrders+0x100(SB)/8, $0
DATA ·datagramOrders+0x108(SB)/8, $1
DATA ·datagramOrders+0x110(SB)/8, $2
DATA ·datagramOrders+0x118(SB)/8, $3
DATA ·datagramOrders+0x120(SB)/8, $4
DATA ·datagramOrders+0x128(SB)/8, $5
DATA ·datagramOrders+0x130(SB)/8, $6
DATA ·datagramOrders+0x138(SB)/8, $7
GLOBL ·datagramOrders(SB), RODATA|NOPTR, $320

// Bytes of a frame in the order of big-endian words, for both words of 16 bytes:
// bytes 14 to 19 of bytes 12 to 19, bytes 20 and 21 of bytes 20 to 27, and bytes 22 to
// 27 of the same. Then bytes 14 and 15, and the last four bytes of a word in front.
DATA ·datagramBytes+0x00(SB)/8, $0x0203040506078080
DATA ·datagramBytes+0x08(SB)/8, $0x0a0b0c0d0e0f8080
DATA ·datagramBytes+0x10(SB)/8, $0x8080808080800001
DATA ·datagramBytes+0x18(SB)/8, $0x8080808080800809
DATA ·datagramBytes+0x20(SB)/8, $0x0203040506078080
DATA ·datagramBytes+0x28(SB)/8, $0x0a0b0c0d0e0f8080
DATA ·datagramBytes+0x30(SB)/8, $0x8080808080800203
DATA ·datagramBytes+0x38(SB)/8, $0x8080808080800a0b
DATA ·datagramBytes+0x40(SB)/8, $0x0405060780808080
DATA ·datagramBytes+0x48(SB)/8, $0x0c0d0e0f80808080
GLOBL ·datagramBytes(SB), RODATA|NOPTR, $80
