// SPDX-License-Identifier: Apache-2.0

//go:build arm64 && !purego

#include "textflag.h"

// func prefetchARM64(lines *[8]uint64, mask uint64, hashes *uint64, n int)
TEXT ·prefetchARM64(SB), NOSPLIT, $0-32
	MOVD lines+0(FP), R0
	MOVD mask+8(FP), R1
	MOVD hashes+16(FP), R2
	MOVD n+24(FP), R3

hash:
	MOVD.P 8(R2), R4
	AND  R1, R4, R4
	ADD  R4<<6, R0, R4
	PRFM (R4), PLDL1KEEP
	SUBS $1, R3, R3
	BNE  hash
	RET
