// SPDX-License-Identifier: Apache-2.0

//go:build arm64 && !purego

#include "textflag.h"
#include "go_asm.h"

// func countWhole(all *frames.Frame, n int, buf *byte, last int, w *Whole) (done int)
//
// R11 is 0 for whole frames of IPv4, R12 for those of IPv6.
TEXT ·countWhole(SB), NOSPLIT, $0-48
	MOVD all+0(FP), R0
	MOVD n+8(FP), R1
	MOVD buf+16(FP), R3
	MOVD last+24(FP), R4
	MOVD w+32(FP), R5
	ADD  $Whole_isExtension, R5
	ADD  $8, R0             // Frame.Data, and behind it CapLen
	ADD  $20, R3, R6        // IPv4's fragment offset, IPv6's next header
	ADD  $12, R3            // type
	MOVD $0xff3f, R20
	MOVD $0xdd86, R21
	MOVD R1, R2

frame:
	MOVD.P 32(R0), R8
	LSR   $32, R8, R9
	MOVWU R8, R8
	CMP   $34, R9
	CCMP  HS, R8, R4, $2
	BHI   done
	MOVHU (R3)(R8), R9
	MOVHU (R6)(R8), R10
	EOR   $8, R9, R11
	AND   R20, R10, R13
	ORR   R13, R11
	AND   $0xff, R10
	MOVWU (R5)(R10<<2), R10
	EOR   R21, R9, R12
	ORR   R10, R12
	CMP   $0, R11
	CCMP  NE, R12, $0, $4
	BNE   done
	SUBS  $1, R2
	BNE   frame

done:
	SUB  R2, R1
	AND  $~7, R1
	MOVD R1, done+40(FP)
	RET
