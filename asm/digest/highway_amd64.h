// SPDX-License-Identifier: Apache-2.0

// The common part of the HighwayHash kernels: the search for their messages.
//
//	SI buffer  R8 distance from there to the same byte of front
//	BX messages  R9 order, at the group  R10 and on the group's messages
//	CX table of remainders

// BEGIN takes the arguments.
#define BEGIN \
	MOVQ buf+8(FP), SI      \
	MOVQ msgs+16(FP), BX    \
	MOVQ order+24(FP), R9   \
	MOVQ front+40(FP), R8   \
	ADDQ $16, R8            \
	SUBQ SI, R8             \
	MOVQ remainders+56(FP), CX

// MESSAGE finds message LANE of the group: its address to AX, its first byte to P,
// and its length to the least, R14, and the greatest, DX.
#define MESSAGE(LANE, P) \
	MOVWQZX ((LANE)*2)(R9), AX    \
	SHLQ    $4, AX                \
	ADDQ    BX, AX                \
	MOVL    (AX), P               \
	ADDQ    SI, P                 \
	MOVL    4(AX), DI             \
	CMPQ    DI, R14               \
	CMOVQCS DI, R14               \
	CMPQ    DI, DX                \
	CMOVQHI DI, DX

// COUNT turns least and greatest length into the number of packets that all messages
// have, R14, and the excess of the longest, DX. The first is at AX.
#define COUNT \
	XORL AX, AX  \
	SHRQ $5, R14 \
	SHRQ $5, DX  \
	SUBQ R14, DX

// REST finds the remainder of message LANE, which begins at P: its end to P, the bytes
// that begin its packet to DX, and its row of the table to AX. R14 is 16 bytes into the
// buffer.
#define REST(LANE, P) \
	MOVWQZX ((LANE)*2)(R9), AX    \
	SHLQ    $4, AX                \
	MOVL    4(BX)(AX*1), AX       \
	ADDQ    AX, P                 \
	LEAQ    (P)(R8*1), DI         \
	CMPQ    P, R14                \
	CMOVQCS DI, P                 \
	ANDL    $31, AX               \
	MOVL    $16, DI               \
	CMPQ    AX, DI                \
	CMOVQHI AX, DI                \
	MOVQ    P, DX                 \
	SUBQ    DI, DX                \
	SHLQ    $5, AX                \
	ADDQ    CX, AX

// PLACE finds the place of digest LANE, from the first, to AX.
#define PLACE(LANE) \
	MOVWQZX ((LANE)*2)(R9), AX \
	SHLQ    $4, AX
