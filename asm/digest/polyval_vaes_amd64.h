// SPDX-License-Identifier: Apache-2.0

// The body of a function that digests messages with AES and POLYVAL (RFC 8452), four blocks
// a register and four messages at a time. Its file defines three instructions on registers
// of 512 bits:
//
//	CLMUL(IMM, B, A, D)   D = carry-less products of a word of A and a word of B
//	AESENC(KEY, S)        S = a round of AES
//	AESENCLAST(KEY, S)    S = the last round
//
// and, for masks, seven. Functions without masks have nothing for them but for LOADNEXT:
//
//	BEGINMASKS   R13 = numbers of masks, R15 = masks
//	MASK(I)      the mask of message I, on its first group in Z12
//	GONE(I)      Z31, Z15 = what does not count of the first and the second 64 bytes at R9,
//	             where message I has R10 bytes, more than 64
//	ONLYSECOND   adds Z15 to the last group in Z12 if R11, the bytes before it, is 64
//	LOADNEXT     Z12 = the group at DX behind R9, to which it adds Z15, once
//	MASKS(N)     R13 moves N messages on
//	MASKSBACK    R13 moves CX messages back
//
// DONE is the place of the result.
//
//	DI dst  SI buf  R8 end of buf  BX message  CX messages left less 4  AX messageKey  R14 -1
//	R9 message, then its last group  R10 bytes left  R12 powers of the last group
//	DX distance to the last group
//	Z0 to Z11 sums of four messages  Z12 blocks  Z13 powers  Z14, Z15 free for CLMUL; with
//	masks, Z15 what does not count of the second 64 bytes
//	Z16 to Z26 round keys  Z27 the bits of the modulus from x^64 to x^127, as a word
//	Z28 products  Z29 sums of words  Z30 blocks to encrypt of the four messages before
//	Z31 sum of the earlier blocks, in the first block after them
//	K1 bytes of the last group  K2 words of Messages that count  K3 words of digests to write
//	K4 upper half  K5 words to write of the four messages before
//
// A product of elements has 256 bits. The sum of the products is LO, HI times x^128, and MI
// times x^64. MI has products of sums of words, which hold LO and HI, too (Karatsuba). The sum
// stays in four lanes until all blocks are in it.
//
// The lanes are blocks of one message, so no other message needs to have its length. The
// lanes of four messages are added together, so one reduction and one encryption are
// enough for all. The blocks of the four messages before are encrypted in between: the
// rounds of AES wait for each other, and a CPU does not look far enough ahead to find
// other work.
//
// Four products of words would take Ice Lake as long as three and the shuffle: it does both on
// one port. Zen 4 multiplies once in two cycles, and shuffles elsewhere.

// POWERS is the end of a messageKey's powers of H, from H^96 down to H, 16 bytes each.
// The powers for n blocks begin 16n bytes before it. Zeros follow. SUMS is the same for
// the sums of their words.
#define POWERS 2224
#define SUMS (POWERS+100*16)

// LONGEST is the number of bytes that have powers: longer messages are reduced in
// between.
#define LONGEST 1536

// PRODUCTS sets the sums to the products of the blocks in Z12 and the powers at OFFSET(BASE).
#define PRODUCTS(OFFSET, BASE, INDEX, LO, MI, HI) \
	VMOVDQU64 OFFSET(BASE)(INDEX*1), Z13             \
	VPSHUFD $0x4e, Z12, Z29                          \
	VPXORQ  Z12, Z29, Z29                            \
	CLMUL($0x00, Z13, Z12, LO)                       \
	CLMUL($0x11, Z13, Z12, HI)                       \
	VMOVDQU64 OFFSET+SUMS-POWERS(BASE)(INDEX*1), Z13 \
	CLMUL($0x00, Z13, Z29, MI)

// ADD adds the products of the blocks in Z12, DX before the last group, and their powers.
#define ADD(LO, MI, HI) \
	VMOVDQU64 (R12)(DX*1), Z13             \
	VPSHUFD $0x4e, Z12, Z29                \
	VPXORQ  Z12, Z29, Z29                  \
	CLMUL($0x00, Z13, Z12, Z28)            \
	VPXORQ  Z28, LO, LO                    \
	CLMUL($0x11, Z13, Z12, Z28)            \
	VPXORQ  Z28, HI, HI                    \
	VMOVDQU64 SUMS-POWERS(R12)(DX*1), Z13  \
	CLMUL($0x00, Z13, Z29, Z28)            \
	VPXORQ  Z28, MI, MI

// LOADLAST loads the last R10 bytes of a message, at R9, at most 64.
#define LOADLAST \
	BZHIQ R10, R14, DX                \
	KMOVQ DX, K1                      \
	VMOVDQU8.Z (R9), K1, Z12

// LAST begins the sums with them. It leaves the place of their powers before POWERS in R10.
#define LAST(LO, MI, HI) \
	NEGQ  R10                         \
	ANDQ  $-16, R10                   \
	PRODUCTS(POWERS, AX, R10, LO, MI, HI)

// MESSAGE sums the products of message I of a group, and goes to LONG if it has more than
// 64 bytes.
#define MESSAGE(I, LO, MI, HI, LONG) \
	MOVL  (I*16)(BX), R9      \
	MOVL  (I*16+4)(BX), R10   \
	ADDQ  SI, R9              \
	LEAQ  (R9)(R10*1), R11    \
	CMPQ  R11, R8             \
	JHI   outside             \
	CMPQ  R10, $64            \
	JHI   LONG                \
	LOADLAST                  \
	MASK(I)                   \
	LAST(LO, MI, HI)

// SHORT loads message I of a group so that its last block is the last of TO, and goes to mixed if it
// has more than 64 bytes. R12 collects the bytes that messages have in TO.
#define SHORT(I, TO) \
	MOVL  (I*16)(BX), R9      \
	MOVL  (I*16+4)(BX), R10   \
	ADDQ  SI, R9              \
	LEAQ  (R9)(R10*1), R11    \
	CMPQ  R11, R8             \
	JHI   outside             \
	CMPQ  R10, $64            \
	JHI   mixed               \
	BZHIQ R10, R14, DX        \
	NEGQ  R10                 \
	ANDQ  $-16, R10           \
	SHLXQ R10, DX, DX         \
	ORQ   DX, R12             \
	KMOVQ DX, K1              \
	SUBQ  R10, R9             \
	VMOVDQU8.Z -64(R9), K1, TO

// BLOCKS sets the sums to the products of the Nth block from the end of four messages in Z12.
#define BLOCKS(N, LO, MI, HI) \
	VBROADCASTI64X2 (POWERS-16*N)(AX), Z13 \
	VPSHUFD $0x4e, Z12, Z29                \
	VPXORQ  Z12, Z29, Z29                  \
	CLMUL($0x00, Z13, Z12, LO)             \
	CLMUL($0x11, Z13, Z12, HI)             \
	VBROADCASTI64X2 (SUMS-16*N)(AX), Z13   \
	CLMUL($0x00, Z13, Z29, MI)

// ADDBLOCKS adds these products to Z0, Z1 and Z2.
#define ADDBLOCKS(N) \
	BLOCKS(N, Z8, Z9, Z10) \
	VPXORQ Z8, Z0, Z0      \
	VPXORQ Z9, Z1, Z1      \
	VPXORQ Z10, Z2, Z2

// SUM adds the blocks from DX before R9 up to there.
#define SUM(LO, MI, HI, NEXT, ENTRY) \
	VPXORQ (R9)(DX*1), Z31, Z12      \
	JMP ENTRY                        \
NEXT:                                \
	LOADNEXT                         \
ENTRY:                               \
	ADD(LO, MI, HI)                  \
	ADDQ $64, DX                     \
	JNE  NEXT

// LONGER does the same as MESSAGE for more than 64 bytes, and goes to BACK. For more than
// LONGEST bytes, it reduces the sum of 23 groups, which is then part of the next block. Where
// bytes do not count, the first two groups are added to themselves there, and so become zero.
#define LONGER(I, LO, MI, HI, HERE, REST, NEXT, ENTRY, CHUNK, CHUNKNEXT, CHUNKENTRY, BACK) \
HERE:                                     \
	GONE(I)                               \
REST:                                     \
	CMPQ R10, $LONGEST                    \
	JHI  CHUNK                            \
	LEAQ -1(R10), R11                     \
	ANDQ $-64, R11                        \
	ADDQ R11, R9                          \
	SUBQ R11, R10                         \
	LOADLAST                              \
	ONLYSECOND                            \
	LAST(LO, MI, HI)                      \
	LEAQ POWERS(AX)(R10*1), R12           \
	XORL DX, DX                           \
	SUBQ R11, DX                          \
	SUM(LO, MI, HI, NEXT, ENTRY)          \
	VPXORQ Z31, Z31, Z31                  \
	JMP  BACK                             \
CHUNK:                                    \
	LEAQ POWERS(AX), R12                  \
	MOVQ $-1472, DX                       \
	ADDQ $1472, R9                        \
	SUBQ $1472, R10                       \
	VPXORQ LO, LO, LO                     \
	VPXORQ MI, MI, MI                     \
	VPXORQ HI, HI, HI                     \
	SUM(LO, MI, HI, CHUNKNEXT, CHUNKENTRY) \
	REDUCE(LO, MI, HI)                    \
	VSHUFI64X2 $0x4e, HI, HI, Z28         \
	VPXORQ HI, Z28, Z28                   \
	VSHUFI64X2 $0xb1, Z28, Z28, Z29       \
	VPXORQ X28, X29, X31                  \
	JMP  REST

// REDUCE sets HI to the sum times x^-128. It adds the modulus, times the low word of the
// sum, and divides by x^64, twice.
#define REDUCE(LO, MI, HI) \
	VPTERNLOGQ $0x96, LO, HI, MI    \
	CLMUL($0x00, Z27, LO, Z28)      \
	VPSHUFD $0x4e, LO, LO           \
	VPTERNLOGQ $0x96, Z28, LO, MI   \
	CLMUL($0x00, Z27, MI, Z28)      \
	VPSHUFD $0x4e, MI, MI           \
	VPTERNLOGQ $0x96, Z28, MI, HI

// HALVES adds the halves of A, to its lower half, and the halves of B, to the upper half
// of A.
#define HALVES(A, B, T) \
	VSHUFI64X2 $0x4e, B, A, T \
	VMOVDQA64 B, K4, A        \
	VPXORQ T, A, A

// LANES adds the lanes of each of four registers: A has one block for each.
#define LANES(A, B, C, D) \
	HALVES(A, B, Z28)              \
	HALVES(C, D, Z29)              \
	VSHUFI64X2 $0x88, C, A, Z28    \
	VSHUFI64X2 $0xdd, C, A, Z29    \
	VPXORQ Z28, Z29, A

// ROUNDS does three rounds of the group before, LASTROUND the last one.
#define ROUNDS(A, B, C) \
	AESENC(A, Z30) \
	AESENC(B, Z30) \
	AESENC(C, Z30)

#define LASTROUND \
	AESENCLAST(Z26, Z30) \
	VMOVDQU64 Z30, K5, -64(DI)

	MOVQ dst+0(FP), DI
	MOVQ buf+8(FP), SI
	MOVQ size+16(FP), R8
	MOVQ msgs+24(FP), BX
	MOVQ n+32(FP), CX
	MOVQ key+40(FP), AX
	BEGINMASKS
	ADDQ SI, R8
	MOVQ $-1, R14
	MOVQ $0xc200000000000000, DX
	VPBROADCASTQ DX, Z27
	VPXORQ Z31, Z31, Z31
	MOVL $0xf0, DX
	KMOVW DX, K4
	MOVL $0xff, DX
	KMOVW DX, K3
	MOVL $0xeeee, DX
	KMOVW DX, K2
	VBROADCASTI64X2 (AX), Z16
	VBROADCASTI64X2 16(AX), Z17
	VBROADCASTI64X2 32(AX), Z18
	VBROADCASTI64X2 48(AX), Z19
	VBROADCASTI64X2 64(AX), Z20
	VBROADCASTI64X2 80(AX), Z21
	VBROADCASTI64X2 96(AX), Z22
	VBROADCASTI64X2 112(AX), Z23
	VBROADCASTI64X2 128(AX), Z24
	VBROADCASTI64X2 144(AX), Z25
	VBROADCASTI64X2 160(AX), Z26
	KXORW K5, K5, K5
	SUBQ $4, CX
	JLT  rest

four:
#ifndef MASKED
	XORL R12, R12
	SHORT(0, Z0)
	SHORT(1, Z1)
	SHORT(2, Z2)
	SHORT(3, Z3)
	ROUNDS(Z17, Z18, Z19)
	VSHUFI64X2 $0x44, Z1, Z0, Z4
	VSHUFI64X2 $0xee, Z1, Z0, Z5
	VSHUFI64X2 $0x44, Z3, Z2, Z6
	VSHUFI64X2 $0xee, Z3, Z2, Z7
	VSHUFI64X2 $0xdd, Z7, Z5, Z12
	BLOCKS(1, Z0, Z1, Z2)
	ROUNDS(Z20, Z21, Z22)
	VSHUFI64X2 $0x88, Z7, Z5, Z12
	ADDBLOCKS(2)
	VSHUFI64X2 $0xdd, Z6, Z4, Z12
	ADDBLOCKS(3)
	ROUNDS(Z23, Z24, Z25)
	TESTL $0xffff, R12
	JZ   three48
	VSHUFI64X2 $0x88, Z6, Z4, Z12
	ADDBLOCKS(4)

three48:
	LASTROUND
	JMP  reduce
#endif

mixed:
	MESSAGE(0, Z0, Z1, Z2, long0)

three:
	ROUNDS(Z17, Z18, Z19)
	MESSAGE(1, Z3, Z4, Z5, long1)

two:
	ROUNDS(Z20, Z21, Z22)
	MESSAGE(2, Z6, Z7, Z8, long2)

one:
	ROUNDS(Z23, Z24, Z25)
	MESSAGE(3, Z9, Z10, Z11, long3)

sums:
	LASTROUND
	LANES(Z0, Z3, Z6, Z9)
	LANES(Z1, Z4, Z7, Z10)
	LANES(Z2, Z5, Z8, Z11)

reduce:
	REDUCE(Z0, Z1, Z2)
	VMOVDQU32.Z (BX), K2, Z30
	VPTERNLOGQ $0x96, Z16, Z2, Z30
	KMOVW K3, K5
	ADDQ $64, BX
	ADDQ $64, DI
	MASKS(4)
	SUBQ $4, CX
	JGE  four

	// The last one to three messages are the end of a group whose other sums are 0. Masks
	// leave out the bytes before them.
rest:
	ROUNDS(Z17, Z18, Z19)
	ROUNDS(Z20, Z21, Z22)
	ROUNDS(Z23, Z24, Z25)
	LASTROUND
	KXORW K5, K5, K5
	ADDQ $4, CX
	JEQ  all
	MOVQ CX, R10
	MOVQ $4, CX
	SUBQ R10, CX
	MASKSBACK
	SHLQ $2, CX
	MOVL $0xeeee, DX
	SHLL CX, DX
	KMOVW DX, K2
	SHRQ $1, CX
	MOVL $0xff, DX
	SHLL CX, DX
	KMOVW DX, K3
	SHLQ $3, CX
	SUBQ CX, BX
	SUBQ CX, DI
	XORL CX, CX
	VPXORQ Z0, Z0, Z0
	VPXORQ Z1, Z1, Z1
	VPXORQ Z2, Z2, Z2
	VPXORQ Z3, Z3, Z3
	VPXORQ Z4, Z4, Z4
	VPXORQ Z5, Z5, Z5
	VPXORQ Z6, Z6, Z6
	VPXORQ Z7, Z7, Z7
	VPXORQ Z8, Z8, Z8
	CMPQ R10, $2
	JCS  one
	JEQ  two
	JMP  three

all:
	MOVQ n+32(FP), DX
	MOVQ DX, DONE
	VZEROUPPER
	RET

outside:
	MOVQ $0, DONE
	VZEROUPPER
	RET

	LONGER(0, Z0, Z1, Z2, long0, rest0, next0, entry0, chunk0, chunknext0, chunkentry0, three)
	LONGER(1, Z3, Z4, Z5, long1, rest1, next1, entry1, chunk1, chunknext1, chunkentry1, two)
	LONGER(2, Z6, Z7, Z8, long2, rest2, next2, entry2, chunk2, chunknext2, chunkentry2, one)
	LONGER(3, Z9, Z10, Z11, long3, rest3, next3, entry3, chunk3, chunknext3, chunkentry3, sums)
