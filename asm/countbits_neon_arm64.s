//go:build arm64 && !purego

#include "textflag.h"

// FOLD ors to each bit of V0 to V3 the one DISTANCE above it.
#define FOLD(DISTANCE) \
	VUSHR $DISTANCE, V0.D2, V4.D2 \
	VUSHR $DISTANCE, V1.D2, V5.D2 \
	VUSHR $DISTANCE, V2.D2, V6.D2 \
	VUSHR $DISTANCE, V3.D2, V7.D2 \
	VORR  V4.B16, V0.B16, V0.B16  \
	VORR  V5.B16, V1.B16, V1.B16  \
	VORR  V6.B16, V2.B16, V2.B16  \
	VORR  V7.B16, V3.B16, V3.B16

// POPULATION makes the bytes of V the numbers of those of their bits that V16 has.
#define POPULATION(V) \
	VAND V16.B16, V.B16, V.B16 \
	VCNT V.B16, V.B16

// func countCellsNEON(lines *[8]uint64, count, width int, low uint64) (cells uint64)
//
// A cell's lowest bit becomes the union of all its bits, in as many steps as its width
// needs.
TEXT ·countCellsNEON(SB), NOSPLIT, $0-40
	MOVD lines+0(FP), R0
	MOVD count+8(FP), R1
	MOVD width+16(FP), R2
	MOVD low+24(FP), R3
	VDUP R3, V16.D2
	MOVD ZR, R4

line:
	VLD1.P 64(R0), [V0.D2, V1.D2, V2.D2, V3.D2]
	CMP  $1, R2
	BEQ  fold
	CMP  $4, R2
	BLE  planes
	FOLD(1)
	FOLD(2)
	FOLD(4)
	CMP  $8, R2
	BEQ  fold
	FOLD(8)

fold:
	POPULATION(V0)
	POPULATION(V1)
	POPULATION(V2)
	POPULATION(V3)

count:
	VADD V1.B16, V0.B16, V0.B16
	VADD V3.B16, V2.B16, V2.B16
	VADD V2.B16, V0.B16, V0.B16
	VUADDLV V0.B16, V0
	VMOV V0.H[0], R5
	ADD  R5, R4, R4
	SUBS $1, R1, R1
	BNE  line
	MOVD R4, cells+32(FP)
	RET

planes:
	// The first plane becomes the union of all, the rest nothing.
	VORR V2.B16, V0.B16, V0.B16
	VORR V3.B16, V1.B16, V1.B16
	VEOR V2.B16, V2.B16, V2.B16
	VEOR V3.B16, V3.B16, V3.B16
	CMP  $2, R2
	BEQ  each
	VORR V1.B16, V0.B16, V0.B16
	VEOR V1.B16, V1.B16, V1.B16

each:
	VCNT V0.B16, V0.B16
	VCNT V1.B16, V1.B16
	B    count
