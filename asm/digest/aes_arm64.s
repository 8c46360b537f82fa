//go:build arm64 && !purego

#include "textflag.h"

// AES on one block a register (the AES extension), eight at a time. The round
// keys stand in V16 to V26. AESE adds its key before the substitution, so a
// round here is the key of one round and the rest of the next.

// KEYS loads the round keys from R3.
#define KEYS \
	VLD1.P 64(R3), [V16.B16, V17.B16, V18.B16, V19.B16] \
	VLD1.P 64(R3), [V20.B16, V21.B16, V22.B16, V23.B16] \
	VLD1 (R3), [V24.B16, V25.B16, V26.B16]

#define ROUND1(KEY, S) \
	AESE  KEY.B16, S.B16 \
	AESMC S.B16, S.B16

#define ROUND8(KEY) \
	ROUND1(KEY, V0) \
	ROUND1(KEY, V1) \
	ROUND1(KEY, V2) \
	ROUND1(KEY, V3) \
	ROUND1(KEY, V4) \
	ROUND1(KEY, V5) \
	ROUND1(KEY, V6) \
	ROUND1(KEY, V7)

#define LAST1(S) \
	AESE V25.B16, S.B16 \
	VEOR V26.B16, S.B16, S.B16

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

#define ENCRYPT1 \
	ROUND1(V16, V0) \
	ROUND1(V17, V0) \
	ROUND1(V18, V0) \
	ROUND1(V19, V0) \
	ROUND1(V20, V0) \
	ROUND1(V21, V0) \
	ROUND1(V22, V0) \
	ROUND1(V23, V0) \
	ROUND1(V24, V0) \
	LAST1(V0)

// func encryptNEON(dst, src *Digest, n int, schedule *aesSchedule)
TEXT ·encryptNEON(SB), NOSPLIT, $0-32
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD n+16(FP), R2
	MOVD schedule+24(FP), R3
	KEYS
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
	KEYS
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

// ADDLANE adds the next block of a lane, whose offset is the next at R7.
#define ADDLANE(S) \
	MOVD.P 8(R7), R8            \
	ADD    R6, R8, R8           \
	VLD1   (R8), [V27.B16]      \
	VEOR   V27.B16, S.B16, S.B16

// func advanceNEON(l *lanes, buf *byte, steps uint64, schedule *aesSchedule)
//
// Two halves of eight lanes, one after the other. Offsets stand behind the 256
// bytes of states.
TEXT ·advanceNEON(SB), NOSPLIT, $0-32
	MOVD l+0(FP), R0
	MOVD buf+8(FP), R1
	MOVD schedule+24(FP), R3
	KEYS
	ADD  $256, R0, R4
	MOVD $2, R5

half:
	MOVD steps+16(FP), R2
	MOVD R1, R6
	MOVD R0, R9
	VLD1.P 64(R9), [V0.B16, V1.B16, V2.B16, V3.B16]
	VLD1.P 64(R9), [V4.B16, V5.B16, V6.B16, V7.B16]

step:
	MOVD R4, R7
	ADDLANE(V0)
	ADDLANE(V1)
	ADDLANE(V2)
	ADDLANE(V3)
	ADDLANE(V4)
	ADDLANE(V5)
	ADDLANE(V6)
	ADDLANE(V7)
	ENCRYPT8
	ADD  $16, R6, R6
	SUBS $1, R2, R2
	BNE  step
	VST1.P [V0.B16, V1.B16, V2.B16, V3.B16], 64(R0)
	VST1.P [V4.B16, V5.B16, V6.B16, V7.B16], 64(R0)
	ADD  $64, R4, R4
	SUBS $1, R5, R5
	BNE  half
	RET

// HEADER1 makes the first block of the next message that R9 lists, and notes where its
// other blocks begin and how many bytes the last one has. R6 is how many come before
// that. The first word of a Message, moved right by 32 bits, is the length.
#define HEADER1(S, AT, LAST) \
	MOVHU.P 2(R9), R7          \
	ADD     R7<<4, R2, R7      \
	LDP     (R7), (R7, R8)     \
	ADD     R7.UXTW, R1, AT    \
	LSR     $32, R7, R7        \
	VMOV    R7, S.D[0]         \
	VMOV    R8, S.D[1]         \
	SUB     R6, R7, LAST

// BLOCK1 adds the next block of a message.
#define BLOCK1(S, AT) \
	VLD1.P 16(AT), [V27.B16]   \
	VEOR   V27.B16, S.B16, S.B16

// LAST1BLOCK adds the last block of a message. It loads the 16 bytes that end where the
// message ends, and moves the last block to the front of them, so it reads nothing beyond.
#define LAST1BLOCK(S, AT, LAST) \
	ADD   LAST, AT, R7                     \
	FMOVQ -16(R7), F27                     \
	SUB   LAST, R3, R8                     \
	VLD1  (R8), [V28.B16]                  \
	VTBL  V28.B16, [V27.B16], V27.B16      \
	VEOR  V27.B16, S.B16, S.B16

// STORE1 writes the digest of the next message that R4 lists to its place.
#define STORE1(S) \
	MOVHU.P 2(R4), R7          \
	ADD     R7<<4, R0, R7      \
	VST1    [S.B16], (R7)

// The 16 bytes that begin n bytes before the middle. As the indexes of VTBL they would be
// 16-n to 15, and then zeros.
DATA ·lastBytes+0x00(SB)/8, $0x0706050403020100
DATA ·lastBytes+0x08(SB)/8, $0x0f0e0d0c0b0a0908
DATA ·lastBytes+0x10(SB)/8, $0x8080808080808080
DATA ·lastBytes+0x18(SB)/8, $0x8080808080808080
GLOBL ·lastBytes(SB), RODATA|NOPTR, $32

// func sumEqualNEON(dst *Digest, buf *byte, msgs *Message, order *uint16, groups, length int, schedule *aesSchedule)
TEXT ·sumEqualNEON(SB), NOSPLIT, $0-56
	MOVD schedule+48(FP), R3
	KEYS
	MOVD dst+0(FP), R0
	MOVD buf+8(FP), R1
	MOVD msgs+16(FP), R2
	MOVD order+24(FP), R4
	MOVD groups+32(FP), R5
	MOVD length+40(FP), R6
	SUB  $1, R6, R6
	LSL  $4, R6, R6
	MOVD $·lastBytes+16(SB), R3

group:
	MOVD R4, R9
	HEADER1(V0, R10, R19)
	HEADER1(V1, R11, R20)
	HEADER1(V2, R12, R21)
	HEADER1(V3, R13, R22)
	HEADER1(V4, R14, R23)
	HEADER1(V5, R15, R24)
	HEADER1(V6, R16, R25)
	HEADER1(V7, R17, R26)
	ENCRYPT8
	MOVD R6, R9

step:
	BLOCK1(V0, R10)
	BLOCK1(V1, R11)
	BLOCK1(V2, R12)
	BLOCK1(V3, R13)
	BLOCK1(V4, R14)
	BLOCK1(V5, R15)
	BLOCK1(V6, R16)
	BLOCK1(V7, R17)
	ENCRYPT8
	SUBS $16, R9, R9
	BNE  step

	LAST1BLOCK(V0, R10, R19)
	LAST1BLOCK(V1, R11, R20)
	LAST1BLOCK(V2, R12, R21)
	LAST1BLOCK(V3, R13, R22)
	LAST1BLOCK(V4, R14, R23)
	LAST1BLOCK(V5, R15, R24)
	LAST1BLOCK(V6, R16, R25)
	LAST1BLOCK(V7, R17, R26)
	ENCRYPT8
	STORE1(V0)
	STORE1(V1)
	STORE1(V2)
	STORE1(V3)
	STORE1(V4)
	STORE1(V5)
	STORE1(V6)
	STORE1(V7)
	SUBS $1, R5, R5
	BNE  group
	RET
