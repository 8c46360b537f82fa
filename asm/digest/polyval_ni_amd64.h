// SPDX-License-Identifier: Apache-2.0

// POLYVAL (RFC 8452) of messages, each by itself, and the encryption of it.
//
//	DI dst  SI buf  R8 end of buf  BX message  CX messages left  AX messageKey  R14 H in it
//	R9 next block  R10 bytes left less 1, then last block  R11 end of message
//	R12 power of the next block  R13 middle of the masks of last blocks
//	R15 mask of the message, where MASKED is defined
//	X0 sum of the groups before  X14 the bytes of a Message that count
//	X15 the bits of the modulus from x^64 to x^127, as a word
//
// A product of elements has 256 bits. The sum of the products is X1, and X3 times x^128,
// and X2 times x^64. X2 has products of sums of words, which hold X1 and X3, too
// (Karatsuba).

// H is where a messageKey has H, after the round keys, H^2 and so on, 32 bytes each.
#define H 176
#define POWER(N) (H+(N)*32-32)

// WORDS sets X5 to the sum of the words of X4.
#define WORDS \
	VPSHUFD $0x4e, X4, X5 \
	VPXOR   X4, X5, X5

// BLOCK loads a block to X4, and the sum of its words to X5.
#define BLOCK(OFFSET) \
	VMOVDQU OFFSET(R9), X4   \
	VMOVQ   OFFSET+8(R9), X5 \
	VPXOR   X4, X5, X5

#ifdef MASKED
// MASK sets R15 to the mask of the message. Mask 0 has no effect: it is for what lies behind.
#define MASK \
	MOVQ    n+32(FP), R15      \
	SUBQ    CX, R15            \
	ADDQ    which+48(FP), R15  \
	MOVBLZX (R15), R15         \
	SHLQ    $7, R15            \
	ADDQ    masks+56(FP), R15

// MASKEDBLOCK is BLOCK for one of the first eight blocks of a message or of a group. In a loop over
// blocks, R15 is where the mask of the block is.
#define MASKEDBLOCK(OFFSET) \
	VMOVDQU OFFSET(R9), X4      \
	VPAND   OFFSET(R15), X4, X4 \
	WORDS
#else
#define MASKEDBLOCK(OFFSET) BLOCK(OFFSET)
#endif

// MULTIPLY begins the sum with the product of a block and a power.
#define MULTIPLY(OFFSET, P) \
	VPCLMULQDQ $0x00, OFFSET(P), X4, X1    \
	VPCLMULQDQ $0x11, OFFSET(P), X4, X3    \
	VPCLMULQDQ $0x00, OFFSET+16(P), X5, X2

// ADD adds the product of a block and a power to the sum.
#define ADD(OFFSET, P) \
	VPCLMULQDQ $0x00, OFFSET(P), X4, X6    \
	VPCLMULQDQ $0x11, OFFSET(P), X4, X4    \
	VPCLMULQDQ $0x00, OFFSET+16(P), X5, X5 \
	VPXOR      X6, X1, X1                  \
	VPXOR      X4, X3, X3                  \
	VPXOR      X5, X2, X2

// GROUP adds block I of a group of 16.
#define GROUP(I) \
	BLOCK(I*16)         \
	ADD(POWER(16-I), AX)

// REDUCE sets X0 to the sum times x^-128. It adds the modulus, times the low word of the
// sum, and divides by x^64, twice.
#define REDUCE \
	VPXOR      X1, X2, X2         \
	VPXOR      X3, X2, X2         \
	VPCLMULQDQ $0x00, X15, X1, X4 \
	VPSHUFD    $0x4e, X1, X1      \
	VPXOR      X2, X1, X1         \
	VPXOR      X4, X1, X1         \
	VPCLMULQDQ $0x00, X15, X1, X4 \
	VPSHUFD    $0x4e, X1, X1      \
	VPXOR      X3, X1, X1         \
	VPXOR      X4, X1, X0

// The text of sumMessagesAESNI and sumMaskedAESNI.
	MOVQ dst+0(FP), DI
	MOVQ buf+8(FP), SI
	MOVQ size+16(FP), R8
	MOVQ msgs+24(FP), BX
	MOVQ n+32(FP), CX
	MOVQ key+40(FP), AX
	ADDQ SI, R8
	LEAQ H(AX), R14
	LEAQ ·blockMasks+16(SB), R13
	VPCMPEQD X14, X14, X14
	VPSLLDQ  $4, X14, X14
	MOVQ     $0xc200000000000000, DX
	VMOVQ    DX, X15

message:
	MOVL (BX), R9
	MOVL 4(BX), R10
	ADDQ SI, R9
	LEAQ (R9)(R10*1), R11
	CMPQ R11, R8
	JHI  done
	DECQ R10
	CMPQ R10, $256
	JAE  groups

	// The last block comes first: its products begin the sum.
rest:
	ANDQ $-16, R10
	LEAQ (R14)(R10*2), R12
	ADDQ R9, R10
	SUBQ R10, R11
	LEAQ 16(R10), DX
	CMPQ DX, R8
	JHI  copy
	NEGQ R11
	VMOVDQU (R10), X4
	VPAND   (R13)(R11*1), X4, X4

last:
#ifdef MASKED
	MASK
	CMPL 4(BX), $256
	JLS  inmask
	MOVQ masks+56(FP), R15

inmask:
	MOVQ R10, DX
	SUBQ R9, DX
	CMPQ DX, $128
	JAE  whole
	VPAND (R15)(DX*1), X4, X4

whole:
#endif
	WORDS
	MULTIPLY(0, R14)
	CMPQ R9, R10
	JEQ  before
#ifdef MASKED
	LEAQ 128(R15), DX

maskedblock:
	MASKEDBLOCK(0)
	ADD(0, R12)
	ADDQ $16, R9
	SUBQ $32, R12
	CMPQ R9, R10
	JEQ  before
	ADDQ $16, R15
	CMPQ R15, DX
	JNE  maskedblock
#endif

block:
	BLOCK(0)
	ADD(0, R12)
	ADDQ $16, R9
	SUBQ $32, R12
	CMPQ R9, R10
	JNE  block

before:
	CMPL 4(BX), $256
	JHI  join

reduce:
	REDUCE

encrypt:
	VPAND (BX), X14, X4
	VPXOR (AX), X0, X0
	VPXOR X4, X0, X0
	VAESENC 16(AX), X0, X0
	VAESENC 32(AX), X0, X0
	VAESENC 48(AX), X0, X0
	VAESENC 64(AX), X0, X0
	VAESENC 80(AX), X0, X0
	VAESENC 96(AX), X0, X0
	VAESENC 112(AX), X0, X0
	VAESENC 128(AX), X0, X0
	VAESENC 144(AX), X0, X0
	VAESENCLAST 160(AX), X0, X0
	VMOVDQU X0, (DI)
	ADDQ $16, BX
	ADDQ $16, DI
	DECQ CX
	JNZ  message

done:
	MOVQ n+32(FP), DX
	SUBQ CX, DX
	MOVQ DX, DONE
	RET

	// Behind the last block buf ends: a copy of the block is padded.
copy:
	VPXOR   X4, X4, X4
	VMOVDQU X4, block-16(SP)
	LEAQ    block-16(SP), DX

byte:
	MOVB -1(R10)(R11*1), R15
	MOVB R15, -1(DX)(R11*1)
	DECQ R11
	JNZ  byte
	VMOVDQU block-16(SP), X4
	JMP  last

	// More than 16 blocks, or none. The sum of the groups before is part of the first block.
groups:
	VPXOR X0, X0, X0
	CMPQ  R10, $-1
	JEQ   encrypt
#ifdef MASKED
	MASK
#endif

group:
	MASKEDBLOCK(16)
	MULTIPLY(POWER(15), AX)
	MASKEDBLOCK(32)
	ADD(POWER(14), AX)
	MASKEDBLOCK(48)
	ADD(POWER(13), AX)
	MASKEDBLOCK(64)
	ADD(POWER(12), AX)
	MASKEDBLOCK(80)
	ADD(POWER(11), AX)
	MASKEDBLOCK(96)
	ADD(POWER(10), AX)
	MASKEDBLOCK(112)
	ADD(POWER(9), AX)
	GROUP(8)
	GROUP(9)
	GROUP(10)
	GROUP(11)
	GROUP(12)
	GROUP(13)
	GROUP(14)
	GROUP(15)
	MASKEDBLOCK(0)
	VPXOR X0, X4, X4
	WORDS
	ADD(POWER(16), AX)
	REDUCE
#ifdef MASKED
	MOVQ masks+56(FP), R15
#endif
	ADDQ $256, R9
	SUBQ $256, R10
	CMPQ R10, $256
	JAE  group
	JMP  rest

	// The first block after the groups has the power H^(n+1), for 16n bytes before the last.
join:
	MOVL 4(BX), R12
	DECQ R12
	ANDQ $0xf0, R12
	LEAQ (R14)(R12*2), R12
	VMOVDQA X0, X4
	WORDS
	ADD(0, R12)
	JMP  reduce
