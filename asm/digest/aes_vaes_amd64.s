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

// ROUNDS4 is what follows the addition of the first round key.
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

// GATHER loads the next block of four lanes. Offsets stand 256 bytes into the
// lanes; SI moves on from block to block.
#define GATHER(OFFSET, X, Z) \
	MOVQ OFFSET(DI), AX                      \
	MOVQ OFFSET+8(DI), BX                    \
	MOVQ OFFSET+16(DI), DX                   \
	MOVQ OFFSET+24(DI), R8                   \
	VMOVDQU (SI)(AX*1), X                    \
	VINSERTI64X2 $1, (SI)(BX*1), Z, Z        \
	VINSERTI64X2 $2, (SI)(DX*1), Z, Z        \
	VINSERTI64X2 $3, (SI)(R8*1), Z, Z

// func advanceVAES(l *lanes, buf *byte, steps uint64, schedule *aesSchedule)
TEXT ·advanceVAES(SB), NOSPLIT, $0-32
	MOVQ l+0(FP), DI
	MOVQ buf+8(FP), SI
	MOVQ steps+16(FP), CX
	MOVQ schedule+24(FP), AX
	KEYS
	VMOVDQU64 (DI), Z0
	VMOVDQU64 64(DI), Z1
	VMOVDQU64 128(DI), Z2
	VMOVDQU64 192(DI), Z3

step:
	GATHER(256, X4, Z4)
	GATHER(288, X5, Z5)
	GATHER(320, X6, Z6)
	GATHER(352, X7, Z7)
	MIX4
	ROUNDS4(Z0, Z1, Z2, Z3)
	ADDQ $16, SI
	DECQ CX
	JNZ  step
	VMOVDQU64 Z0, (DI)
	VMOVDQU64 Z1, 64(DI)
	VMOVDQU64 Z2, 128(DI)
	VMOVDQU64 Z3, 192(DI)
	VZEROUPPER
	RET

// The frame of sumEqualVAES: the offsets of a group's messages, then the masks
// of their last blocks.
#define OFFSETS 0
#define MASKS 128

// HEADER reads message number LANE of the group: its offset and the mask of its
// last block to the frame, all of it to AX as an address. R11 is how many bytes
// come before the last block, R12 all ones.
#define HEADER(LANE) \
	MOVWQZX ((LANE)*2)(R9), AX           \
	SHLQ    $4, AX                       \
	ADDQ    BX, AX                       \
	MOVL    (AX), DX                     \
	MOVL    4(AX), R8                    \
	MOVQ    DX, (OFFSETS+(LANE)*8)(SP)     \
	SUBL    R11, R8                      \
	BZHIL   R8, R12, R8                  \
	MOVW    R8, (MASKS+(LANE)*2)(SP)

// HEADER4 makes the first blocks of four messages.
#define HEADER4(LANE, X, Z) \
	HEADER(LANE)                         \
	VMOVDQU (AX), X                      \
	HEADER(LANE+1)                       \
	VINSERTI64X2 $1, (AX), Z, Z          \
	HEADER(LANE+2)                       \
	VINSERTI64X2 $2, (AX), Z, Z          \
	HEADER(LANE+3)                       \
	VINSERTI64X2 $3, (AX), Z, Z          \
	VPSRLQ  $32, Z, K2, Z

// BLOCK4 loads the next blocks of four messages; R13 moves on from block to block.
#define BLOCK4(LANE, X, Z) \
	MOVQ (OFFSETS+(LANE)*8)(SP), AX            \
	MOVQ (OFFSETS+(LANE)*8+8)(SP), DX          \
	VMOVDQU (R13)(AX*1), X                   \
	VINSERTI64X2 $1, (R13)(DX*1), Z, Z       \
	MOVQ (OFFSETS+(LANE)*8+16)(SP), AX         \
	MOVQ (OFFSETS+(LANE)*8+24)(SP), DX         \
	VINSERTI64X2 $2, (R13)(AX*1), Z, Z       \
	VINSERTI64X2 $3, (R13)(DX*1), Z, Z

// LAST loads the last block of a message.
#define LAST(LANE, X) \
	MOVQ  (OFFSETS+(LANE)*8)(SP), AX       \
	KMOVW (MASKS+(LANE)*2)(SP), K1         \
	VMOVDQU8.Z (R13)(AX*1), K1, X

#define LAST4(LANE, X, Z) \
	LAST(LANE, X)                    \
	LAST(LANE+1, X8)                 \
	VINSERTI64X2 $1, X8, Z, Z        \
	LAST(LANE+2, X9)                 \
	VINSERTI64X2 $2, X9, Z, Z        \
	LAST(LANE+3, X10)                \
	VINSERTI64X2 $3, X10, Z, Z

// STORE4 writes four digests to their places.
#define STORE4(LANE, X, Z) \
	MOVWQZX ((LANE)*2)(R9), AX       \
	SHLQ    $4, AX                   \
	VMOVDQU X, (DI)(AX*1)            \
	MOVWQZX ((LANE)*2+2)(R9), DX       \
	SHLQ    $4, DX                   \
	VEXTRACTI64X2 $1, Z, (DI)(DX*1)  \
	MOVWQZX ((LANE)*2+4)(R9), AX       \
	SHLQ    $4, AX                   \
	VEXTRACTI64X2 $2, Z, (DI)(AX*1)  \
	MOVWQZX ((LANE)*2+6)(R9), DX       \
	SHLQ    $4, DX                   \
	VEXTRACTI64X2 $3, Z, (DI)(DX*1)

// func sumEqualVAES(dst *Digest, buf *byte, msgs *Message, order *uint16, groups, length int, schedule *aesSchedule)
//
// A Message is its offset and length, 32 bits each, and its tweak: moved right by
// 32 bits, the first word of 64 is the length, and so the message's first block
// is there.
TEXT ·sumEqualVAES(SB), NOSPLIT, $160-56
	MOVQ dst+0(FP), DI
	MOVQ buf+8(FP), SI
	MOVQ msgs+16(FP), BX
	MOVQ order+24(FP), R9
	MOVQ groups+32(FP), CX
	MOVQ length+40(FP), R11
	MOVQ schedule+48(FP), AX
	KEYS
	DECQ  R11
	SHLQ  $4, R11
	MOVL  $-1, R12
	MOVL  $0x55, AX
	KMOVW AX, K2

group:
	HEADER4(0, X0, Z0)
	HEADER4(4, X1, Z1)
	HEADER4(8, X2, Z2)
	HEADER4(12, X3, Z3)
	VPXORQ Z16, Z0, Z0
	VPXORQ Z16, Z1, Z1
	VPXORQ Z16, Z2, Z2
	VPXORQ Z16, Z3, Z3
	ROUNDS4(Z0, Z1, Z2, Z3)
	MOVQ SI, R13
	MOVQ R11, R10
	TESTQ R10, R10
	JZ   last

step:
	BLOCK4(0, X4, Z4)
	BLOCK4(4, X5, Z5)
	BLOCK4(8, X6, Z6)
	BLOCK4(12, X7, Z7)
	MIX4
	ROUNDS4(Z0, Z1, Z2, Z3)
	ADDQ $16, R13
	SUBQ $16, R10
	JNZ  step

last:
	LAST4(0, X4, Z4)
	LAST4(4, X5, Z5)
	LAST4(8, X6, Z6)
	LAST4(12, X7, Z7)
	MIX4
	ROUNDS4(Z0, Z1, Z2, Z3)
	STORE4(0, X0, Z0)
	STORE4(4, X1, Z1)
	STORE4(8, X2, Z2)
	STORE4(12, X3, Z3)
	ADDQ $32, R9
	DECQ CX
	JNZ  group
	VZEROUPPER
	RET
