// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"

// sumMessagesLanes is the kernel of VAES with each instruction on 512 bits done lane by
// lane with AES-NI instructions, so that CPUs without VAES can test it.

#define LANE(I, INSTRUCTION, B, D) \
	VEXTRACTI32X4 I, B, X14 \
	VEXTRACTI32X4 I, D, X15 \
	INSTRUCTION X14, X15, X15 \
	VINSERTI32X4 I, X15, D, D

#define LANES1(INSTRUCTION, B, D) \
	LANE($0, INSTRUCTION, B, D) \
	LANE($1, INSTRUCTION, B, D) \
	LANE($2, INSTRUCTION, B, D) \
	LANE($3, INSTRUCTION, B, D)

#define CLMUL1(I, IMM, B, A, D) \
	VEXTRACTI32X4 I, B, X14 \
	VEXTRACTI32X4 I, A, X15 \
	VPCLMULQDQ IMM, X14, X15, X15 \
	VINSERTI32X4 I, X15, D, D

#define CLMUL(IMM, B, A, D) \
	CLMUL1($0, IMM, B, A, D) \
	CLMUL1($1, IMM, B, A, D) \
	CLMUL1($2, IMM, B, A, D) \
	CLMUL1($3, IMM, B, A, D)

#define AESENC(KEY, S) LANES1(VAESENC, KEY, S)
#define AESENCLAST(KEY, S) LANES1(VAESENCLAST, KEY, S)
#define DONE done+48(FP)
#define BEGINMASKS
#define MASK(I)
#define GONE(I)
#define ONLYSECOND
#define LOADNEXT VMOVDQU64 (R9)(DX*1), Z12
#define MASKS(N)
#define MASKSBACK

// func sumMessagesLanes(dst *Digest, buf *byte, size int, msgs *Message, n int, key *messageKey) (done int)
TEXT ·sumMessagesLanes(SB), NOSPLIT, $0-56
#include "polyval_vaes_amd64.h"
