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

// ROUNDS8 is what follows the addition of the first round key.
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

// The frame of sumGroupsAESNI: of each message of a group the address, how far behind that
// its last 16 bytes begin, and the address of its digest; then room for what nobody wants.
#define BASES 0
#define LASTS 64
#define PLACES 128
#define NOWHERE 192

// HEADER1 makes the first block of message number LANE of the group, and notes where the
// others are. X10 and X11 get the least and greatest words of all Messages; the second word
// is the length. The first two, moved right by 32 bits, are the length as 64 bits.
#define HEADER1(LANE, X) \
	MOVWQZX  ((LANE)*2)(R9), DX         \
	SHLQ     $4, DX                     \
	MOVL     (BX)(DX*1), R8             \
	MOVL     4(BX)(DX*1), R10           \
	VMOVDQU  (BX)(DX*1), X              \
	ADDQ     SI, R8                     \
	ADDQ     DI, DX                     \
	SUBQ     $16, R10                   \
	MOVQ     R8, (BASES+(LANE)*8)(SP)   \
	MOVQ     R10, (LASTS+(LANE)*8)(SP)  \
	MOVQ     DX, (PLACES+(LANE)*8)(SP)  \
	VPMINUD  X, X10, X10                \
	VPMAXUD  X, X11, X11                \
	VPSRLQ   $32, X, X9                 \
	VPBLENDW $0xf0, X, X9, X

// BLOCK1 adds the next block of a message; R13 moves on from block to block.
#define BLOCK1(LANE, X) \
	MOVQ  (BASES+(LANE)*8)(SP), DX \
	VPXOR (DX)(R13*1), X, X

// STORE1 writes the state of a message to its place, or nowhere if the message had ended
// before the block before R13. R8 is how far R13 is behind the last 16 bytes.
#define STORE1(LANE, X) \
	MOVQ    (PLACES+(LANE)*8)(SP), R10 \
	CMPQ    R8, $32                    \
	CMOVQGE R14, R10                   \
	VMOVDQU X, (R10)

// ANY1 adds the block at R13 of a message if it has one: a whole block, or its last bytes
// and then zeros. If it has none, its state is stored already, and what is added does not
// matter. ANY1 loads no byte behind the message: the 16 bytes that end with it are moved to
// the front.
#define ANY1(LANE, X) \
	MOVQ    (LASTS+(LANE)*8)(SP), DX  \
	MOVQ    R13, R8                   \
	CMPQ    R13, DX                   \
	CMOVQLT R13, DX                   \
	SUBQ    DX, R8                    \
	STORE1(LANE, X)                   \
	CMPQ    R8, CX                    \
	CMOVQGT CX, R8                    \
	ADDQ    (BASES+(LANE)*8)(SP), DX  \
	VMOVDQU (DX), X9                  \
	VPSHUFB (R12)(R8*1), X9, X9       \
	VPXOR   X9, X, X

// EQUAL1 adds the last block of a message, at R13.
#define EQUAL1(LANE, X) \
	MOVQ    (LASTS+(LANE)*8)(SP), DX  \
	MOVQ    R13, R8                   \
	SUBQ    DX, R8                    \
	ADDQ    (BASES+(LANE)*8)(SP), DX  \
	VMOVDQU (DX), X9                  \
	VPSHUFB (R12)(R8*1), X9, X9       \
	VPXOR   X9, X, X

// PLACE1 writes the state of a message to its place.
#define PLACE1(LANE, X) \
	MOVQ    (PLACES+(LANE)*8)(SP), R10 \
	VMOVDQU X, (R10)

// LAST1 stores the state of a message that had a block before R13.
#define LAST1(LANE, X) \
	MOVQ R13, R8                      \
	SUBQ (LASTS+(LANE)*8)(SP), R8     \
	STORE1(LANE, X)

// The 16 bytes that begin n bytes before the middle. As the indexes of VPSHUFB they would
// be 16-n to 15, and then zeros.
DATA ·lastBytes+0x00(SB)/8, $0x0706050403020100
DATA ·lastBytes+0x08(SB)/8, $0x0f0e0d0c0b0a0908
DATA ·lastBytes+0x10(SB)/8, $0x8080808080808080
DATA ·lastBytes+0x18(SB)/8, $0x8080808080808080
GLOBL ·lastBytes(SB), RODATA|NOPTR, $32

// func sumGroupsAESNI(dst *Digest, buf *byte, msgs *Message, order *uint16, groups int, schedule *aesSchedule)
//
// Blocks that all messages of a group have whole are added first. From there on each has
// its own end, unless only the last block is left of all.
TEXT ·sumGroupsAESNI(SB), NOSPLIT, $208-48
	MOVQ dst+0(FP), DI
	MOVQ buf+8(FP), SI
	MOVQ msgs+16(FP), BX
	MOVQ order+24(FP), R9
	MOVQ schedule+40(FP), AX
	VMOVDQU (AX), X8
	MOVQ $16, CX
	LEAQ ·lastBytes(SB), R12
	LEAQ NOWHERE(SP), R14

group:
	VPCMPEQD X10, X10, X10
	VPXOR    X11, X11, X11
	HEADER1(0, X0)
	HEADER1(1, X1)
	HEADER1(2, X2)
	HEADER1(3, X3)
	HEADER1(4, X4)
	HEADER1(5, X5)
	HEADER1(6, X6)
	HEADER1(7, X7)
	WHITEN8
	ROUNDS8
	XORQ R13, R13
	VPEXTRD $1, X10, R11
	VPEXTRD $1, X11, R15
	DECQ R11
	ANDQ $-16, R11
	ADDQ $15, R15
	ANDQ $-16, R15
	CMPQ R13, R11
	JGE  ends

whole:
	WHITEN8
	BLOCK1(0, X0)
	BLOCK1(1, X1)
	BLOCK1(2, X2)
	BLOCK1(3, X3)
	BLOCK1(4, X4)
	BLOCK1(5, X5)
	BLOCK1(6, X6)
	BLOCK1(7, X7)
	ROUNDS8
	ADDQ $16, R13
	CMPQ R13, R11
	JLT  whole

ends:
	CMPQ R13, R15
	JGE  store
	ADDQ $16, R11
	CMPQ R11, R15
	JE   equal

any:
	ANY1(0, X0)
	ANY1(1, X1)
	ANY1(2, X2)
	ANY1(3, X3)
	ANY1(4, X4)
	ANY1(5, X5)
	ANY1(6, X6)
	ANY1(7, X7)
	WHITEN8
	ROUNDS8
	ADDQ $16, R13
	CMPQ R13, R15
	JLT  any

store:
	LAST1(0, X0)
	LAST1(1, X1)
	LAST1(2, X2)
	LAST1(3, X3)
	LAST1(4, X4)
	LAST1(5, X5)
	LAST1(6, X6)
	LAST1(7, X7)

next:
	ADDQ $16, R9
	DECQ groups+32(FP)
	JNZ  group
	RET

equal:
	EQUAL1(0, X0)
	EQUAL1(1, X1)
	EQUAL1(2, X2)
	EQUAL1(3, X3)
	EQUAL1(4, X4)
	EQUAL1(5, X5)
	EQUAL1(6, X6)
	EQUAL1(7, X7)
	WHITEN8
	ROUNDS8
	PLACE1(0, X0)
	PLACE1(1, X1)
	PLACE1(2, X2)
	PLACE1(3, X3)
	PLACE1(4, X4)
	PLACE1(5, X5)
	PLACE1(6, X6)
	PLACE1(7, X7)
	JMP next
