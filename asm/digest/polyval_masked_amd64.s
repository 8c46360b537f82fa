// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"

// POLYVAL and AES on four blocks a register (VPCLMULQDQ and VAES, AVX-512), of messages
// with masks.

#define CLMUL(IMM, B, A, D) VPCLMULQDQ IMM, B, A, D
#define AESENC(KEY, S) VAESENC KEY, S, S
#define AESENCLAST(KEY, S) VAESENCLAST KEY, S, S
#define DONE done+64(FP)
#define MASKED

#define BEGINMASKS \
	MOVQ which+48(FP), R13 \
	MOVQ masks+56(FP), R15

#define MASK(I) \
	MOVBLZX I(R13), R11 \
	SHLQ   $7, R11      \
	VPANDQ (R15)(R11*1), Z12, Z12

#define GONE(I) \
	MOVBLZX I(R13), R11            \
	SHLQ    $7, R11                \
	VMOVDQU64 (R15)(R11*1), Z12    \
	VPANDNQ (R9), Z12, Z31         \
	LEAQ    -64(R10), DX           \
	MOVL    $64, R12               \
	CMPQ    DX, R12                \
	CMOVQHI R12, DX                \
	BZHIQ   DX, R14, DX            \
	KMOVQ   DX, K1                 \
	VMOVDQU8.Z 64(R9), K1, Z15     \
	VMOVDQU64 64(R15)(R11*1), Z12  \
	VPANDNQ Z15, Z12, Z15

#define ONLYSECOND \
	XORL    DX, DX                 \
	CMPQ    R11, $64               \
	SETEQ   DX                     \
	NEGL    DX                     \
	KMOVB   DX, K6                 \
	VPXORQ  Z15, Z12, K6, Z12

#define LOADNEXT \
	VPXORQ  (R9)(DX*1), Z15, Z12   \
	VPXORQ  Z15, Z15, Z15

#define MASKS(N) ADDQ $N, R13
#define MASKSBACK SUBQ CX, R13

// func sumMaskedVAES(dst *Digest, buf *byte, size int, msgs *Message, n int, key *messageKey, which *uint8, masks *Mask) (done int)
TEXT ·sumMaskedVAES(SB), NOSPLIT, $0-72
#include "polyval_vaes_amd64.h"
