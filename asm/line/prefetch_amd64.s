// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"

// func prefetchAMD64(lines *[8]uint64, mask uint64, hashes *uint64, n int)
TEXT ·prefetchAMD64(SB), NOSPLIT, $0-32
	MOVQ lines+0(FP), DI
	MOVQ mask+8(FP), DX
	MOVQ hashes+16(FP), SI
	MOVQ n+24(FP), CX

hash:
	MOVQ (SI), AX
	ANDQ DX, AX
	SHLQ $6, AX
	PREFETCHT0 (DI)(AX*1)
	ADDQ $8, SI
	DECQ CX
	JNZ  hash
	RET
