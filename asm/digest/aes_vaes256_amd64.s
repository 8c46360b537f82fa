// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"

// AES on two blocks a register (VAES with AVX2), sixteen at a time. The round keys are read
// from memory at AX.

// ROUND8 is one round of Y0 to Y7 by INSTRUCTION.
#define ROUND8(INSTRUCTION, OFFSET) \
	VBROADCASTI128 OFFSET(AX), Y8 \
	INSTRUCTION Y8, Y0, Y0 \
	INSTRUCTION Y8, Y1, Y1 \
	INSTRUCTION Y8, Y2, Y2 \
	INSTRUCTION Y8, Y3, Y3 \
	INSTRUCTION Y8, Y4, Y4 \
	INSTRUCTION Y8, Y5, Y5 \
	INSTRUCTION Y8, Y6, Y6 \
	INSTRUCTION Y8, Y7, Y7

// ROUNDS8 does the rounds after the addition of the first round key.
#define ROUNDS8 \
	ROUND8(VAESENC, 16)      \
	ROUND8(VAESENC, 32)      \
	ROUND8(VAESENC, 48)      \
	ROUND8(VAESENC, 64)      \
	ROUND8(VAESENC, 80)      \
	ROUND8(VAESENC, 96)      \
	ROUND8(VAESENC, 112)     \
	ROUND8(VAESENC, 128)     \
	ROUND8(VAESENC, 144)     \
	ROUND8(VAESENCLAST, 160)

#define STORE8 \
	VMOVDQU Y0, (DI)    \
	VMOVDQU Y1, 32(DI)  \
	VMOVDQU Y2, 64(DI)  \
	VMOVDQU Y3, 96(DI)  \
	VMOVDQU Y4, 128(DI) \
	VMOVDQU Y5, 160(DI) \
	VMOVDQU Y6, 192(DI) \
	VMOVDQU Y7, 224(DI)

// func encryptVAES256(dst, src *Digest, n int, schedule *aesSchedule)
TEXT ·encryptVAES256(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ schedule+24(FP), AX
	VBROADCASTI128 (AX), Y9

sixteen:
	VPXOR (SI), Y9, Y0
	VPXOR 32(SI), Y9, Y1
	VPXOR 64(SI), Y9, Y2
	VPXOR 96(SI), Y9, Y3
	VPXOR 128(SI), Y9, Y4
	VPXOR 160(SI), Y9, Y5
	VPXOR 192(SI), Y9, Y6
	VPXOR 224(SI), Y9, Y7
	ROUNDS8
	STORE8
	ADDQ $256, SI
	ADDQ $256, DI
	SUBQ $16, CX
	JNE  sixteen
	VZEROUPPER
	RET

// MIX2 adds a block of each of two keys of 48 bytes and the first round key to a state.
#define MIX2(OFFSET, S) \
	VMOVDQU     OFFSET(SI), X10             \
	VINSERTI128 $1, OFFSET+48(SI), Y10, Y10 \
	VPXOR       Y9, S, S                    \
	VPXOR       Y10, S, S

// MIX16 does the same with sixteen keys.
#define MIX16(OFFSET) \
	MIX2(OFFSET+0*96, Y0) \
	MIX2(OFFSET+1*96, Y1) \
	MIX2(OFFSET+2*96, Y2) \
	MIX2(OFFSET+3*96, Y3) \
	MIX2(OFFSET+4*96, Y4) \
	MIX2(OFFSET+5*96, Y5) \
	MIX2(OFFSET+6*96, Y6) \
	MIX2(OFFSET+7*96, Y7)

// func sum48VAES256(dst *Digest, keys *[48]byte, n int, schedule *aesSchedule)
TEXT ·sum48VAES256(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ keys+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ schedule+24(FP), AX
	VBROADCASTI128 (AX), Y9

sixteen:
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	VPXOR Y4, Y4, Y4
	VPXOR Y5, Y5, Y5
	VPXOR Y6, Y6, Y6
	VPXOR Y7, Y7, Y7
	MIX16(0)
	ROUNDS8
	MIX16(16)
	ROUNDS8
	MIX16(32)
	ROUNDS8
	STORE8
	ADDQ $768, SI
	ADDQ $256, DI
	SUBQ $16, CX
	JNE  sixteen
	VZEROUPPER
	RET
