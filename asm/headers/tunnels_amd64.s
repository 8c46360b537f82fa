// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"

// Of a tweak: the version and what only fragments of IPv4 have, and what whole datagrams of IPv4 have.
DATA ·wholeIPv4+0x00(SB)/8, $0xf000000000003fff
DATA ·wholeIPv4+0x08(SB)/8, $0x4000000000000000
GLOBL ·wholeIPv4(SB), RODATA|NOPTR, $16

// func placeTunnels(msgs *digest.Message, numbers *uint16, todo uint64, buf *byte, last int, t *Tunnels, r *tunnelRound) (n int, others uint64)
//
// CX is the number of a message. AX is 8 less than the offset of the header above IP, R15 is 8 more
// than what the packet has from there on. R13 is the word of UDP, R12 the shape of the tunnel, then
// where IP begins. R10 collects others.
TEXT ·placeTunnels(SB), NOSPLIT, $0-72
	MOVQ msgs+0(FP), DI
	MOVQ numbers+8(FP), R11
	MOVQ todo+16(FP), R9
	MOVQ buf+24(FP), SI
	MOVQ t+40(FP), BX
	MOVQ r+48(FP), R8
	LEAQ tunnelRound_list(R8), DX
	SUBQ $8, last+32(FP)
	XORL R10, R10

message:
	TZCNTQ R9, CX
	JCS  done

some:
	BLSRQ R9, R9
	CMPW (R11)(CX*2), $17
	JNE  other

	// Whole datagrams, nearly always of IPv4: their headers end 8 bytes behind the offset.
	LEAL (CX)(CX*1), R13
	MOVQ 8(DI)(R13*8), R14
	MOVL 4(DI)(R13*8), R15
	MOVL (DI)(R13*8), AX
	MOVQ R14, R13
	ANDQ ·wholeIPv4+0(SB), R13
	CMPQ R13, ·wholeIPv4+8(SB)
	JNE  six

upper:
	CMPL R15, $16
	JLT  other
	CMPQ AX, last+32(FP)
	JGT  other

	// The destination port, by its low byte.
	MOVQ 8(SI)(AX*1), R13
	MOVBLZX 11(SI)(AX*1), R12
	CMPW Tunnels_tunnel(BX)(R12*2), $0
	JEQ  source
	CMPL R15, $48
	JLT  other
	MOVBLZX Tunnels_shapes(BX)(R12*1), R12
	DECL R12
	CMPL R12, $4
	JAE  other
	SHLL $5, R12
	MOVL R13, R14
	ANDL $0xffff0000, R14
	CMPQ R14, tunnelShape_port(BX)(R12*1)
	JNE  other
	MOVQ 16(SI)(AX*1), R14
	ANDQ tunnelShape_mask(BX)(R12*1), R14
	CMPQ R14, tunnelShape_value(BX)(R12*1)
	JNE  other

	// Where IP begins, less 14, and how much there is from there on.
	MOVQ tunnelShape_words(BX)(R12*1), R12
	ANDQ 16(SI)(AX*1), R12
	SHLQ $2, R12
	SHRQ $32, R13
	ROLW $8, R13
	MOVWLZX R13, R13
	ADDL $8, R13
	CMPL R13, R15
	CMOVLLT R13, R15
	SUBL R12, R15
	SUBL $24, R15
	CMPL R15, $38
	JLT  other
	LEAQ 24(AX)(R12*1), R12
	MOVL 12(SI)(R12*1), R13
	ANDL $0xf0ffff, R13
	MOVL R13, R14
	XORL $0x400008, R13
	XORL $0x60dd86, R14
	IMULQ R14, R13
	TESTQ R13, R13
	JNE  other
	MOVL R12, (R8)
	MOVL R15, 4(R8)
	MOVB CX, (DX)
	ADDQ $16, R8
	INCQ DX
	TZCNTQ R9, CX
	JCC  some

done:
	MOVQ r+48(FP), R8
	LEAQ tunnelRound_list(R8), R8
	SUBQ R8, DX
	MOVQ DX, n+56(FP)
	MOVQ R10, others+64(FP)
	RET

	// Headers of IPv6 end 20 bytes further on.
six:
	SHRQ $60, R14
	CMPQ R14, $6
	JNE  other
	ADDQ $20, AX
	SUBL $20, R15
	JMP  upper

	// No tunnel has the destination port. A source port is another tunnel's.
source:
	MOVWLZX R13, R13
	MOVQ Tunnels_shift(BX), R12
	SHRXQ R12, R13, R12
	ANDL $7, R12
	CMPQ R13, Tunnels_from(BX)(R12*8)
	JNE  message

other:
	BTSQ CX, R10
	JMP  message

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
