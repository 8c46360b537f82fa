// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"

// func countWhole(all *frames.Frame, n int, buf *byte, last int, w *Whole) (done int)
//
// R8 is 0 for whole frames of IPv4, R10 for those of IPv6.
TEXT ·countWhole(SB), NOSPLIT, $0-48
	MOVQ all+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ buf+16(FP), DI
	MOVQ last+24(FP), DX
	MOVQ w+32(FP), BX
	SHLQ $5, CX
	ADDQ CX, SI
	NEGQ CX                 // the next frame, from the end on

frame:
	CMPL 12(SI)(CX*1), $34  // Frame.CapLen
	JCS  done
	MOVL 8(SI)(CX*1), AX    // Frame.Data
	CMPQ AX, DX
	JHI  done
	MOVWLZX 12(DI)(AX*1), R8
	MOVWLZX 20(DI)(AX*1), R9
	MOVL R8, R10
	MOVBLZX R9, R11
	XORL $0x0008, R8
	ANDL $0xff3f, R9
	ORL  R9, R8
	XORL $0xdd86, R10
	ORL  Whole_isExtension(BX)(R11*4), R10
	IMULQ R8, R10
	TESTQ R10, R10
	JNE  done
	ADDQ $32, CX
	JNZ  frame

done:
	MOVQ n+8(FP), AX
	SARQ $5, CX
	ADDQ CX, AX
	ANDQ $~7, AX
	MOVQ AX, done+40(FP)
	RET
