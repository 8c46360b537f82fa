// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"

// POLYVAL and AES on four blocks a register (VPCLMULQDQ and VAES, AVX-512).

#define CLMUL(IMM, B, A, D) VPCLMULQDQ IMM, B, A, D
#define AESENC(KEY, S) VAESENC KEY, S, S
#define AESENCLAST(KEY, S) VAESENCLAST KEY, S, S
#define DONE done+48(FP)
#define BEGINMASKS
#define MASK(I)
#define GONE(I)
#define ONLYSECOND
#define LOADNEXT VMOVDQU64 (R9)(DX*1), Z12
#define MASKS(N)
#define MASKSBACK

// func sumMessagesVAES(dst *Digest, buf *byte, size int, msgs *Message, n int, key *messageKey) (done int)
TEXT ·sumMessagesVAES(SB), NOSPLIT, $0-56
#include "polyval_vaes_amd64.h"
