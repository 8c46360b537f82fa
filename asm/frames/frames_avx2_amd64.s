// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"

// ADD adds the lanes of Y to the word at OFFSET of Sums.
#define ADD(OFFSET, X, Y) \
	VEXTRACTI128 $1, Y, X0 \
	VPADDQ  X0, X, X0      \
	VPSRLDQ $8, X0, X1     \
	VPADDQ  X1, X0, X0     \
	VMOVQ   X0, DX         \
	ADDQ    DX, OFFSET(AX)

// func sumAVX2(times *int64, frames *Frame, groups int, last int64, s *Sums) (done int)
//
// Y0 are the times, Y5 the words with Data and CapLen. Y15 and Y14 are the times to stop at. Y13 and
// Y11 count bytes and older frames. Y10 are the times of the group before.
TEXT ·sumAVX2(SB), NOSPLIT, $0-48
	MOVQ times+0(FP), DI
	MOVQ frames+8(FP), SI
	MOVQ groups+16(FP), CX
	MOVQ s+32(FP), AX
	VPBROADCASTQ last+24(FP), Y10
	VPCMPEQQ Y14, Y14, Y14
	VPSLLQ $63, Y14, Y15
	VPSRLQ $1, Y14, Y14
	VPXOR Y13, Y13, Y13
	VPXOR Y11, Y11, Y11

group:
	VMOVDQU  (SI), X0
	VMOVDQU  32(SI), X1
	VINSERTI128 $1, 64(SI), Y0, Y0
	VINSERTI128 $1, 96(SI), Y1, Y1
	VPUNPCKHQDQ Y1, Y0, Y5
	VPUNPCKLQDQ Y1, Y0, Y0
	VPCMPEQQ Y15, Y0, Y2
	VPCMPEQQ Y14, Y0, Y3
	VPOR     Y3, Y2, Y2
	VPTEST   Y2, Y2
	JNZ      done
	VMOVDQU  Y0, (DI)

	// The times of the frames before.
	VPERM2I128 $0x21, Y0, Y10, Y4
	VPALIGNR $8, Y4, Y0, Y4
	VPCMPGTQ Y0, Y4, Y4
	VPSUBQ   Y4, Y11, Y11
	VMOVDQA  Y0, Y10

	VPSRLQ   $32, Y5, Y5
	VPADDQ   Y5, Y13, Y13
	ADDQ $32, DI
	ADDQ $128, SI
	DECQ CX
	JNZ  group

done:
	ADD(Sums_Bytes, X13, Y13)
	ADD(Sums_Older, X11, Y11)
	MOVQ groups+16(FP), AX
	SUBQ CX, AX
	MOVQ AX, done+40(FP)
	VZEROUPPER
	RET

// func messagesAVX2(msgs *digest.Message, frames *Frame, n int, tweak uint64)
//
// Data, CapLen and WireLen follow each other, as in a message.
TEXT ·messagesAVX2(SB), NOSPLIT, $0-32
	MOVQ msgs+0(FP), DI
	MOVQ frames+8(FP), SI
	MOVQ n+16(FP), CX
	VPBROADCASTQ tweak+24(FP), X1

frame:
	VMOVDQU  Frame_Data(SI), X0
	VPBLENDD $8, X1, X0, X0
	VMOVDQU  X0, (DI)
	ADDQ $32, SI
	ADDQ $16, DI
	DECQ CX
	JNZ  frame
	VZEROUPPER
	RET

// func withinAVX2(times *int64, groups int, first, span int64) (within bool)
//
// Y3 collects the top bits of differences.
TEXT ·withinAVX2(SB), NOSPLIT, $0-33
	MOVQ times+0(FP), DI
	MOVQ groups+8(FP), CX
	VPBROADCASTQ first+16(FP), Y0
	VPBROADCASTQ span+24(FP), Y1
	VPXOR Y3, Y3, Y3

group:
	VMOVDQU (DI), Y2
	VPSUBQ  Y0, Y2, Y2
	VPOR    Y2, Y3, Y3
	VPSUBQ  Y2, Y1, Y2
	VPOR    Y2, Y3, Y3
	ADDQ $32, DI
	DECQ CX
	JNZ  group
	VMOVMSKPD Y3, AX
	TESTL AX, AX
	SETEQ within+32(FP)
	VZEROUPPER
	RET
