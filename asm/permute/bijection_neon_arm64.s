// SPDX-License-Identifier: Apache-2.0

//go:build arm64 && !purego

#include "textflag.h"

// MULTIPLY multiplies the four words of VA by VM's: MUL VA.4S, VA.4S, VM.4S, which the
// assembler lacks.
#define MULTIPLY(A, M) WORD $(0x4ea09c00 + M<<16 + A<<5 + A)

// ROUND is one round of the eight words of V0 and V1, with the multiplier VM.
#define ROUND(KEY, M) \
	VEOR  KEY.B16, V0.B16, V0.B16 \
	VEOR  KEY.B16, V1.B16, V1.B16 \
	MULTIPLY(0, M)                \
	MULTIPLY(1, M)                \
	VUSHR $16, V0.S4, V2.S4       \
	VUSHR $16, V1.S4, V3.S4       \
	VEOR  V2.B16, V0.B16, V0.B16  \
	VEOR  V3.B16, V1.B16, V1.B16

// func permuteNEON(dst, src *uint32, groups int, b *Bijection)
//
// The keyed bijection of 32-bit words (Advanced SIMD), eight at a time. A Bijection
// begins with its four key words, 4 bytes each, then the multipliers.
TEXT ·permuteNEON(SB), NOSPLIT, $0-32
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD groups+16(FP), R2
	MOVD b+24(FP), R3
	VLD1 (R3), [V4.S4, V5.S4]
	VDUP V4.S[0], V16.S4
	VDUP V4.S[1], V17.S4
	VDUP V4.S[2], V18.S4
	VDUP V4.S[3], V19.S4
	VDUP V5.S[0], V20.S4
	VDUP V5.S[1], V21.S4
	VDUP V5.S[2], V22.S4
	VDUP V5.S[3], V23.S4

group:
	VLD1.P 32(R1), [V0.S4, V1.S4]
	ROUND(V16, 20)
	ROUND(V17, 21)
	ROUND(V18, 22)
	ROUND(V19, 23)
	VST1.P [V0.S4, V1.S4], 32(R0)
	SUBS $1, R2, R2
	BNE  group
	RET
