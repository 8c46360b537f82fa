// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"

// AES on one block a register (AES-NI with the three-operand forms of AVX), eight
// at a time. The round keys are read from memory at AX.

#define ROUND8(OFFSET) \
	VAESENC OFFSET(AX), X0, X0 \
	VAESENC OFFSET(AX), X1, X1 \
	VAESENC OFFSET(AX), X2, X2 \
	VAESENC OFFSET(AX), X3, X3 \
	VAESENC OFFSET(AX), X4, X4 \
	VAESENC OFFSET(AX), X5, X5 \
	VAESENC OFFSET(AX), X6, X6 \
	VAESENC OFFSET(AX), X7, X7

// ROUNDS8 does the rounds after the addition of the first round key.
#define ROUNDS8 \
	ROUND8(16)                        \
	ROUND8(32)                        \
	ROUND8(48)                        \
	ROUND8(64)                        \
	ROUND8(80)                        \
	ROUND8(96)                        \
	ROUND8(112)                       \
	ROUND8(128)                       \
	ROUND8(144)                       \
	VAESENCLAST 160(AX), X0, X0       \
	VAESENCLAST 160(AX), X1, X1       \
	VAESENCLAST 160(AX), X2, X2       \
	VAESENCLAST 160(AX), X3, X3       \
	VAESENCLAST 160(AX), X4, X4       \
	VAESENCLAST 160(AX), X5, X5       \
	VAESENCLAST 160(AX), X6, X6       \
	VAESENCLAST 160(AX), X7, X7

#define ROUNDS1 \
	VAESENC 16(AX), X0, X0       \
	VAESENC 32(AX), X0, X0       \
	VAESENC 48(AX), X0, X0       \
	VAESENC 64(AX), X0, X0       \
	VAESENC 80(AX), X0, X0       \
	VAESENC 96(AX), X0, X0       \
	VAESENC 112(AX), X0, X0      \
	VAESENC 128(AX), X0, X0      \
	VAESENC 144(AX), X0, X0      \
	VAESENCLAST 160(AX), X0, X0

// XOR8 adds X8, the first round key, and eight blocks at SI, STRIDE bytes apart.
#define XOR8(OFFSET, STRIDE) \
	VPXOR OFFSET+0*STRIDE(SI), X0, X0 \
	VPXOR OFFSET+1*STRIDE(SI), X1, X1 \
	VPXOR OFFSET+2*STRIDE(SI), X2, X2 \
	VPXOR OFFSET+3*STRIDE(SI), X3, X3 \
	VPXOR OFFSET+4*STRIDE(SI), X4, X4 \
	VPXOR OFFSET+5*STRIDE(SI), X5, X5 \
	VPXOR OFFSET+6*STRIDE(SI), X6, X6 \
	VPXOR OFFSET+7*STRIDE(SI), X7, X7

// WHITEN8 adds the first round key, which stands in X8.
#define WHITEN8 \
	VPXOR X8, X0, X0 \
	VPXOR X8, X1, X1 \
	VPXOR X8, X2, X2 \
	VPXOR X8, X3, X3 \
	VPXOR X8, X4, X4 \
	VPXOR X8, X5, X5 \
	VPXOR X8, X6, X6 \
	VPXOR X8, X7, X7

// START8 makes the first round key the states.
#define START8 \
	VMOVDQA X8, X0 \
	VMOVDQA X8, X1 \
	VMOVDQA X8, X2 \
	VMOVDQA X8, X3 \
	VMOVDQA X8, X4 \
	VMOVDQA X8, X5 \
	VMOVDQA X8, X6 \
	VMOVDQA X8, X7

#define STORE8(P) \
	VMOVDQU X0, (P)    \
	VMOVDQU X1, 16(P)  \
	VMOVDQU X2, 32(P)  \
	VMOVDQU X3, 48(P)  \
	VMOVDQU X4, 64(P)  \
	VMOVDQU X5, 80(P)  \
	VMOVDQU X6, 96(P)  \
	VMOVDQU X7, 112(P)

// func encryptAESNI(dst, src *Digest, n int, schedule *aesSchedule)
TEXT ·encryptAESNI(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ schedule+24(FP), AX
	VMOVDQU (AX), X8
	SUBQ $8, CX
	JLT  rest

eight:
	START8
	XOR8(0, 16)
	ROUNDS8
	STORE8(DI)
	ADDQ $128, SI
	ADDQ $128, DI
	SUBQ $8, CX
	JGE  eight

rest:
	ADDQ $8, CX
	JZ   done

one:
	VPXOR (SI), X8, X0
	ROUNDS1
	VMOVDQU X0, (DI)
	ADDQ $16, SI
	ADDQ $16, DI
	DECQ CX
	JNZ  one

done:
	RET

// func sum48AESNI(dst *Digest, keys *[48]byte, n int, schedule *aesSchedule)
TEXT ·sum48AESNI(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ keys+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ schedule+24(FP), AX
	VMOVDQU (AX), X8
	SUBQ $8, CX
	JLT  rest

eight:
	START8
	XOR8(0, 48)
	ROUNDS8
	WHITEN8
	XOR8(16, 48)
	ROUNDS8
	WHITEN8
	XOR8(32, 48)
	ROUNDS8
	STORE8(DI)
	ADDQ $384, SI
	ADDQ $128, DI
	SUBQ $8, CX
	JGE  eight

rest:
	ADDQ $8, CX
	JZ   done

one:
	VPXOR (SI), X8, X0
	ROUNDS1
	VPXOR X8, X0, X0
	VPXOR 16(SI), X0, X0
	ROUNDS1
	VPXOR X8, X0, X0
	VPXOR 32(SI), X0, X0
	ROUNDS1
	VMOVDQU X0, (DI)
	ADDQ $48, SI
	ADDQ $16, DI
	DECQ CX
	JNZ  one

done:
	RET
