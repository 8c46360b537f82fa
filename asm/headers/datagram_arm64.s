// SPDX-License-Identifier: Apache-2.0

//go:build arm64 && !purego

#include "textflag.h"

// func findDatagramsARM64(msgs *digest.Message, numbers *uint16, n int, buf *byte, last int, d *Datagrams) (others, cut, broken uint64)
//
// One frame a turn, whose version is a number, 1 for IPv6, so that no branch depends on it. R7 collects
// the others. R25 collects by how much datagrams were truncated, R26 what no receiver takes.
TEXT ·findDatagramsARM64(SB), NOSPLIT, $0-72
	MOVD msgs+0(FP), R0
	MOVD numbers+8(FP), R1
	MOVD n+16(FP), R2
	MOVD buf+24(FP), R3
	MOVD last+32(FP), R4
	MOVD d+40(FP), R5
	ADD  $12, R3
	MOVD 64(R5), R21        // types, with the first byte of IP: which bits count, IPv4 and IPv6
	AND  $0xffff, R21
	ORR  $0xff0000, R21
	MOVD 120(R5), R22
	MOVD 128(R5), R23
	MOVD 136(R5), R24
	MOVD 144(R5), R19       // masks of bytes 0 to 7 of IP
	MOVD 152(R5), R20
	ADD  $160, R5           // which protocols take the slow path
	MOVD $0xfffefffefffeffff, R6
	MOVD ZR, R7
	MOVD ZR, R25
	MOVD ZR, R26

frame:
	MOVD  (R0), R8
	CMP   R8.UXTW, R4
	BLO   other
	ADD   R8.UXTW, R3, R10
	LDP   (R10), (R11, R12)
	MOVD  16(R10), R16
	AND   R21, R11, R13
	AND   R24, R13, R14
	CMP   R23, R14
	CSET  EQ, R15
	CCMP  NE, R13, R22, $4
	BNE   other

	// The sum of IPv4, times 0x0001000100010001: a multiple of 0xffff exceeds R6. See headerSum.
	LSL   $16, R16
	ADDS  R11>>16, R12, R17
	ADCS  R16, R17
	ADC   ZR, R17
	ADD   R17<<16, R17
	ADD   R17<<32, R17
	AND   $0xffff00000000, R12, R9 // the checksum
	AND   $0xff0000, R12, R13      // time to live
	AND   $0xff00, R12, R14

	// Length and protocol.
	EXTR  $16, R11, R12, R11
	REV   R11, R11          // bytes 0 to 7
	REV   R12, R12          // bytes 6 to 13
	CMP   $0, R15
	CSEL  NE, R14, R13, R16
	UBFX  $16, R11, $16, R14
	UBFX  $32, R11, $16, R13
	ADD   $40, R14
	CSEL  NE, R14, R13, R13
	UBFX  $8, R11, $8, R10
	UBFX  $32, R12, $8, R14
	CSEL  NE, R10, R14, R10
	LSL   $4, R10, R14
	CSEL  NE, R14, R10, R14 // the protocol as in the tweak
	UBFX  $16, R12, $32, R12
	CSEL  NE, R12, ZR, R12  // of the tweak: bytes 8 to 11
	ORR   R14<<48, R12
	CSEL  NE, R20, R19, R14
	AND   R11, R14
	ORR   R12, R14          // the tweak
	CCMP  EQ, R17, R6, $2
	CSEL  LO, R9, ZR, R9    // a checksum that is wrong
	SUB   $1, R16           // below 0 without time to live
	ORR   R16, R9
	ADD   $14, R13          // end as stated
	LSR   $32, R8, R16
	CMP   R16, R13
	CSEL  LO, R13, R16, R16 // and as captured
	SUB   R16, R13, R13

	// Slow are some protocols, IPv6 that ends elsewhere, and all that is too short.
	ADD   R15<<8, R10, R17
	MOVBU (R5)(R17), R17
	MADD  R15, R17, R13, R17
	MOVD  $20, R11          // so many bytes more has an IPv6 header
	MSUB  R15, R16, R11, R11
	CMP   $38, R11
	CCMP  GE, R17, $0, $0
	BNE   other
	ORR   R13, R25
	ORR   R9, R26
	ADDW  $26, R8
	SUB   $26, R16
	ORR   R16<<32, R8
	STP   (R8, R14), (R0)
	MOVH  R10, (R1)

	// Stores that move their address would pass on their latency to the next turn.
next:
	ADD  $16, R0
	ADD  $2, R1
	SUBS $1, R2
	BNE  frame
	MOVD R7, others+48(FP)
	MOVD R25, cut+56(FP)
	LSR  $32, R26
	MOVD R26, broken+64(FP)
	RET

other:
	MOVD n+16(FP), R8
	SUB  R2, R8
	MOVD $1, R9
	LSL  R8, R9
	ORR  R9, R7
	B    next
