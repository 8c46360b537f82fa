// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"

// AES on four blocks a register (VAES, AVX-512). The round keys stand in Z16 to
// Z26, each four times.

// KEYS loads the round keys from AX.
#define KEYS \
	VBROADCASTI64X2 (AX), Z16     \
	VBROADCASTI64X2 16(AX), Z17   \
	VBROADCASTI64X2 32(AX), Z18   \
	VBROADCASTI64X2 48(AX), Z19   \
	VBROADCASTI64X2 64(AX), Z20   \
	VBROADCASTI64X2 80(AX), Z21   \
	VBROADCASTI64X2 96(AX), Z22   \
	VBROADCASTI64X2 112(AX), Z23  \
	VBROADCASTI64X2 128(AX), Z24  \
	VBROADCASTI64X2 144(AX), Z25  \
	VBROADCASTI64X2 160(AX), Z26

// ROUND4 is one round of four registers, ROUND8 of eight.
#define ROUND4(KEY, A, B, C, D) \
	VAESENC KEY, A, A \
	VAESENC KEY, B, B \
	VAESENC KEY, C, C \
	VAESENC KEY, D, D

#define ROUND8(KEY) \
	ROUND4(KEY, Z0, Z1, Z2, Z3) \
	ROUND4(KEY, Z4, Z5, Z6, Z7)

// ROUNDS4 does the rounds after the addition of the first round key.
#define ROUNDS4(A, B, C, D) \
	ROUND4(Z17, A, B, C, D)   \
	ROUND4(Z18, A, B, C, D)   \
	ROUND4(Z19, A, B, C, D)   \
	ROUND4(Z20, A, B, C, D)   \
	ROUND4(Z21, A, B, C, D)   \
	ROUND4(Z22, A, B, C, D)   \
	ROUND4(Z23, A, B, C, D)   \
	ROUND4(Z24, A, B, C, D)   \
	ROUND4(Z25, A, B, C, D)   \
	VAESENCLAST Z26, A, A     \
	VAESENCLAST Z26, B, B     \
	VAESENCLAST Z26, C, C     \
	VAESENCLAST Z26, D, D

// ROUNDS1 is the same for one register.
#define ROUNDS1(A) \
	VAESENC Z17, A, A     \
	VAESENC Z18, A, A     \
	VAESENC Z19, A, A     \
	VAESENC Z20, A, A     \
	VAESENC Z21, A, A     \
	VAESENC Z22, A, A     \
	VAESENC Z23, A, A     \
	VAESENC Z24, A, A     \
	VAESENC Z25, A, A     \
	VAESENCLAST Z26, A, A

// func encryptVAES(dst, src *Digest, n int, schedule *aesSchedule)
TEXT ·encryptVAES(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ schedule+24(FP), AX
	KEYS
	SUBQ $32, CX
	JLT  rest

eight:
	VPXORQ (SI), Z16, Z0
	VPXORQ 64(SI), Z16, Z1
	VPXORQ 128(SI), Z16, Z2
	VPXORQ 192(SI), Z16, Z3
	VPXORQ 256(SI), Z16, Z4
	VPXORQ 320(SI), Z16, Z5
	VPXORQ 384(SI), Z16, Z6
	VPXORQ 448(SI), Z16, Z7
	ROUND8(Z17)
	ROUND8(Z18)
	ROUND8(Z19)
	ROUND8(Z20)
	ROUND8(Z21)
	ROUND8(Z22)
	ROUND8(Z23)
	ROUND8(Z24)
	ROUND8(Z25)
	VAESENCLAST Z26, Z0, Z0
	VAESENCLAST Z26, Z1, Z1
	VAESENCLAST Z26, Z2, Z2
	VAESENCLAST Z26, Z3, Z3
	VAESENCLAST Z26, Z4, Z4
	VAESENCLAST Z26, Z5, Z5
	VAESENCLAST Z26, Z6, Z6
	VAESENCLAST Z26, Z7, Z7
	VMOVDQU64 Z0, (DI)
	VMOVDQU64 Z1, 64(DI)
	VMOVDQU64 Z2, 128(DI)
	VMOVDQU64 Z3, 192(DI)
	VMOVDQU64 Z4, 256(DI)
	VMOVDQU64 Z5, 320(DI)
	VMOVDQU64 Z6, 384(DI)
	VMOVDQU64 Z7, 448(DI)
	ADDQ $512, SI
	ADDQ $512, DI
	SUBQ $32, CX
	JGE  eight

rest:
	ADDQ $32, CX

four:
	CMPQ CX, $4
	JLT  last
	VPXORQ (SI), Z16, Z0
	ROUNDS1(Z0)
	VMOVDQU64 Z0, (DI)
	ADDQ $64, SI
	ADDQ $64, DI
	SUBQ $4, CX
	JMP  four

last:
	TESTQ CX, CX
	JZ    done
	// Two words of 64 bits a block.
	ADDQ  CX, CX
	MOVQ  $1, DX
	SHLQ  CX, DX
	DECQ  DX
	KMOVQ DX, K1
	VMOVDQU64.Z (SI), K1, Z0
	VPXORQ Z16, Z0, Z0
	ROUNDS1(Z0)
	VMOVDQU64 Z0, K1, (DI)

done:
	VZEROUPPER
	RET

// LOAD4 loads one block of each of four keys of 48 bytes at AX.
#define LOAD4(OFFSET, X, Z) \
	VMOVDQU OFFSET(AX), X                           \
	VINSERTI64X2 $1, OFFSET+48(AX), Z, Z            \
	VINSERTI64X2 $2, OFFSET+96(AX), Z, Z            \
	VINSERTI64X2 $3, OFFSET+144(AX), Z, Z

// LOAD16 loads one block of each of sixteen keys at SI to Z4 to Z7.
#define LOAD16(OFFSET) \
	MOVQ SI, AX              \
	LOAD4(OFFSET, X4, Z4)    \
	ADDQ $192, AX            \
	LOAD4(OFFSET, X5, Z5)    \
	ADDQ $192, AX            \
	LOAD4(OFFSET, X6, Z6)    \
	ADDQ $192, AX            \
	LOAD4(OFFSET, X7, Z7)

// MIX4 adds the blocks in Z4 to Z7 and the first round key to the states.
#define MIX4 \
	VPTERNLOGQ $0x96, Z16, Z4, Z0 \
	VPTERNLOGQ $0x96, Z16, Z5, Z1 \
	VPTERNLOGQ $0x96, Z16, Z6, Z2 \
	VPTERNLOGQ $0x96, Z16, Z7, Z3

// func sum48VAES(dst *Digest, keys *[48]byte, n int, schedule *aesSchedule)
TEXT ·sum48VAES(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ keys+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ schedule+24(FP), AX
	KEYS
	SUBQ $16, CX
	JLT  rest

sixteen:
	LOAD16(0)
	VPXORQ Z16, Z4, Z0
	VPXORQ Z16, Z5, Z1
	VPXORQ Z16, Z6, Z2
	VPXORQ Z16, Z7, Z3
	ROUNDS4(Z0, Z1, Z2, Z3)
	LOAD16(16)
	MIX4
	ROUNDS4(Z0, Z1, Z2, Z3)
	LOAD16(32)
	MIX4
	ROUNDS4(Z0, Z1, Z2, Z3)
	VMOVDQU64 Z0, (DI)
	VMOVDQU64 Z1, 64(DI)
	VMOVDQU64 Z2, 128(DI)
	VMOVDQU64 Z3, 192(DI)
	ADDQ $768, SI
	ADDQ $256, DI
	SUBQ $16, CX
	JGE  sixteen

rest:
	ADDQ $16, CX
	JZ   done

one:
	VMOVDQU (SI), X0
	VPXORQ Z16, Z0, Z0
	ROUNDS1(Z0)
	VMOVDQU 16(SI), X4
	VPTERNLOGQ $0x96, Z16, Z4, Z0
	ROUNDS1(Z0)
	VMOVDQU 32(SI), X4
	VPTERNLOGQ $0x96, Z16, Z4, Z0
	ROUNDS1(Z0)
	VMOVDQU X0, (DI)
	ADDQ $48, SI
	ADDQ $16, DI
	DECQ CX
	JNZ  one

done:
	VZEROUPPER
	RET
