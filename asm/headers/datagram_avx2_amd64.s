// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"

// Bytes 14 to 21 and 20 to 27 of a frame as big-endian words, out of its bytes 12 to 27.
DATA ·plainBytes+0x00(SB)/8, $0x0203040506070809
DATA ·plainBytes+0x08(SB)/8, $0x08090a0b0c0d0e0f
DATA ·plainBytes+0x10(SB)/8, $0x0203040506070809
DATA ·plainBytes+0x18(SB)/8, $0x08090a0b0c0d0e0f
GLOBL ·plainBytes(SB), RODATA|NOPTR, $32

// NUMBER sets the four words of a vector to N.
#define NUMBER(OFFSET, N) \
	DATA ·plainWords+(OFFSET+0x00)(SB)/8, N  \
	DATA ·plainWords+(OFFSET+0x08)(SB)/8, N  \
	DATA ·plainWords+(OFFSET+0x10)(SB)/8, N  \
	DATA ·plainWords+(OFFSET+0x18)(SB)/8, N

NUMBER(0x000, $14)                 // end of a frame of length 0
NUMBER(0x020, $40)                 // how much later it is for IPv6
NUMBER(0x040, $38)                 // least end
NUMBER(0x060, $20)                 // how much more for IPv6
NUMBER(0x080, $0x00ff000000000000) // protocol of IPv4
NUMBER(0x0a0, $0xff00)             // of IPv6
NUMBER(0x0c0, $0xffffffe60000001a) // the numbers that are added to end and offset
NUMBER(0x0e0, $0xffffffff)
NUMBER(0x100, $0xffff)             // sums that are right
NUMBER(0x120, $0x1fffe)
NUMBER(0x140, $0xffff0000)         // checksum of IPv4, in bytes 6 to 13
GLOBL ·plainWords(SB), RODATA|NOPTR, $352

// Bytes 14 to 19 of IPv4 as a big-endian word.
DATA ·plainEnds+0x00(SB)/8, $0x8080000102030405
DATA ·plainEnds+0x08(SB)/8, $0x808008090a0b0c0d
DATA ·plainEnds+0x10(SB)/8, $0x8080000102030405
DATA ·plainEnds+0x18(SB)/8, $0x808008090a0b0c0d
GLOBL ·plainEnds(SB), RODATA|NOPTR, $32

#define WORDS(OFFSET) ·plainWords+OFFSET(SB)

// Protocols of four words.
DATA ·plainProtocols(SB)/8, $0x00ff00ff00ff00ff
GLOBL ·plainProtocols(SB), RODATA|NOPTR, $8

// SLOW adds whether the next of four indexes in R12 takes the slow path.
#define SLOW \
	RORQ    $16, R12       \
	MOVWQZX R12, R13       \
	ORB     160(AX)(R13*1), CX

// func findDatagramsAVX2(msgs *digest.Message, numbers *uint16, groups int, buf *byte, last int, d *Datagrams) (others, cut, broken uint64)
//
// Frames 0 and 1 of a group lie in the halves of one register, 2 and 3 in the halves of
// another, so words of all four stand in the order 0, 2, 1, 3. Y4 marks frames of IPv6,
// Y5 plain ones. Y7 is the end of datagrams, Y8 the beginning of messages, Y2 marks
// datagrams that end as stated. BX collects the others, R14 is the bit of the next
// message there. R15 collects datagrams that were truncated, and in its upper half
// those that no receiver takes.
TEXT ·findDatagramsAVX2(SB), NOSPLIT, $0-72
	MOVQ msgs+0(FP), DI
	MOVQ numbers+8(FP), DX
	MOVQ buf+24(FP), SI
	MOVQ d+40(FP), AX
	XORL BX, BX
	XORL R14, R14
	XORL R15, R15
	VMOVDQU ·plainBytes(SB), Y15
	VPBROADCASTQ 144(AX), Y14
	VPBROADCASTQ 152(AX), Y13
	VPBROADCASTQ 120(AX), Y12
	VPBROADCASTQ 128(AX), Y11
	VPBROADCASTQ 136(AX), Y10

group:
	MOVL (DI), R8
	MOVL 16(DI), R9
	MOVL 32(DI), R10
	MOVL 48(DI), R11
	CMPQ R8, last+32(FP)
	JHI  four
	CMPQ R9, last+32(FP)
	JHI  four
	CMPQ R10, last+32(FP)
	JHI  four
	CMPQ R11, last+32(FP)
	JHI  four
	VMOVDQU 12(SI)(R8*1), X0
	VINSERTI128 $1, 12(SI)(R9*1), Y0, Y0
	VMOVDQU 12(SI)(R10*1), X1
	VINSERTI128 $1, 12(SI)(R11*1), Y1, Y1
	VPUNPCKLQDQ Y1, Y0, Y2 // type in the low bytes
	VPSHUFB Y15, Y0, Y0
	VPSHUFB Y15, Y1, Y1
	VPUNPCKHQDQ Y1, Y0, Y3 // bytes 6 to 13 of datagrams
	VPUNPCKLQDQ Y1, Y0, Y0 // bytes 0 to 7

	// Version and type.
	VPSRLQ   $56, Y0, Y4
	VPSLLQ   $16, Y4, Y4
	VPAND    64(AX), Y2, Y2
	VPBLENDW $0x11, Y2, Y4, Y4
	VPCMPEQQ Y12, Y4, Y5
	VPAND    Y10, Y4, Y4
	VPCMPEQQ Y11, Y4, Y4
	VPOR     Y4, Y5, Y5

	// Lengths. IPv6 takes another path if the stated length differs from the frame's.
	VPSLLQ   $16, Y0, Y6
	VPSLLQ   $32, Y0, Y7
	VPBLENDVB Y4, Y7, Y6, Y6
	VPSRLQ   $48, Y6, Y6
	VPAND    WORDS(0x020), Y4, Y1
	VPADDQ   Y1, Y6, Y6
	VPADDQ   WORDS(0x000), Y6, Y6
	VMOVDQU  (DI), Y8
	VPUNPCKLQDQ 32(DI), Y8, Y8
	VPSRLQ   $32, Y8, Y7
	VPMINUD  Y7, Y6, Y7
	VPCMPEQQ Y7, Y6, Y2
	VPANDN   Y4, Y2, Y6
	VPANDN   Y5, Y6, Y5
	VPAND    WORDS(0x060), Y4, Y9
	VPADDQ   WORDS(0x040), Y9, Y9
	VPCMPGTQ Y7, Y9, Y9
	VPANDN   Y5, Y9, Y5
	VPERMQ   $0xd8, Y5, Y9
	VMOVMSKPD Y9, R13
	XORL     $15, R13
	SHLXQ    R14, R13, R12
	ORQ      R12, BX
	CMPL     R13, $15
	JEQ      next

	// Protocols, with a ninth bit for IPv6.
	VPSLLQ   $24, Y3, Y6
	VPBLENDVB Y4, Y3, Y6, Y6
	VPSRLQ   $56, Y6, Y6
	VPAND    Y5, Y6, Y6
	VPSRLQ   $63, Y4, Y9
	VPSLLQ   $8, Y9, Y9
	VPOR     Y9, Y6, Y6
	VEXTRACTI128 $1, Y6, X9
	VPSLLQ   $16, X9, X9
	VPOR     X9, X6, X6
	VPSHUFD  $0x08, X6, X6
	VMOVQ    X6, R12
	XORL     CX, CX
	SLOW
	SLOW
	SLOW
	SLOW
	TESTB    CX, CX
	JNZ      four
	ANDQ     ·plainProtocols(SB), R12
	MOVQ     R12, (DX)

	// Sums: words of 32 bits are added, then folded to 18 bits: of these, two are multiples of 0xffff.
	VMOVQ    28(SI)(R8*1), X1
	VMOVQ    28(SI)(R9*1), X6
	VMOVHPS  28(SI)(R10*1), X1, X1
	VMOVHPS  28(SI)(R11*1), X6, X6
	VINSERTI128 $1, X6, Y1, Y1
	VPSHUFB  ·plainEnds(SB), Y1, Y1
	VPSRLQ   $32, Y0, Y6
	VPADDQ   Y6, Y1, Y1
	VPAND    WORDS(0x0e0), Y0, Y6
	VPADDQ   Y6, Y1, Y1
	VPSLLQ   $16, Y3, Y6
	VPSRLQ   $16, Y6, Y6
	VPADDQ   Y6, Y1, Y1
	VPSRLQ   $32, Y1, Y6
	VPAND    WORDS(0x0e0), Y1, Y1
	VPADDQ   Y6, Y1, Y1
	VPSRLQ   $16, Y1, Y6
	VPAND    WORDS(0x100), Y1, Y1
	VPADDQ   Y6, Y1, Y1
	VPCMPEQQ WORDS(0x100), Y1, Y6
	VPCMPEQQ WORDS(0x120), Y1, Y1
	VPOR     Y6, Y1, Y1

	// What is wrong is IPv4 and has a checksum. Or nothing is left of a time to live.
	VPAND    WORDS(0x140), Y3, Y9
	VPXOR    Y6, Y6, Y6
	VPCMPEQQ Y6, Y9, Y9
	VPOR     Y9, Y1, Y1
	VPOR     Y4, Y1, Y1
	VPSRLQ   $40, Y3, Y6
	VPSRLQ   $48, Y3, Y9
	VPBLENDVB Y4, Y9, Y6, Y6
	VPSLLQ   $56, Y6, Y6
	VPXOR    Y9, Y9, Y9
	VPCMPEQQ Y6, Y9, Y6
	VPANDN   Y1, Y6, Y1
	VPANDN   Y5, Y1, Y1
	VMOVMSKPD Y1, R9
	SHLQ     $32, R9
	ORQ      R9, R15

	// Tweaks.
	VPSLLQ   $16, Y3, Y3
	VPAND    Y13, Y0, Y6
	VPAND    WORDS(0x0a0), Y0, Y9
	VPSLLQ   $44, Y9, Y9
	VPOR     Y9, Y6, Y6
	VPSRLQ   $32, Y3, Y9
	VPOR     Y9, Y6, Y6
	VPAND    WORDS(0x080), Y3, Y3
	VPAND    Y14, Y0, Y0
	VPOR     Y3, Y0, Y0
	VPBLENDVB Y4, Y6, Y0, Y0

	// Messages.
	VPANDN   Y5, Y2, Y2
	VMOVMSKPD Y2, R9
	ORQ      R9, R15
	VPSLLQ   $32, Y7, Y7
	VPBLENDD $0xaa, Y7, Y8, Y8
	VPADDD   WORDS(0x0c0), Y8, Y8
	VPUNPCKLQDQ Y0, Y8, Y1
	VPUNPCKHQDQ Y0, Y8, Y2
	VPUNPCKLQDQ Y5, Y5, Y4
	VPUNPCKHQDQ Y5, Y5, Y5
	VMOVDQU  (DI), Y6
	VMOVDQU  32(DI), Y7
	VPBLENDVB Y4, Y1, Y6, Y1
	VPBLENDVB Y5, Y2, Y7, Y2
	VMOVDQU  Y1, (DI)
	VMOVDQU  Y2, 32(DI)

next:
	ADDL     $4, R14
	ADDQ     $64, DI
	ADDQ     $8, DX
	DECQ     groups+16(FP)
	JNZ      group
	MOVQ     BX, others+48(FP)
	MOVL     R15, R8
	SHRQ     $32, R15
	MOVQ     R8, cut+56(FP)
	MOVQ     R15, broken+64(FP)
	VZEROUPPER
	RET

four:
	MOVL     $15, R13
	SHLXQ    R14, R13, R13
	ORQ      R13, BX
	JMP      next
