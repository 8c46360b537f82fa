// SPDX-License-Identifier: Apache-2.0

//go:build arm64 && !purego

#include "textflag.h"

// AES on CPUs without its instructions, four blocks at a time. The S-box stands in V16 to V31: a
// lookup takes four instructions, each for 64 of its entries. Nothing is read at a place that
// depends on the key.
//
//	V0 to V3 blocks  V4 to V7 the same, substituted  V8 scratch
//	V15 round key  V9 the same and 0x1b, the product of x^7 and x less x^8; V10 0x1b
//	V11 64 in each byte  V14 x^7 in each byte
//	V12 for each byte, where ShiftRows takes it from; V13 the same for the next byte of its column

DATA ·aesOrders+0x00(SB)/8, $0x030e09040f0a0500
DATA ·aesOrders+0x08(SB)/8, $0x0b06010c07020d08
DATA ·aesOrders+0x10(SB)/8, $0x04030e09000f0a05
DATA ·aesOrders+0x18(SB)/8, $0x0c0b06010807020d
GLOBL ·aesOrders(SB), RODATA|NOPTR, $32

// FIRST sets R to the entries of bytes of S below 64, and to 0 elsewhere.
#define FIRST(S, R) \
	VTBL S.B16, [V16.B16, V17.B16, V18.B16, V19.B16], R.B16

// NEXT subtracts 64 from the bytes of S, and sets R where these are now below 64.
#define NEXT(S, R, A, B, C, D) \
	VSUB V11.B16, S.B16, S.B16 \
	VTBX S.B16, [A.B16, B.B16, C.B16, D.B16], R.B16

#define NEXT4(A, B, C, D) \
	NEXT(V0, V4, A, B, C, D) \
	NEXT(V1, V5, A, B, C, D) \
	NEXT(V2, V6, A, B, C, D) \
	NEXT(V3, V7, A, B, C, D)

// SUBSTITUTE is SubBytes (FIPS 197, section 5.1.1).
#define SUBSTITUTE \
	FIRST(V0, V4) \
	FIRST(V1, V5) \
	FIRST(V2, V6) \
	FIRST(V3, V7) \
	NEXT4(V20, V21, V22, V23) \
	NEXT4(V24, V25, V26, V27) \
	NEXT4(V28, V29, V30, V31)

// MIX is ShiftRows, MixColumns and AddRoundKey (sections 5.1.2 to 5.1.4). With bytes a, b, c, d
// of a column after ShiftRows it is 2(a+b) + b + (c+d). c+d is a+b, two bytes on. The round key comes
// with what reduces 2(a+b).
#define MIX(S, R) \
	VTBL   V12.B16, [R.B16], S.B16   \
	VTBL   V13.B16, [R.B16], R.B16   \
	VEOR   R.B16, S.B16, S.B16       \
	VCMTST V14.B16, S.B16, V8.B16    \
	VBSL   V15.B16, V9.B16, V8.B16   \
	VEOR   V8.B16, R.B16, R.B16      \
	VREV32 S.H8, V8.H8               \
	VEOR   V8.B16, R.B16, R.B16      \
	VADD   S.B16, S.B16, S.B16       \
	VEOR   R.B16, S.B16, S.B16

#define ROUND \
	VLD1.P 16(R4), [V15.B16]       \
	VEOR   V10.B16, V15.B16, V9.B16 \
	SUBSTITUTE                     \
	MIX(V0, V4)                    \
	MIX(V1, V5)                    \
	MIX(V2, V6)                    \
	MIX(V3, V7)

#define LAST(S, R) \
	VTBL V12.B16, [R.B16], S.B16  \
	VEOR V15.B16, S.B16, S.B16

#define ADDKEY(S) VEOR V15.B16, S.B16, S.B16

// func encryptTables(dst, src *Digest, n int, schedule *aesSchedule)
TEXT ·encryptTables(SB), NOSPLIT, $0-32
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD n+16(FP), R2
	MOVD schedule+24(FP), R3
	MOVD $·aesSBox(SB), R4
	VLD1.P 64(R4), [V16.B16, V17.B16, V18.B16, V19.B16]
	VLD1.P 64(R4), [V20.B16, V21.B16, V22.B16, V23.B16]
	VLD1.P 64(R4), [V24.B16, V25.B16, V26.B16, V27.B16]
	VLD1 (R4), [V28.B16, V29.B16, V30.B16, V31.B16]
	VMOVI $64, V11.B16
	MOVD $·aesOrders(SB), R4
	VLD1 (R4), [V12.B16, V13.B16]
	VMOVI $0x1b, V10.B16
	VMOVI $0x80, V14.B16

four:
	VLD1.P 64(R1), [V0.B16, V1.B16, V2.B16, V3.B16]
	MOVD   R3, R4
	VLD1.P 16(R4), [V15.B16]
	ADDKEY(V0)
	ADDKEY(V1)
	ADDKEY(V2)
	ADDKEY(V3)
	MOVD   $3, R5

rounds:
	ROUND
	ROUND
	ROUND
	SUBS   $1, R5, R5
	BNE    rounds
	VLD1   (R4), [V15.B16]
	SUBSTITUTE
	LAST(V0, V4)
	LAST(V1, V5)
	LAST(V2, V6)
	LAST(V3, V7)
	VST1.P [V0.B16, V1.B16, V2.B16, V3.B16], 64(R0)
	SUBS   $4, R2, R2
	BNE    four
	RET
