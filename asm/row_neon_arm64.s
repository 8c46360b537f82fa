//go:build arm64 && !purego

#include "textflag.h"
#include "row_arm64.h"

// Fingerprint rows that are lines, a line four registers (Advanced SIMD). Registers are
// those of row_arm64.h: R5 collects the elements that were not found, R6 counts the cells
// that were filled.

// Where a rowBlock has its patterns and victims, when R1 has moved on by one element.
#define PATTERN 504
#define VICTIM 1016

// BEGIN makes R12 the masks, V20 a bit for each of eight bytes, V21 nothing, and
// leaves the eviction in R4.
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

// COMPARE sets the cells of V5 to V8 that are those of V.
#define COMPARE(V, CELLS) \
	VCMEQ V.CELLS, V0.CELLS, V5.CELLS \
	VCMEQ V.CELLS, V1.CELLS, V6.CELLS \
	VCMEQ V.CELLS, V2.CELLS, V7.CELLS \
	VCMEQ V.CELLS, V3.CELLS, V8.CELLS

// HALVE2 makes two registers of V5 to V8, of the lower halves of what they have,
// and HALVE1 one of these.
#define HALVE2(HALVES) \
	VUZP1 V6.HALVES, V5.HALVES, V5.HALVES \
	VUZP1 V8.HALVES, V7.HALVES, V6.HALVES

#define HALVE1(HALVES) \
	VUZP1 V6.HALVES, V5.HALVES, V5.HALVES

// GATHER makes a bit of each byte of V5 and V6, and sums up the bits of eight of
// them in a byte.
#define GATHER \
	VAND  V20.B16, V5.B16, V5.B16 \
	VAND  V20.B16, V6.B16, V6.B16 \
	VADDP V6.B16, V5.B16, V5.B16  \
	VADDP V5.B16, V5.B16, V5.B16  \
	VADDP V5.B16, V5.B16, V5.B16

// BITSH, BITSS and BITSD make R the cells that are set in V5 to V8, a bit each.
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

// MISS collects whether no cell matches (R8).
#define MISS \
	CMP  $0, R8        \
	CSET EQ, R9        \
	ADD  R5<<1, R9, R5

// LASTEMPTY counts the element if none matches and the last cell, AT bytes behind
// the first, is 0.
#define LASTEMPTY(MOV, AT) \
	MOV  AT(R7), R9    \
	ORR  R8, R9, R9    \
	CMP  $0, R9        \
	CINC EQ, R6, R6

// FRONT makes R8 the number of bytes behind the first cell that matches, 0 if there
// is none. TOP is the last cell and LAST its number, 2^SHIFT bytes a cell.
#define FRONT(TOP, LAST, SHIFT) \
	MISS               \
	ORR  $TOP, R8, R8  \
	RBIT R8, R8        \
	CLZ  R8, R8        \
	EOR  $LAST, R8, R8 \
	LSL  $SHIFT, R8, R8

// ALL makes R8 the number of bytes behind the cells that move: none, or all if one
// matches.
#define ALL \
	MISS               \
	EOR  $1, R9, R8    \
	LSL  $6, R8, R8

// MOVE moves the cells of SIZE bytes on by one, and the pattern in front, and stores
// all but the last R8 bytes.
#define MOVE(SIZE, LOOP) \
	ADD  R12, R8, R8                                  \
	VLD1 (R8), [V16.B16, V17.B16, V18.B16, V19.B16]   \
	VEXT $(16-SIZE), V0.B16, V4.B16, V5.B16           \
	VEXT $(16-SIZE), V1.B16, V0.B16, V6.B16           \
	VEXT $(16-SIZE), V2.B16, V1.B16, V7.B16           \
	VEXT $(16-SIZE), V3.B16, V2.B16, V8.B16           \
	VBIT V16.B16, V5.B16, V0.B16                      \
	VBIT V17.B16, V6.B16, V1.B16                      \
	VBIT V18.B16, V7.B16, V2.B16                      \
	VBIT V19.B16, V8.B16, V3.B16                      \
	VST1 [V0.B16, V1.B16, V2.B16, V3.B16], (R7)       \
	SUBS $1, R3, R3                                   \
	BNE  LOOP

// CHOOSE makes R9 the number of the cell that is written: of the one that matches
// (R8), or the first empty one (R10), or the victim.
#define CHOOSE \
	MISS                 \
	CMP  $0, R10         \
	CSEL EQ, ZR, R9, R9  \
	ADD  R9, R6, R6      \
	MOVD VICTIM(R1), R9  \
	CSEL EQ, R9, R10, R9 \
	CMP  $0, R8          \
	CSEL EQ, R9, R8, R9  \
	RBIT R9, R9          \
	CLZ  R9, R9

// PUT stores the pattern in cell R9 of 2^SHIFT bytes.
#define PUT(SHIFT, MOV, LOOP) \
	ADD  R9<<SHIFT, R7, R7 \
	MOVD PATTERN(R1), R8   \
	MOV  R8, (R7)          \
	SUBS $1, R3, R3        \
	BNE  LOOP

#define END \
	MOVD R5, missed+40(FP) \
	MOVD R6, filled+48(FP) \
	RET

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

// func lines32x16NEON(lines *[8]uint64, block, next *rowBlock, n int, eviction Eviction) (missed, filled uint64)
TEXT ·lines32x16NEON(SB), NOSPLIT, $0-56
	BEGIN
	CMP $1, R4
	BEQ fifo
	CMP $2, R4
	BEQ lru
	BGT queue

random:
	LINE
	COMPARE(V4, H8)
	BITSH(R8)
	COMPARE(V21, H8)
	BITSH(R10)
	CHOOSE
	PUT(1, MOVH, random)
	HALF(random)
	END

fifo:
	LINE
	COMPARE(V4, H8)
	BITSH(R8)
	LASTEMPTY(MOVHU, 62)
	ALL
	MOVE(2, fifo)
	HALF(fifo)
	END

lru:
	LINE
	COMPARE(V4, H8)
	BITSH(R8)
	LASTEMPTY(MOVHU, 62)
	FRONT(0x80000000, 31, 1)
	MOVE(2, lru)
	HALF(lru)
	END

queue:
	LINE
	COMPARE(V4, H8)
	BITSH(R8)
	MISS
	MOVD ZR, R8
	LASTEMPTY(MOVHU, 62)
	MOVE(2, queue)
	HALF(queue)
	END

// func lines16x32NEON(lines *[8]uint64, block, next *rowBlock, n int, eviction Eviction) (missed, filled uint64)
TEXT ·lines16x32NEON(SB), NOSPLIT, $0-56
	BEGIN
	CMP $1, R4
	BEQ fifo
	CMP $2, R4
	BEQ lru
	BGT queue

random:
	LINE
	COMPARE(V4, S4)
	BITSS(R8)
	COMPARE(V21, S4)
	BITSS(R10)
	CHOOSE
	PUT(2, MOVW, random)
	HALF(random)
	END

fifo:
	LINE
	COMPARE(V4, S4)
	BITSS(R8)
	LASTEMPTY(MOVWU, 60)
	ALL
	MOVE(4, fifo)
	HALF(fifo)
	END

lru:
	LINE
	COMPARE(V4, S4)
	BITSS(R8)
	LASTEMPTY(MOVWU, 60)
	FRONT(0x8000, 15, 2)
	MOVE(4, lru)
	HALF(lru)
	END

queue:
	LINE
	COMPARE(V4, S4)
	BITSS(R8)
	MISS
	MOVD ZR, R8
	LASTEMPTY(MOVWU, 60)
	MOVE(4, queue)
	HALF(queue)
	END

// func lines8x64NEON(lines *[8]uint64, block, next *rowBlock, n int, eviction Eviction) (missed, filled uint64)
TEXT ·lines8x64NEON(SB), NOSPLIT, $0-56
	BEGIN
	CMP $1, R4
	BEQ fifo
	CMP $2, R4
	BEQ lru
	BGT queue

random:
	LINE
	COMPARE(V4, D2)
	BITSD(R8)
	COMPARE(V21, D2)
	BITSD(R10)
	CHOOSE
	PUT(3, MOVD, random)
	HALF(random)
	END

fifo:
	LINE
	COMPARE(V4, D2)
	BITSD(R8)
	LASTEMPTY(MOVD, 56)
	ALL
	MOVE(8, fifo)
	HALF(fifo)
	END

lru:
	LINE
	COMPARE(V4, D2)
	BITSD(R8)
	LASTEMPTY(MOVD, 56)
	FRONT(0x80, 7, 3)
	MOVE(8, lru)
	HALF(lru)
	END

queue:
	LINE
	COMPARE(V4, D2)
	BITSD(R8)
	MISS
	MOVD ZR, R8
	LASTEMPTY(MOVD, 56)
	MOVE(8, queue)
	HALF(queue)
	END
