// SPDX-License-Identifier: Apache-2.0

//go:build arm64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "common_arm64.h"

// Coarse rows, a line four registers (Advanced SIMD). R4 is the coarseRule, R11 and R12
// are its bias, R15 and R16 its limit, R13 tooLate, R14 old, R19 the second row of its
// masks. R20 is the line's place in the log. R5 collects the hits, R6 the elements that
// are found: each bit is shifted in from below.

// BEGIN leaves the number of elements of the second half in the frame.
#define BEGIN \
	BEGINHALVES                          \
	MOVD R13, half-8(SP)                 \
	MOVD log+32(FP), R20                 \
	MOVD r+40(FP), R4                    \
	MOVD coarseRule_bias(R4), R11        \
	MOVD (coarseRule_bias+8)(R4), R12    \
	MOVD coarseRule_limit(R4), R15       \
	MOVD (coarseRule_limit+8)(R4), R16   \
	MOVD coarseRule_tooLate(R4), R13     \
	MOVD coarseRule_old(R4), R14         \
	MOVD coarseRule_masks(R4), R19       \
	ADD  $64, R19                        \
	MOVD $0x8040201008040201, R8         \
	VDUP R8, V20.D2                      \
	VEOR V23.B16, V23.B16, V23.B16

// CLOCK loads and logs the line. It sets R21 to the clock, R22 to the youth of the
// element, R23 to the aging of the cells, and R8 to the new cell.
#define CLOCK \
	LOADLINE                          \
	VST1.P [V0.B16, V1.B16, V2.B16, V3.B16], 64(R20) \
	MOVWU 60(R7), R21                 \
	MOVD  504(R1), R8                 \
	MOVWU 1016(R1), R24               \
	SUBW  R24, R21, R22               \
	SUBW  R21, R24, R23               \
	CMP   R14, R23                    \
	CSEL  HI, R14, R23, R23           \
	CMP   R13, R22                    \
	CSEL  HS, R24, R21, R21           \
	CSEL  HS, ZR, R22, R22            \
	CSEL  HS, R23, ZR, R23            \
	SUB   R22, R14, R22

// CHOOSE takes the bytes of cells that have the fingerprint in V5, and LAST, the bit of
// the last cell. It sets R9 to the number of the cell to remove, R25 to 1 if it has the
// fingerprint, and R17 and R26 to the values that JUDGE compares with.
#define CHOOSE(CELLS, LAST) \
	VEXT  $8, V5.B16, V5.B16, V6.B16  \
	VAND  V20.B16, V5.B16, V5.B16     \
	VAND  V20.B16, V6.B16, V6.B16     \
	VADDP V6.B16, V5.B16, V5.B16      \
	VADDP V5.B16, V5.B16, V5.B16      \
	VADDP V5.B16, V5.B16, V5.B16      \
	VMOV  V5.H[0], R9                 \
	ANDS  CELLS, R9, R9               \
	CSET  NE, R25                     \
	CSEL  NE, R11, R12, R17           \
	CSEL  NE, R15, R16, R26           \
	ADD   R6<<1, R25, R6              \
	ORR   LAST, R9, R9                \
	RBIT  R9, R9                      \
	CLZ   R9, R9

// JUDGE takes the youth of that cell in R10, before this element. It sets R10 to its youth
// now, and R24 to 1 if the element is a copy of it.
#define JUDGE \
	SUBS  R23, R10, R10               \
	CSEL  LO, ZR, R10, R10            \
	ADD   R17, R22, R24               \
	SUB   R10, R24, R24               \
	CMP   R26, R24                    \
	CSET  LO, R24                     \
	ADD   R5<<1, R24, R5              \
	AND   R25, R24, R24

// FIND ages the cells and finds the one to remove, for coarse cells. V21 is the bits of
// their youth.
#define FIND \
	CLOCK                             \
	VDUP  R8, V4.S4                   \
	VORR  V21.B16, V4.B16, V4.B16     \
	VORR  V21.B16, V0.B16, V5.B16     \
	VORR  V21.B16, V1.B16, V6.B16     \
	VORR  V21.B16, V2.B16, V7.B16     \
	VORR  V21.B16, V3.B16, V16.B16    \
	VCMEQ V4.S4, V5.S4, V5.S4         \
	VCMEQ V4.S4, V6.S4, V6.S4         \
	VCMEQ V4.S4, V7.S4, V7.S4         \
	VCMEQ V4.S4, V16.S4, V16.S4       \
	VUZP1 V6.H8, V5.H8, V5.H8         \
	VUZP1 V16.H8, V7.H8, V6.H8        \
	VUZP1 V6.B16, V5.B16, V5.B16      \
	VDUP  R23, V4.S4                  \
	VUMIN V4.B16, V0.B16, V16.B16     \
	VUMIN V4.B16, V1.B16, V17.B16     \
	VUMIN V4.B16, V2.B16, V18.B16     \
	VUMIN V4.B16, V3.B16, V19.B16     \
	VSUB  V16.B16, V0.B16, V0.B16     \
	VSUB  V17.B16, V1.B16, V1.B16     \
	VSUB  V18.B16, V2.B16, V2.B16     \
	VSUB  V19.B16, V3.B16, V3.B16     \
	CHOOSE($0x7fff, $0x4000)          \
	ADD   R9<<2, R7, R10              \
	MOVBU (R10), R10                  \
	JUDGE

// FINDFINE is FIND for fine cells. V21 is the bits of their youth in V3, and V22 the bits
// of their fingerprints there.
#define FINDFINE \
	CLOCK                             \
	VDUP  R8, V4.S4                   \
	LSR   $32, R8, R24                \
	VDUP  R24, V7.B16                 \
	VCMEQ V4.S4, V0.S4, V5.S4         \
	VCMEQ V4.S4, V1.S4, V6.S4         \
	VCMEQ V4.S4, V2.S4, V16.S4        \
	VEOR  V7.B16, V3.B16, V7.B16      \
	VAND  V22.B16, V7.B16, V7.B16     \
	VCMEQ V23.B16, V7.B16, V7.B16     \
	VUZP1 V6.H8, V5.H8, V5.H8         \
	VUZP1 V23.H8, V16.H8, V6.H8       \
	VUZP1 V6.B16, V5.B16, V5.B16      \
	VAND  V7.B16, V5.B16, V5.B16      \
	VDUP  R23, V4.B16                 \
	VAND  V21.B16, V3.B16, V16.B16    \
	VUMIN V4.B16, V16.B16, V16.B16    \
	VSUB  V16.B16, V3.B16, V3.B16     \
	CHOOSE($0xfff, $0x800)            \
	ADD   R7, R9, R10                 \
	MOVBU 48(R10), R10                \
	AND   $0x3f, R10, R10             \
	JUDGE

// KEEP makes a copy move no cell: no cell is before number -1.
#define KEEP \
	NEG  R24, R24      \
	ORR  R24, R9, R9

// RENEW sets R22 to the later time of a copy and its original.
#define RENEW \
	CMP  R22, R10              \
	CSEL HI, R10, R22, R10     \
	CMP  $0, R24               \
	CSEL NE, R10, R22, R22

// SHIFT sets V5 to V7 and V24 to the line with all double words moved on by one, behind that
// in V4.
#define SHIFT \
	VEXT $12, V0.B16, V4.B16, V5.B16                  \
	VEXT $12, V1.B16, V0.B16, V6.B16                  \
	VEXT $12, V2.B16, V1.B16, V7.B16                  \
	VEXT $12, V3.B16, V2.B16, V24.B16

// BLEND stores the line with the moved cells.
#define BLEND(LOOP) \
	ADD  R9<<6, R19, R9                               \
	VLD1 (R9), [V16.B16, V17.B16, V18.B16, V19.B16]   \
	VBIT V16.B16, V5.B16, V0.B16                      \
	VBIT V17.B16, V6.B16, V1.B16                      \
	VBIT V18.B16, V7.B16, V2.B16                      \
	VBIT V19.B16, V24.B16, V3.B16                     \
	VST1 [V0.B16, V1.B16, V2.B16, V3.B16], (R7)       \
	MOVW R21, 60(R7)                                  \
	SUBS $1, R3, R3                                   \
	BNE  LOOP

// MOVE moves the cells up to number R9 on by one, with the new cell in front, and stores
// the line.
#define MOVE(LOOP) \
	ORR  R22, R8, R8 \
	VDUP R8, V4.S4   \
	SHIFT            \
	BLEND(LOOP)

// MOVEFINE is MOVE for fine cells. The last quarter of the line moves on by a byte.
#define MOVEFINE(LOOP) \
	VDUP R8, V4.S4                    \
	LSR  $32, R8, R8                  \
	ORR  R22, R8, R8                  \
	SHIFT                             \
	VDUP R8, V4.B16                   \
	VEXT $15, V3.B16, V4.B16, V24.B16 \
	BLEND(LOOP)

// HALF goes on with the second half, if there is one.
#define HALF(LOOP) \
	MOVD ahead+16(FP), R2 \
	MOVD half-8(SP), R3   \
	MOVD ZR, half-8(SP)   \
	CBNZ R3, LOOP

#define END \
	MOVD R5, hits+48(FP)   \
	MOVD R6, found+56(FP)  \
	RET

// func coarseRowsNEON(lines *[8]uint64, current, ahead *batch, n int, log *coarseLog, r *coarseRule) (hits, found uint64)
TEXT ·coarseRowsNEON(SB), NOSPLIT, $16-64
	BEGIN
	MOVD  $0xff, R8
	VDUP  R8, V21.S4
	MOVBU coarseRule_refresh(R4), R8
	CBNZ  R8, refresh

plain:
	FIND
	KEEP
	MOVE(plain)
	HALF(plain)
	END

refresh:
	FIND
	RENEW
	MOVE(refresh)
	HALF(refresh)
	END

// func fineRowsNEON(lines *[8]uint64, current, ahead *batch, n int, log *coarseLog, r *coarseRule) (hits, found uint64)
TEXT ·fineRowsNEON(SB), NOSPLIT, $16-64
	BEGIN
	VMOVI $0x3f, V21.B16
	VMOVI $0xc0, V22.B16
	VMOV  ZR, V21.S[3]
	MOVBU coarseRule_refresh(R4), R8
	CBNZ  R8, refresh

plain:
	FINDFINE
	KEEP
	MOVEFINE(plain)
	HALF(plain)
	END

refresh:
	FINDFINE
	RENEW
	MOVEFINE(refresh)
	HALF(refresh)
	END
