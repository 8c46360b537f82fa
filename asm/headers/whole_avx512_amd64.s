// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"

// Numbers that each word of a vector gets: of 64 bits, then of 32.
DATA ·wholeWords+0x00(SB)/8, $0xffff // ethertype, and types as they are read from memory
DATA ·wholeWords+0x08(SB)/8, $0x0008
DATA ·wholeWords+0x10(SB)/8, $0xdd86
DATA ·wholeWords+0x18(SB)/8, $0xff3f // more fragments, or an offset
DATA ·wholeWords+0x20(SB)/8, $0xff   // next header
DATA ·wholeWords+0x28(SB)/8, $1
DATA ·wholeWords+0x30(SB)/4, $34     // least frame
GLOBL ·wholeWords(SB), RODATA|NOPTR, $52

#define NUMBER(OFFSET) ·wholeWords+OFFSET(SB)

// PAIR sets Y to bytes 12 to 27 of two frames, at OFFSET of DI and the next but one.
#define PAIR(OFFSET, X, Y) \
	MOVL OFFSET+8(DI), R10                \
	MOVL OFFSET+72(DI), R11               \
	VMOVDQU 12(SI)(R10*1), X              \
	VINSERTI128 $1, 12(SI)(R11*1), Y, Y

// func countWholeAVX512(all *Frame, groups int, buf *byte, last int, w *Whole) (done int)
//
// Words 2 and 3 of each frame are its offset and its length. K1 marks words that are offsets, K2
// those that are lengths.
TEXT ·countWholeAVX512(SB), NOSPLIT, $0-48
	MOVQ all+0(FP), DI
	MOVQ groups+8(FP), CX
	MOVQ buf+16(FP), SI
	VPBROADCASTD last+24(FP), Z30
	MOVQ w+32(FP), AX
	VMOVDQU64 (AX), Z31
	VPBROADCASTD NUMBER(0x30), Z29
	MOVL $0x0404, R8
	KMOVW R8, K1
	MOVL $0x0808, R8
	KMOVW R8, K2
	VPBROADCASTQ NUMBER(0x00), Z28
	VPBROADCASTQ NUMBER(0x08), Z27
	VPBROADCASTQ NUMBER(0x10), Z26
	XORL DX, DX

group:
	VMOVDQU64 (DI), Z0
	VMOVDQU64 64(DI), Z1
	VMOVDQU64 128(DI), Z4
	VMOVDQU64 192(DI), Z5
	VPMAXUD Z0, Z1, Z2
	VPMINUD Z0, Z1, Z3
	VPMAXUD Z4, Z5, Z0
	VPMINUD Z4, Z5, Z1
	VPMAXUD Z0, Z2, Z2
	VPMINUD Z1, Z3, Z3
	VPCMPUD $6, Z30, Z2, K1, K3
	VPCMPUD $1, Z29, Z3, K2, K4
	KORTESTW K3, K4
	JNZ  end
	PAIR(0, X0, Y0)
	PAIR(128, X1, Y1)
	PAIR(32, X2, Y2)
	PAIR(160, X3, Y3)
	VINSERTI64X4 $1, Y1, Z0, Z0
	VINSERTI64X4 $1, Y3, Z2, Z2
	VPUNPCKLQDQ Z2, Z0, Z1
	VPUNPCKHQDQ Z2, Z0, Z0
	VPANDQ Z28, Z1, Z1
	VPCMPEQQ Z27, Z1, K3
	VPCMPEQQ Z26, Z1, K4
	VPTESTNMQ.BCST NUMBER(0x18), Z0, K3, K3
	VPANDQ.BCST NUMBER(0x20), Z0, Z0
	VPSRLQ $6, Z0, Z1
	VPERMQ Z31, Z1, Z1
	VPRORVQ Z0, Z1, Z1
	VPTESTNMQ.BCST NUMBER(0x28), Z1, K4, K4
	KORTESTB K3, K4
	JCC  end
	ADDQ $256, DI
	ADDQ $8, DX
	DECQ CX
	JNZ  group

end:
	MOVQ DX, done+40(FP)
	VZEROUPPER
	RET
