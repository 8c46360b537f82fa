// SPDX-License-Identifier: Apache-2.0

//go:build arm64 && !purego

#include "textflag.h"
#include "go_asm.h"

// func placeTunnels(msgs *digest.Message, numbers *uint16, todo uint64, buf *byte, last int, t *Tunnels, r *tunnelRound) (n int, others uint64)
//
// R8 is the number of a message. R14 is 8 less than the offset of the header above IP, R16 is 8 more
// than what the packet has from there on. R11 and R12 are the words of UDP and of the tunnel, R13 is
// its shape. R2 has the messages to do, and R7 collects others, in reversed order. R17 is the first
// bit of both.
TEXT ·placeTunnels(SB), NOSPLIT, $0-72
	MOVD msgs+0(FP), R0
	MOVD numbers+8(FP), R1
	MOVD todo+16(FP), R2
	MOVD buf+24(FP), R3
	MOVD last+32(FP), R19
	MOVD t+40(FP), R4
	MOVD r+48(FP), R5
	ADD  $tunnelRound_list, R5, R6
	MOVD ZR, R7
	ADD  $Tunnels_tunnel, R4, R20
	ADD  $Tunnels_shapes, R4, R21
	ADD  $Tunnels_from, R4, R22
	MOVD Tunnels_shift(R4), R23
	MOVD $0x400008, R24     // an ethertype and the version of IP, as read from memory
	MOVD $0x60dd86, R25
	MOVD $0xf0ffff, R26
	MOVD $0xf000000000003fff, R15 // of a tweak: the version, and what only fragments of IPv4 have
	MOVD $0x8000000000000000, R17
	SUB  $8, R19
	RBIT R2, R2
	CBZ  R2, done

message:
	CLZ   R2, R8
	LSR   R8, R17, R9
	BIC   R9, R2
	MOVHU (R1)(R8<<1), R9
	ADD   R8<<4, R0, R10
	LDP   (R10), (R11, R12)
	CMP   $17, R9
	BNE   other

	// Whole datagrams, nearly always of IPv4: their headers end 8 bytes behind the offset.
	MOVWU R11, R14
	LSR   $32, R11, R16
	AND   R15, R12, R13
	EOR   $0x4000000000000000, R13
	CBNZ  R13, six

upper:
	CMP  $16, R16
	CCMP GE, R14, R19, $0
	BGT  other

	// The destination port, by its low byte.
	ADD   R14, R3, R10
	LDP   8(R10), (R11, R12)
	UBFX  $24, R11, $8, R13
	MOVHU (R20)(R13<<1), R9
	CBZ   R9, source
	CMP   $48, R16
	BLT   other
	MOVBU (R21)(R13), R13
	SUB   $1, R13
	CMP   $4, R13
	BHS   other
	ADD   R13<<5, R4, R13
	MOVD  (R13), R10
	AND   $0xffff0000, R11, R9
	CMP   R9, R10
	LDP   8(R13), (R9, R10)
	AND   R12, R9
	CCMP  EQ, R9, R10, $0
	BNE   other
	MOVD  24(R13), R13

	// Where IP begins, less 14, and how much there is from there on.
	AND   R12, R13
	ADD   R13<<2, R14, R12
	ADD   $24, R12
	LSR   $32, R11
	REV16W R11, R11
	AND   $0xffff, R11
	ADD   $8, R11
	CMP   R16, R11
	CSEL  LO, R11, R16, R16
	SUB   R13<<2, R16
	SUB   $24, R16
	CMP   $38, R16
	BLT   other
	ADD   R3, R12, R10
	MOVWU 12(R10), R11
	AND   R26, R11
	CMP   R24, R11
	CCMP  NE, R11, R25, $4
	BNE   other
	ORR   R16<<32, R12
	MOVD.P R12, 16(R5)
	MOVB.P R8, 1(R6)

next:
	CBNZ  R2, message

done:
	MOVD r+48(FP), R5
	ADD  $tunnelRound_list, R5
	SUB  R5, R6
	MOVD R6, n+56(FP)
	RBIT R7, R7
	MOVD R7, others+64(FP)
	RET

	// Headers of IPv6 end 20 bytes further on.
six:
	LSR  $60, R12, R13
	CMP  $6, R13
	BNE  other
	ADD  $20, R14
	SUB  $20, R16
	B    upper

	// No tunnel has the destination port. A source port is another tunnel's.
source:
	AND  $0xffff, R11, R13
	LSR  R23, R13, R9
	AND  $7, R9
	MOVD (R22)(R9<<3), R9
	CMP  R9, R13
	BNE  next

other:
	LSR  R8, R17, R9
	ORR  R9, R7
	CBNZ R2, message
	B    done

DATA ·carryingBits+0x00(SB)/8, $0x8040201008040201
DATA ·carryingBits+0x08(SB)/8, $0x8040201008040201
GLOBL ·carryingBits(SB), RODATA|NOPTR, $16

// func carryingWord(numbers *uint16, groups int, carries *[8]uint64) (which uint64)
//
// V20 and V21 have a bit for each protocol, V23 the bits of a byte. R7 collects from its top.
TEXT ·carryingWord(SB), NOSPLIT, $0-32
	MOVD numbers+0(FP), R0
	MOVD groups+8(FP), R1
	MOVD carries+16(FP), R2
	MOVD $·carryingBits(SB), R3
	VLD1 (R2), [V20.B16, V21.B16]
	VLD1 (R3), [V23.B16]
	VMOVI $7, V22.B16
	LSL  $4, R1, R4
	MOVD ZR, R7

group:
	VLD1.P 32(R0), [V0.B16, V1.B16]
	VUZP1 V1.B16, V0.B16, V2.B16
	VUSHR $3, V2.B16, V3.B16
	VTBL  V3.B16, [V20.B16, V21.B16], V3.B16
	VAND  V22.B16, V2.B16, V4.B16
	VTBL  V4.B16, [V23.B16], V4.B16
	VCMTST V3.B16, V4.B16, V3.B16
	VAND  V23.B16, V3.B16, V3.B16
	VADDP V3.B16, V3.B16, V3.B16
	VADDP V3.B16, V3.B16, V3.B16
	VADDP V3.B16, V3.B16, V3.B16
	VMOV  V3.H[0], R8
	LSR   $16, R7
	ORR   R8<<48, R7
	SUBS  $1, R1
	BNE   group
	NEG  R4, R4             // modulo 64
	LSR  R4, R7
	MOVD R7, which+24(FP)
	RET
