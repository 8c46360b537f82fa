// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"

// POLYVAL (RFC 8452) of messages, two blocks a register (VPCLMULQDQ with AVX2), and two
// messages at a time.
//
//	DI dst  SI buf  R8 end of buf  R14 64 bytes before it  BX message  CX messages left
//	AX key  R9 message, then its last group  R10 bytes left, then place of the last powers
//	R11 distance to the last group  R12 powers of the last group  R13 middle of the masks
//	R15 whether this is the second message
//	Y0, Y1, Y2 and Y3, Y4, Y5 sums of two messages  Y6, Y8 blocks  Y7, Y9 sums of their words
//	Y10, Y11, Y12 products  Y13 the bytes of a Message that count
//	Y14 sum of the earlier blocks, in the first block after them
//	Y15 the bits of the modulus from x^64 to x^127, as a word
//
// A product of elements has 256 bits. The sum of the products is LO, HI times x^128, and MI
// times x^64. MI has products of sums of words, which hold LO and HI, too (Karatsuba): Zen 3
// multiplies once in two cycles, in which it begins nothing else. The sum stays in two lanes
// until all blocks are in it.
//
// The lanes are blocks of one message, so no other message needs to have its length. The
// lanes of two messages are added together, so one reduction is enough for both.

// POWERS is the end of a messageKey's powers of H, from H^96 down to H, 16 bytes each.
// The powers for n blocks begin 16n bytes before it. Zeros follow. SUMS is the same for
// the sums of their words.
#define POWERS 2224
#define SUMS (POWERS+100*16)

// LONGEST is the number of bytes that have powers. For longer messages, CHUNK bytes are
// reduced at once.
#define LONGEST 1536
#define CHUNK 1504

// WORDS sets S to the sum of the words of each block of A.
#define WORDS(A, S) \
	VPSHUFD $0x4e, A, S \
	VPXOR   A, S, S

// PRODUCTS sets the sums to the products of the blocks in A, S and the powers at P.
#define PRODUCTS(A, S, OFFSET, BASE, INDEX, LO, MI, HI) \
	VPCLMULQDQ $0x00, OFFSET(BASE)(INDEX*1), A, LO            \
	VPCLMULQDQ $0x11, OFFSET(BASE)(INDEX*1), A, HI            \
	VPCLMULQDQ $0x00, OFFSET+SUMS-POWERS(BASE)(INDEX*1), S, MI

// TOTAL adds the products in Y10, Y11 and Y12.
#define TOTAL(LO, MI, HI) \
	VPXOR Y10, LO, LO \
	VPXOR Y11, MI, MI \
	VPXOR Y12, HI, HI

// SHORT sums the products of message I, which has at most 64 bytes, or goes to SLOW.
// Masks and powers cancel the bytes behind it.
#define SHORT(I, LO, MI, HI, SLOW) \
	MOVL  (I*16)(BX), R9       \
	MOVL  (I*16+4)(BX), R10    \
	ADDQ  SI, R9               \
	CMPQ  R10, $64             \
	JHI   SLOW                 \
	CMPQ  R9, R14              \
	JHI   SLOW                 \
	NEGQ  R10                  \
	VMOVDQU (R9), Y6           \
	VMOVDQU 32(R9), Y8         \
	VPAND (R13)(R10*1), Y6, Y6 \
	VPAND 32(R13)(R10*1), Y8, Y8 \
	ANDQ  $-16, R10            \
	WORDS(Y6, Y7)              \
	WORDS(Y8, Y9)              \
	PRODUCTS(Y6, Y7, POWERS, AX, R10, LO, MI, HI)       \
	PRODUCTS(Y8, Y9, POWERS+32, AX, R10, Y10, Y11, Y12) \
	TOTAL(LO, MI, HI)

// ADD adds the products of the blocks in Y6, R11 before the last group, and their powers.
#define ADD \
	WORDS(Y6, Y7) \
	PRODUCTS(Y6, Y7, 0, R12, R11, Y10, Y11, Y12) \
	TOTAL(Y3, Y4, Y5)

// REDUCE sets HI to the sum times x^-128. It adds the modulus, times the low word of the
// sum, and divides by x^64, twice.
#define REDUCE(LO, MI, HI) \
	VPXOR      LO, MI, MI          \
	VPXOR      HI, MI, MI          \
	VPCLMULQDQ $0x00, Y15, LO, Y10 \
	VPSHUFD    $0x4e, LO, LO       \
	VPXOR      LO, MI, MI          \
	VPXOR      Y10, MI, MI         \
	VPCLMULQDQ $0x00, Y15, MI, Y10 \
	VPSHUFD    $0x4e, MI, MI       \
	VPXOR      MI, HI, HI          \
	VPXOR      Y10, HI, HI

// LANES adds the lanes of A, to its lower one, and the lanes of B, to the upper one of A.
#define LANES(A, B) \
	VPERM2I128 $0x21, B, A, Y10 \
	VPBLENDD   $0xf0, B, A, A   \
	VPXOR      Y10, A, A

// The 64 bytes that begin n bytes before the middle keep the first n bytes of two groups.
#define ONES $0xffffffffffffffff
DATA ·groupMasks+0x00(SB)/8, ONES
DATA ·groupMasks+0x08(SB)/8, ONES
DATA ·groupMasks+0x10(SB)/8, ONES
DATA ·groupMasks+0x18(SB)/8, ONES
DATA ·groupMasks+0x20(SB)/8, ONES
DATA ·groupMasks+0x28(SB)/8, ONES
DATA ·groupMasks+0x30(SB)/8, ONES
DATA ·groupMasks+0x38(SB)/8, ONES
DATA ·groupMasks+0x78(SB)/8, $0
GLOBL ·groupMasks(SB), RODATA|NOPTR, $128

// func polyvalVAES256(dst *Digest, buf *byte, size int, msgs *Message, n int, key *messageKey) (done int)
TEXT ·polyvalVAES256(SB), NOSPLIT, $64-56
	MOVQ dst+0(FP), DI
	MOVQ buf+8(FP), SI
	MOVQ size+16(FP), R8
	MOVQ msgs+24(FP), BX
	MOVQ n+32(FP), CX
	MOVQ key+40(FP), AX
	ADDQ SI, R8
	LEAQ -64(R8), R14
	LEAQ ·groupMasks+64(SB), R13
	VPCMPEQD Y13, Y13, Y13
	VPSLLDQ  $4, Y13, Y13
	VPXOR    Y14, Y14, Y14
	MOVQ     $0xc200000000000000, DX
	VMOVQ    DX, X15
	VPBROADCASTQ X15, Y15

first:
	SHORT(0, Y0, Y1, Y2, slow0)

second:
	SHORT(1, Y3, Y4, Y5, slow1)

reduce:
	LANES(Y0, Y3)
	LANES(Y1, Y4)
	LANES(Y2, Y5)
	REDUCE(Y0, Y1, Y2)
	VPAND (BX), Y13, Y6
	VPXOR Y6, Y2, Y2
	VMOVDQU Y2, (DI)
	ADDQ  $32, BX
	ADDQ  $32, DI
	SUBQ  $2, CX
	JNE   first
	MOVQ  n+32(FP), DX
	MOVQ  DX, done+48(FP)
	VZEROUPPER
	RET

outside:
	MOVQ $0, done+48(FP)
	VZEROUPPER
	RET

slow0:
	XORL R15, R15
	JMP  slow

slow1:
	MOVL $1, R15

	// A message of any length and at any place.
slow:
	LEAQ (R9)(R10*1), R11
	CMPQ R11, R8
	JHI  outside
	XORL R11, R11
	CMPQ R10, $32
	JHI  long

	// The last group, of R10 bytes, comes first: its products begin the sums.
last:
	LEAQ 32(R9), DX
	SUBQ R8, DX
	JHI  edge
	VMOVDQU (R9), Y6

loaded:
	NEGQ R10
	VPAND (R13)(R10*1), Y6, Y6
	ANDQ $-16, R10
	LEAQ POWERS(AX)(R10*1), R12
	XORL R10, R10
	WORDS(Y6, Y7)
	PRODUCTS(Y6, Y7, 0, R12, R10, Y3, Y4, Y5)
	NEGQ R11
	JEQ  summed
	VPXOR (R9)(R11*1), Y14, Y6
	JMP  entry

group:
	VMOVDQU (R9)(R11*1), Y6

entry:
	ADD
	ADDQ $32, R11
	JNE  group
	VPXOR Y14, Y14, Y14

summed:
	TESTL R15, R15
	JNE   reduce
	VMOVDQA Y3, Y0
	VMOVDQA Y4, Y1
	VMOVDQA Y5, Y2
	JMP   second

	// The group reaches DX bytes beyond buf. A copy of the last 32 bytes of buf is read
	// from there on. The bytes after them do not count.
edge:
	VMOVDQU -32(R8), Y6
	VMOVDQU Y6, block-64(SP)
	LEAQ    block-64(SP), R12
	VMOVDQU (R12)(DX*1), Y6
	JMP     loaded

	// R11 bytes stand before the last group, which has 1 to 32.
long:
	CMPQ R10, $LONGEST
	JHI  chunk
	LEAQ -1(R10), R11
	ANDQ $-32, R11
	ADDQ R11, R9
	SUBQ R11, R10
	JMP  last

chunk:
	LEAQ POWERS(AX), R12
	MOVQ $-CHUNK, R11
	ADDQ $CHUNK, R9
	SUBQ $CHUNK, R10
	VPXOR Y3, Y3, Y3
	VPXOR Y4, Y4, Y4
	VPXOR Y5, Y5, Y5
	VPXOR (R9)(R11*1), Y14, Y6
	JMP  chunkentry

chunkgroup:
	VMOVDQU (R9)(R11*1), Y6

chunkentry:
	ADD
	ADDQ $32, R11
	JNE  chunkgroup
	REDUCE(Y3, Y4, Y5)
	VEXTRACTI128 $1, Y5, X6
	VPXOR X6, X5, X14
	JMP  long
