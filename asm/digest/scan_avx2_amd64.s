//go:build amd64 && !purego

#include "textflag.h"

// func scanMessagesAVX2(msgs *Message, groups int, size uint64) (outside, differ uint64)
//
// The first word of a Message is its offset and length, 32 bits each, the second one its
// tweak. Results are those of the first words; what the second ones give is dropped.
TEXT ·scanMessagesAVX2(SB), NOSPLIT, $0-40
	MOVQ msgs+0(FP), SI
	MOVQ groups+8(FP), CX
	VPBROADCASTQ size+16(FP), Y0
	VPXOR    Y1, Y1, Y1
	VPXOR    Y2, Y2, Y2
	VPCMPEQD Y4, Y4, Y4         // -1
	VPSRLQ   $32, Y4, Y8        // the offset in a word
	VPBROADCASTQ (SI), Y3
	VPSRLQ   $32, Y3, Y3
	VPADDQ   Y4, Y3, Y3         // the first length less 1

#define SCAN2(OFFSET) \
	VMOVDQU OFFSET(SI), Y5 \
	VPSRLQ  $32, Y5, Y6    \
	VPAND   Y8, Y5, Y5     \
	VPADDQ  Y6, Y5, Y5     \
	VPADDQ  Y4, Y6, Y6     \
	VPSUBQ  Y5, Y0, Y5     \
	VPXOR   Y3, Y6, Y6     \
	VPOR    Y5, Y1, Y1     \
	VPOR    Y6, Y2, Y2

group:
	SCAN2(0)
	SCAN2(32)
	ADDQ $64, SI
	DECQ CX
	JNZ  group

	VEXTRACTI128 $1, Y1, X5
	VEXTRACTI128 $1, Y2, X6
	VPOR  X5, X1, X1
	VPOR  X6, X2, X2
	VMOVQ X1, outside+24(FP)
	VMOVQ X2, differ+32(FP)
	VZEROUPPER
	RET
