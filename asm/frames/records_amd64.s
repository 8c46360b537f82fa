// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"

// func walkAMD64(frames *Frame, n int, buf *byte, pos, last int, r *Records) (done, end int)
//
// AX is the place of the record, BX of its packet, R12 of the next record. The length of a record
// says where the next one begins. So the loop would wait for each to come from the second-level
// cache, if it did not fetch them 768 bytes ahead.
TEXT ·walkAMD64(SB), NOSPLIT, $0-64
	MOVQ frames+0(FP), DI
	MOVQ n+8(FP), CX
	MOVQ buf+16(FP), SI
	MOVQ pos+24(FP), AX
	MOVQ last+32(FP), R8
	MOVQ r+40(FP), DX
	MOVL Records_Longest(DX), R9
	MOVQ Records_Tick(DX), R10
	MOVL Records_Header(DX), R11

record:
	MOVQ 8(SI)(AX*1), R13
	MOVQ (SI)(AX*1), DX
	PREFETCHT0 768(SI)(AX*1)
	LEAQ (AX)(R11*1), BX
	LEAL -1(R13), R12
	CMPL R12, R9
	JCC  done
	MOVL R13, R12
	ADDQ BX, R12
	CMPQ R12, R8
	JGT  done
	MOVL DX, R15
	SHRQ $32, DX
	IMULQ R10, DX
	CMPQ DX, $1000000000
	JCC  done
	IMULQ $1000000000, R15
	ADDQ DX, R15
	MOVQ R15, Frame_Time(DI)
	MOVL BX, Frame_Data(DI)
	MOVQ R13, Frame_CapLen(DI)
	MOVL $0, Frame_Interface(DI)
	MOVL AX, Frame_Record(DI)
	SUBL R12, AX
	NEGL AX
	MOVL AX, Frame_RecordLen(DI)
	MOVQ R12, AX
	ADDQ $32, DI
	DECQ CX
	JNZ  record

done:
	MOVQ n+8(FP), DX
	SUBQ CX, DX
	MOVQ DX, done+48(FP)
	MOVQ AX, end+56(FP)
	RET
