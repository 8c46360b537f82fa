// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"

// TUNNELNUMBER sets the four words of a vector to N.
#define TUNNELNUMBER(OFFSET, N) \
	DATA ·tunnelNumbers+(OFFSET+0x00)(SB)/8, N \
	DATA ·tunnelNumbers+(OFFSET+0x08)(SB)/8, N \
	DATA ·tunnelNumbers+(OFFSET+0x10)(SB)/8, N \
	DATA ·tunnelNumbers+(OFFSET+0x18)(SB)/8, N

TUNNELNUMBER(0x000, $0xf000000000003fff) // of a tweak: the version, and what only fragments of IPv4 have
TUNNELNUMBER(0x020, $0x4000000000000000)
TUNNELNUMBER(0x040, $6)                  // version
TUNNELNUMBER(0x060, $17)                 // protocol
TUNNELNUMBER(0x080, $20)                 // how much further on headers of IPv6 end
TUNNELNUMBER(0x0a0, $0xffffffff)         // offset
TUNNELNUMBER(0x0c0, $15)                 // less than UDP has, with 8 bytes before it
TUNNELNUMBER(0x0e0, $31)                 // bits of a port within a word of a table
TUNNELNUMBER(0x100, $0xffff)             // source port
TUNNELNUMBER(0x120, $0xffff0000)         // destination port
TUNNELNUMBER(0x140, $8)
TUNNELNUMBER(0x160, $61)                 // less than a tunnel with IP has, with 8 bytes before it
TUNNELNUMBER(0x180, $24)                 // from there to 14 bytes before IP
TUNNELNUMBER(0x1a0, $0xf0ffff)           // ethertype and version
TUNNELNUMBER(0x1c0, $0x400008)
TUNNELNUMBER(0x1e0, $0x60dd86)
GLOBL ·tunnelNumbers(SB), RODATA|NOPTR, $512

#define TUNNELWORDS(OFFSET) ·tunnelNumbers+OFFSET(SB)

// OFFSETS moves the words of Y to AX, R14, R15 and R. X is a part of Y.
#define OFFSETS(X, Y, R) \
	VMOVQ   X, AX               \
	VPEXTRQ $1, X, R14          \
	VEXTRACTI128 $1, Y, X2      \
	VMOVQ   X2, R15             \
	VPEXTRQ $1, X2, R

// OTHERS collects messages of the group whose bits are in R.
#define OTHERS(R) \
	SHLXQ CX, R, R \
	ORQ   R, R10

// func placeTunnels(msgs *digest.Message, numbers *uint16, todo uint64, buf *byte, last int, t *Tunnels, r *tunnelRound) (n int, others uint64)
//
// CX is the number of the first message of a group. A word for each message stands in
//
//	Y0      8 less than the offset of the header above IP, then 14 less than the offset of IP
//	Y1      8 more than what the packet has from there on
//	Y4, Y5  the words of UDP and of the tunnel, Y6 its destination port
//	Y7, Y8  whether a shape has the tunnel, how many words of options it has
//	Y9      whether the message can be read
//
// R13 marks messages of the group, R12 those to a port with the low byte of a tunnel's. R10 collects
// others.
TEXT ·placeTunnels(SB), NOSPLIT, $32-72
	MOVQ msgs+0(FP), DI
	MOVQ numbers+8(FP), R11
	MOVQ todo+16(FP), R9
	MOVQ buf+24(FP), SI
	MOVQ t+40(FP), BX
	MOVQ r+48(FP), R8
	LEAQ tunnelRound_list(R8), DX
	SUBQ $8, last+32(FP)
	VPBROADCASTQ last+32(FP), Y15
	VMOVDQU Tunnels_low(BX), Y14
	VMOVDQU Tunnels_from(BX), Y13
	VSHUFPS $0x88, Tunnels_from+32(BX), Y13, Y13
	VPERMQ  $0xd8, Y13, Y13
	VMOVQ   Tunnels_shift(BX), X12
	VBROADCASTI128 ·tunnelBytes(SB), Y11
	XORL R10, R10
	XORL CX, CX

group:
	MOVL R9, R13
	ANDL $15, R13
	JZ   next
	VMOVDQU (DI), X0
	VMOVDQU 16(DI), X1
	VINSERTI128 $1, 32(DI), Y0, Y0
	VINSERTI128 $1, 48(DI), Y1, Y1
	VPUNPCKLQDQ Y1, Y0, Y2
	VPUNPCKHQDQ Y1, Y0, Y3

	// Whole datagrams. Their headers of IPv4 end 8 bytes behind the offset.
	VPAND    TUNNELWORDS(0x000), Y3, Y9
	VPCMPEQQ TUNNELWORDS(0x020), Y9, Y9
	VPSRLQ   $60, Y3, Y3
	VPCMPEQQ TUNNELWORDS(0x040), Y3, Y3
	VPOR     Y3, Y9, Y9
	VPMOVZXWQ (R11), Y4
	VPCMPEQQ TUNNELWORDS(0x060), Y4, Y4
	VPAND    Y4, Y9, Y9
	VPAND    TUNNELWORDS(0x080), Y3, Y3
	VPAND    TUNNELWORDS(0x0a0), Y2, Y0
	VPADDQ   Y3, Y0, Y0
	VPSRLQ   $32, Y2, Y1
	VPSUBQ   Y3, Y1, Y1
	VPCMPGTQ Y15, Y0, Y4
	VPANDN   Y9, Y4, Y9
	VPCMPGTQ TUNNELWORDS(0x0c0), Y1, Y4
	VPAND    Y4, Y9, Y9
	VMOVMSKPD Y9, R12
	ANDNL    R13, R12, AX
	OTHERS(AX)
	ANDL     R12, R13
	JZ       next
	VPAND    Y9, Y0, Y0
	OFFSETS(X0, Y0, R12)
	VMOVDQU  8(SI)(AX*1), X2
	VMOVDQU  8(SI)(R14*1), X3
	VINSERTI128 $1, 8(SI)(R15*1), Y2, Y2
	VINSERTI128 $1, 8(SI)(R12*1), Y3, Y3
	VPUNPCKLQDQ Y3, Y2, Y4
	VPUNPCKHQDQ Y3, Y2, Y5

	// The destination port, by its low byte.
	VPSRLQ   $29, Y4, Y2
	VPERMD   Y14, Y2, Y2
	VPSRLQ   $24, Y4, Y3
	VPAND    TUNNELWORDS(0x0e0), Y3, Y3
	VPSRLVD  Y3, Y2, Y2
	VPSLLQ   $63, Y2, Y2
	VMOVMSKPD Y2, R12
	ANDL     R13, R12
	ANDNL    R13, R12, AX
	JZ       shapes

	// No tunnel has the destination port. A source port is another tunnel's.
	VPSRLQ   X12, Y4, Y2
	VPERMD   Y13, Y2, Y2
	VPAND    TUNNELWORDS(0x100), Y4, Y3
	VPCMPEQD Y3, Y2, Y2
	VPSLLQ   $32, Y2, Y2
	VMOVMSKPD Y2, R14
	ANDL     R14, AX
	OTHERS(AX)
	TESTL    R12, R12
	JZ       next

shapes:
	VPAND TUNNELWORDS(0x120), Y4, Y6
	VPXOR Y7, Y7, Y7
	VPXOR Y8, Y8, Y8
	MOVQ  BX, AX
	LEAQ  128(BX), R13

shape:
	VPBROADCASTQ tunnelShape_mask(AX), Y2
	VPBROADCASTQ tunnelShape_value(AX), Y3
	VPAND    Y5, Y2, Y2
	VPCMPEQQ Y3, Y2, Y2
	VPBROADCASTQ tunnelShape_port(AX), Y3
	VPCMPEQQ Y6, Y3, Y3
	VPAND    Y3, Y2, Y2
	VPOR     Y2, Y7, Y7
	VPBROADCASTQ tunnelShape_words(AX), Y3
	VPAND    Y5, Y2, Y2
	VPAND    Y3, Y2, Y2
	VPOR     Y2, Y8, Y8
	VMOVMSKPD Y7, R14
	ANDNL    R12, R14, R14
	JZ       shaped
	ADDQ     $32, AX
	CMPQ     AX, R13
	JNE      shape

	// Where IP begins, less 14, and how much there is from there on.
shaped:
	VPAND    Y9, Y7, Y7
	VPSHUFB  Y11, Y4, Y2
	VPADDQ   TUNNELWORDS(0x140), Y2, Y2
	VPMINUD  Y1, Y2, Y2
	VPSLLQ   $2, Y8, Y8
	VPSUBQ   Y8, Y2, Y1
	VPCMPGTQ TUNNELWORDS(0x160), Y1, Y3
	VPAND    Y3, Y7, Y7
	VPADDQ   TUNNELWORDS(0x180), Y8, Y8
	VPADDQ   Y8, Y0, Y0
	VPAND    Y7, Y0, Y0
	VPSUBQ   TUNNELWORDS(0x180), Y1, Y1
	VPSLLQ   $32, Y1, Y1
	VPOR     Y0, Y1, Y1
	OFFSETS(X0, Y0, R13)
	VMOVQ    12(SI)(AX*1), X2
	VMOVQ    12(SI)(R15*1), X3
	VMOVHPS  12(SI)(R14*1), X2, X2
	VMOVHPS  12(SI)(R13*1), X3, X3
	VINSERTI128 $1, X3, Y2, Y2
	VPAND    TUNNELWORDS(0x1a0), Y2, Y2
	VPCMPEQQ TUNNELWORDS(0x1c0), Y2, Y3
	VPCMPEQQ TUNNELWORDS(0x1e0), Y2, Y2
	VPOR     Y3, Y2, Y2
	VPAND    Y2, Y7, Y7
	VMOVMSKPD Y7, R13
	ANDL     R12, R13
	ANDNL    R12, R13, AX
	OTHERS(AX)
	CMPL     R13, $15
	JNE      some
	VEXTRACTI128 $1, Y1, X2
	VMOVQ    X1, (R8)
	VPEXTRQ  $1, X1, 16(R8)
	VMOVQ    X2, 32(R8)
	VPEXTRQ  $1, X2, 48(R8)
	IMUL3L   $0x01010101, CX, AX
	ADDL     $0x03020100, AX
	MOVL     AX, (DX)
	ADDQ     $64, R8
	ADDQ     $4, DX
	JMP      next

some:
	TESTL    R13, R13
	JZ       next
	VMOVDQU  Y1, words-32(SP)

plain:
	TZCNTL R13, AX
	MOVQ   words-32(SP)(AX*8), R14
	MOVQ   R14, (R8)
	ADDL   CX, AX
	MOVB   AX, (DX)
	ADDQ   $16, R8
	INCQ   DX
	BLSRL  R13, R13
	JNZ    plain

next:
	ADDL $4, CX
	ADDQ $64, DI
	ADDQ $8, R11
	SHRQ $4, R9
	JNZ  group
	MOVQ r+48(FP), R8
	LEAQ tunnelRound_list(R8), R8
	SUBQ R8, DX
	MOVQ DX, n+56(FP)
	MOVQ R10, others+64(FP)
	VZEROUPPER
	RET

DATA ·carryingBits+0x00(SB)/8, $0x8040201008040201 // the bits of a byte
DATA ·carryingBits+0x08(SB)/8, $0x8040201008040201
DATA ·carryingBits+0x10(SB)/8, $0x0707070707070707 // which of them
DATA ·carryingBits+0x18(SB)/8, $0x0f0f0f0f0f0f0f0f // which byte of a half
DATA ·carryingBits+0x20(SB)/8, $0x00ff00ff00ff00ff
GLOBL ·carryingBits(SB), RODATA|NOPTR, $40

// func carryingWord(numbers *uint16, groups int, carries *[8]uint64) (which uint64)
//
// Y0 and Y1 have a bit for each protocol below 128, and for the others. The last group comes first.
TEXT ·carryingWord(SB), NOSPLIT, $0-32
	MOVQ numbers+0(FP), SI
	MOVQ groups+8(FP), CX
	MOVQ carries+16(FP), BX
	VBROADCASTI128 (BX), Y0
	VBROADCASTI128 16(BX), Y1
	VBROADCASTI128 ·carryingBits+0x00(SB), Y2
	VPBROADCASTQ ·carryingBits+0x10(SB), Y3
	VPBROADCASTQ ·carryingBits+0x18(SB), Y4
	VPBROADCASTQ ·carryingBits+0x20(SB), Y5
	MOVQ CX, DX
	SHLQ $6, DX
	ADDQ DX, SI
	XORL AX, AX

group:
	SUBQ $64, SI
	VPAND (SI), Y5, Y6
	VPAND 32(SI), Y5, Y7
	VPACKUSWB Y7, Y6, Y6
	VPERMQ $0xd8, Y6, Y6
	VPSRLW $3, Y6, Y7
	VPAND Y4, Y7, Y7
	VPSHUFB Y7, Y0, Y8
	VPSHUFB Y7, Y1, Y9
	VPBLENDVB Y6, Y9, Y8, Y8
	VPAND Y3, Y6, Y6
	VPSHUFB Y6, Y2, Y6
	VPAND Y6, Y8, Y8
	VPCMPEQB Y6, Y8, Y8
	VPMOVMSKB Y8, DX
	SHLQ $32, AX
	ORQ  DX, AX
	DECQ CX
	JNZ  group
	MOVQ AX, which+24(FP)
	VZEROUPPER
	RET
