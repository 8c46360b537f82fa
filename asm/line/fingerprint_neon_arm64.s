// SPDX-License-Identifier: Apache-2.0

//go:build arm64 && !purego

#include "textflag.h"
#include "common_arm64.h"

// Fingerprint rows that are lines, a line four registers (Advanced SIMD). Registers are
// as in common_arm64.h: R5 collects the elements that were not found, and R6 the elements
// whose row had an empty cell before (with random evictions, whose row had none).

// The places of a batch's patterns and victims, when R1 has moved on by one element.
#define PATTERN 504
#define VICTIM 1016

// BEGIN sets R12 to the masks, V20 to a bit for each of eight bytes, V21 to 0, and leaves
// the eviction in R4.
#define BEGIN \
	BEGINHALVES                      \
	MOVBU eviction+32(FP), R4        \
	MOVD  $lineMasks<>(SB), R12      \
	MOVD  $0x8040201008040201, R8    \
	VDUP  R8, V20.D2                 \
	VEOR  V21.B16, V21.B16, V21.B16

// LINE fetches and loads lines as LOADLINE does, and the pattern of this one to V4.
#define LINE \
	LOADLINE               \
	MOVD   PATTERN(R1), R8 \
	VDUP   R8, V4.D2

// COMPARE sets the cells of V5 to V8 that equal the cells of V.
#define COMPARE(V, CELLS) \
	VCMEQ V.CELLS, V0.CELLS, V5.CELLS \
	VCMEQ V.CELLS, V1.CELLS, V6.CELLS \
	VCMEQ V.CELLS, V2.CELLS, V7.CELLS \
	VCMEQ V.CELLS, V3.CELLS, V8.CELLS

// HALVE2 packs the lower halves of V5 to V8 into two registers, and HALVE1 these into
// one.
#define HALVE2(HALVES) \
	VUZP1 V6.HALVES, V5.HALVES, V5.HALVES \
	VUZP1 V8.HALVES, V7.HALVES, V6.HALVES

#define HALVE1(HALVES) \
	VUZP1 V6.HALVES, V5.HALVES, V5.HALVES

// GATHER makes a bit of each byte of V5 and V6, and sums up the bits of eight bytes in
// one.
#define GATHER \
	VAND  V20.B16, V5.B16, V5.B16 \
	VAND  V20.B16, V6.B16, V6.B16 \
	VADDP V6.B16, V5.B16, V5.B16  \
	VADDP V5.B16, V5.B16, V5.B16  \
	VADDP V5.B16, V5.B16, V5.B16

// BITSH, BITSS and BITSD set R to the cells that are set in V5 to V8, a bit each.
#define BITSH(R) \
	HALVE2(B16)        \
	GATHER             \
	VMOV  V5.S[0], R

#define BITSS(R) \
	HALVE2(H8)         \
	HALVE1(B16)        \
	GATHER             \
	VMOV  V5.H[0], R

#define BITSD(R) \
	HALVE2(S4)         \
	HALVE1(H8)         \
	HALVE1(B16)        \
	GATHER             \
	VMOV  V5.B[0], R

// COLLECT shifts a bit into TO, 1 if R is 0.
#define COLLECT(R, TO) \
	NEGS R, R9      \
	ADC  TO, TO, TO

// MOVE moves the cells of SIZE bytes, 2^SHIFT, on by one, and the pattern in front, and
// stores all but the last R8 cells.
#define MOVE(SIZE, SHIFT) \
	ADD  R8<<SHIFT, R12, R8                           \
	VLD1 (R8), [V16.B16, V17.B16, V18.B16, V19.B16]   \
	VEXT $(16-SIZE), V0.B16, V4.B16, V5.B16           \
	VEXT $(16-SIZE), V1.B16, V0.B16, V6.B16           \
	VEXT $(16-SIZE), V2.B16, V1.B16, V7.B16           \
	VEXT $(16-SIZE), V3.B16, V2.B16, V8.B16           \
	VBIT V16.B16, V5.B16, V0.B16                      \
	VBIT V17.B16, V6.B16, V1.B16                      \
	VBIT V18.B16, V7.B16, V2.B16                      \
	VBIT V19.B16, V8.B16, V3.B16                      \
	VST1 [V0.B16, V1.B16, V2.B16, V3.B16], (R7)

// CHOOSE sets R9 to the number of the cell to write: the one that matches (R8), or the
// first empty one (R10), or the victim. If there is no victim either, R9 is 64, and R7
// becomes R11, where this cell is discarded.
#define CHOOSE \
	COLLECT(R8, R5)         \
	COLLECT(R10, R6)        \
	MOVD VICTIM(R1), R9     \
	CSEL EQ, R9, R10, R10   \
	CMP  $0, R8             \
	CSEL EQ, R10, R8, R9    \
	CMP  $0, R9             \
	CSEL EQ, R11, R7, R7    \
	RBIT R9, R9             \
	CLZ  R9, R9

#define END \
	MOVD R5, missed+40(FP) \
	MOVD R6, filled+48(FP) \
	RET

// KERNEL is the three loops over lines of CELLS cells, SIZE bytes each, 2^SHIFT: LANES
// are a register's cells, BITS is the macro for the cells, GET and PUT load and store
// one, and LAST is the last. Each loop except the first leaves in R8 the number of cells
// that stay in place, at the end of the line.
#define KERNEL(CELLS, SIZE, SHIFT, LANES, BITS, GET, PUT, LAST) \
	BEGIN                        \
	CMP  $1, R4                  \
	BEQ  lru                     \
	BGT  queue                   \
	MOVD $missed+40(FP), R11     \
	SUB  $(64*SIZE), R11, R11    \
random:                              \
	LINE                         \
	COMPARE(V4, LANES)           \
	BITS(R8)                     \
	COMPARE(V21, LANES)          \
	BITS(R10)                    \
	CHOOSE                       \
	ADD  R9<<SHIFT, R7, R7       \
	MOVD PATTERN(R1), R8         \
	PUT  R8, (R7)                \
	NEXT(random)                 \
	BIC  R6, R5, R6              \
	END                          \
lru:                                 \
	LINE                         \
	COMPARE(V4, LANES)           \
	BITS(R8)                     \
	GET  LAST, R10               \
	COLLECT(R10, R6)             \
	COLLECT(R8, R5)              \
	ORR  $(1<<(CELLS-1)), R8, R8 \
	RBIT R8, R8                  \
	CLZ  R8, R8                  \
	EOR  $(CELLS-1), R8, R8      \
	MOVE(SIZE, SHIFT)            \
	NEXT(lru)                    \
	AND  R5, R6, R6              \
	END                          \
queue:                               \
	LINE                         \
	COMPARE(V4, LANES)           \
	BITS(R8)                     \
	GET  LAST, R10               \
	COLLECT(R10, R6)             \
	COLLECT(R8, R5)              \
	MOVD ZR, R8                  \
	MOVE(SIZE, SHIFT)            \
	NEXT(queue)                  \
	END

// Ones, then zeros: from byte 64-n on, the first n bytes of a line are set.
DATA lineMasks<>+0(SB)/8, $-1
DATA lineMasks<>+8(SB)/8, $-1
DATA lineMasks<>+16(SB)/8, $-1
DATA lineMasks<>+24(SB)/8, $-1
DATA lineMasks<>+32(SB)/8, $-1
DATA lineMasks<>+40(SB)/8, $-1
DATA lineMasks<>+48(SB)/8, $-1
DATA lineMasks<>+56(SB)/8, $-1
GLOBL lineMasks<>(SB), RODATA|NOPTR, $128

// func lines32x16NEON(lines *[8]uint64, current, ahead *batch, n int, eviction Eviction) (missed, filled uint64)
TEXT ·lines32x16NEON(SB), NOSPLIT, $0-56
	KERNEL(32, 2, 1, H8, BITSH, MOVHU, MOVH, 62(R7))

// func lines16x32NEON(lines *[8]uint64, current, ahead *batch, n int, eviction Eviction) (missed, filled uint64)
TEXT ·lines16x32NEON(SB), NOSPLIT, $0-56
	KERNEL(16, 4, 2, S4, BITSS, MOVWU, MOVW, 60(R7))

// func lines8x64NEON(lines *[8]uint64, current, ahead *batch, n int, eviction Eviction) (missed, filled uint64)
TEXT ·lines8x64NEON(SB), NOSPLIT, $0-56
	KERNEL(8, 8, 3, D2, BITSD, MOVD, MOVD, 56(R7))
