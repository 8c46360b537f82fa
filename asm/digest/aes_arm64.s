// SPDX-License-Identifier: Apache-2.0

//go:build arm64 && !purego

#include "textflag.h"
#include "aes_arm64.h"

// Eight blocks at a time.

#define ROUND8(KEY) \
	ROUND1(KEY, V0) \
	ROUND1(KEY, V1) \
	ROUND1(KEY, V2) \
	ROUND1(KEY, V3) \
	ROUND1(KEY, V4) \
	ROUND1(KEY, V5) \
	ROUND1(KEY, V6) \
	ROUND1(KEY, V7)

#define ENCRYPT8 \
	ROUND8(V16) \
	ROUND8(V17) \
	ROUND8(V18) \
	ROUND8(V19) \
	ROUND8(V20) \
	ROUND8(V21) \
	ROUND8(V22) \
	ROUND8(V23) \
	ROUND8(V24) \
	LAST1(V0)   \
	LAST1(V1)   \
	LAST1(V2)   \
	LAST1(V3)   \
	LAST1(V4)   \
	LAST1(V5)   \
	LAST1(V6)   \
	LAST1(V7)

// func encryptNEON(dst, src *Digest, n int, schedule *aesSchedule)
TEXT ·encryptNEON(SB), NOSPLIT, $0-32
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD n+16(FP), R2
	MOVD schedule+24(FP), R3
	KEYS(R3)
	SUBS $8, R2, R2
	BLT  rest

eight:
	VLD1.P 64(R1), [V0.B16, V1.B16, V2.B16, V3.B16]
	VLD1.P 64(R1), [V4.B16, V5.B16, V6.B16, V7.B16]
	ENCRYPT8
	VST1.P [V0.B16, V1.B16, V2.B16, V3.B16], 64(R0)
	VST1.P [V4.B16, V5.B16, V6.B16, V7.B16], 64(R0)
	SUBS $8, R2, R2
	BGE  eight

rest:
	ADDS $8, R2, R2
	BEQ  done

one:
	VLD1.P 16(R1), [V0.B16]
	ENCRYPT1
	VST1.P [V0.B16], 16(R0)
	SUBS $1, R2, R2
	BNE  one

done:
	RET

// LOAD loads one block of a key and goes on to the next key.
#define LOAD(S) \
	VLD1 (R4), [S.B16] \
	ADD  $48, R4, R4

// ADD1 adds one block of a key and goes on to the next key.
#define ADD1(S) \
	VLD1 (R4), [V27.B16]        \
	ADD  $48, R4, R4            \
	VEOR V27.B16, S.B16, S.B16

#define ADD8 \
	ADD1(V0) \
	ADD1(V1) \
	ADD1(V2) \
	ADD1(V3) \
	ADD1(V4) \
	ADD1(V5) \
	ADD1(V6) \
	ADD1(V7)

// func sum48NEON(dst *Digest, keys *[48]byte, n int, schedule *aesSchedule)
TEXT ·sum48NEON(SB), NOSPLIT, $0-32
	MOVD dst+0(FP), R0
	MOVD keys+8(FP), R1
	MOVD n+16(FP), R2
	MOVD schedule+24(FP), R3
	KEYS(R3)
	SUBS $8, R2, R2
	BLT  rest

eight:
	MOVD R1, R4
	LOAD(V0)
	LOAD(V1)
	LOAD(V2)
	LOAD(V3)
	LOAD(V4)
	LOAD(V5)
	LOAD(V6)
	LOAD(V7)
	ENCRYPT8
	ADD  $16, R1, R4
	ADD8
	ENCRYPT8
	ADD  $32, R1, R4
	ADD8
	ENCRYPT8
	VST1.P [V0.B16, V1.B16, V2.B16, V3.B16], 64(R0)
	VST1.P [V4.B16, V5.B16, V6.B16, V7.B16], 64(R0)
	ADD  $384, R1, R1
	SUBS $8, R2, R2
	BGE  eight

rest:
	ADDS $8, R2, R2
	BEQ  done

one:
	VLD1.P 16(R1), [V0.B16]
	ENCRYPT1
	VLD1.P 16(R1), [V27.B16]
	VEOR V27.B16, V0.B16, V0.B16
	ENCRYPT1
	VLD1.P 16(R1), [V27.B16]
	VEOR V27.B16, V0.B16, V0.B16
	ENCRYPT1
	VST1.P [V0.B16], 16(R0)
	SUBS $1, R2, R2
	BNE  one

done:
	RET
