//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"

// Timed rows (AVX-512): a line is one register, cells in lanes 0 to 5.
//
//	DI lines         SI digests    BX ticks     R9 seen
//	R8 their number  R10 timedRow  CX element   R11 the word of seen
//	DX its line      R12 its mark  R13 its cell Z16 low, eight times

// AHEAD is how many elements before its turn a line is fetched.
#define AHEAD 32

// NEAREST sets A and B to the distances from the time of mark A to that of R12,
// both ways round.
#define NEAREST(A, B) \
	MOVQ R12, B                         \
	SUBQ A, B                           \
	SUBQ R12, A                         \
	ANDQ timedRow_tickMask(R10), A      \
	ANDQ timedRow_tickMask(R10), B

// func testAndSetTimedAVX512(lines *[8]uint64, count int, seen *uint64, digests *Digest, ticks *int64, points *uint32, from, n int, r *timedRow, c *TimedCounts) (next int)
TEXT ·testAndSetTimedAVX512(SB), NOSPLIT, $0-88
	MOVQ lines+0(FP), DI
	MOVQ count+8(FP), R8
	MOVQ seen+16(FP), R9
	MOVQ digests+24(FP), SI
	MOVQ ticks+32(FP), BX
	MOVQ from+48(FP), CX
	MOVQ r+64(FP), R10
	VPBROADCASTQ timedRow_low(R10), Z16
	MOVL  $0x3e, AX
	KMOVB AX, K2
	MOVL  $0x40, AX
	KMOVB AX, K3
	MOVL  $0x80, AX
	KMOVB AX, K4
	XORQ  R11, R11
	TESTQ $63, CX
	JZ    element
	MOVQ  CX, AX
	SHRQ  $6, AX
	MOVQ  (R9)(AX*8), R11

element:
	CMPQ CX, n+56(FP)
	JGE  done
	LEAQ AHEAD(CX), AX
	CMPQ AX, n+56(FP)
	JGE  near
	SHLQ $4, AX
	MOVQ 8(SI)(AX*1), AX
	MULQ R8
	SHLQ $6, DX
	PREFETCHT0 (DI)(DX*1)

near:
	// Only the least integer, NoTick, has no negative.
	MOVQ (BX)(CX*8), R12
	MOVQ R12, AX
	NEGQ AX
	JO   next

	// The fingerprint, with the era mixed in, to R15; the line to DX.
	MOVQ  R12, R15
	SUBQ  timedRow_origin(R10), R15
	MOVQ  timedRow_tickBits(R10), AX
	DECQ  AX
	SHRXQ AX, R15, R15
	MOVQ  $const_eraHash, AX
	IMULQ AX, R15
	MOVQ  CX, AX
	SHLQ  $4, AX
	XORQ  (SI)(AX*1), R15
	MOVQ  8(SI)(AX*1), AX
	MULQ  R8
	SHLQ  $6, DX
	ADDQ  DI, DX

	// The mark: the time, and the point if there are points.
	ANDQ  timedRow_tickMask(R10), R12
	MOVQ  points+40(FP), AX
	TESTQ AX, AX
	JZ    marked
	MOVL  (AX)(CX*4), AX
	MOVQ  $1, R14
	MOVQ  timedRow_pointBits(R10), R13
	SHLXQ R13, R14, R14
	DECQ  R14
	CMPQ  AX, R14
	JCS   reduced
	IMULL $const_pointHash, AX
	NEGQ  R13
	ADDQ  $32, R13
	SHRXQ R13, AX, AX

reduced:
	MOVQ  timedRow_tickBits(R10), R13
	SHLXQ R13, AX, AX
	ORQ   AX, R12

marked:
	// The cell's word: the fingerprint, which is not 0, and what fits of the mark.
	MOVQ  timedRow_low(R10), R14
	ANDNQ R15, R14, R13
	LEAQ  1(R14), AX
	CMPQ  R13, AX
	CMOVQCS AX, R13
	MOVQ  R12, AX
	ANDQ  R14, AX
	ORQ   AX, R13

	VPBROADCASTQ R13, Z1
	VMOVDQU64 (DX), Z0
	VPXORQ Z0, Z1, Z2
	VPCMPUQ $2, Z16, Z2, K1
	KMOVB K1, AX
	ANDL  $0x3f, AX
	JNZ   found

	// It takes the first cell, the others move on. Was the last one still needed?
	MOVQ  40(DX), AX
	TESTQ AX, AX
	JZ    insert
	ANDQ  R14, AX
	MOVQ  56(DX), R15
	SHRQ  $42, R15
	MOVQ  timedRow_lowBits(R10), R14
	SHLXQ R14, R15, R15
	ORQ   R15, AX
	NEAREST(AX, R15)
	MOVQ  c+72(FP), R14
	CMPQ  AX, R15
	CMOVQHI R15, AX
	XORL  R15, R15
	CMPQ  AX, timedRow_window(R10)
	SETLS R15
	ADDQ  R15, TimedCounts_EvictedLive(R14)

insert:
	MOVQ  c+72(FP), R14
	INCQ  TimedCounts_Inserted(R14)
	MOVQ  48(DX), R15
	MOVQ  56(DX), R14
	MOVQ  R15, AX
	SHRQ  $42, AX
	SHLQ  $21, R14
	ORQ   AX, R14
	BTRQ  $63, R14
	MOVQ  timedRow_lowBits(R10), AX
	SHRXQ AX, R12, AX
	SHLQ  $21, R15
	ORQ   AX, R15
	BTRQ  $63, R15
	VPEXPANDQ Z0, K2, Z1
	VPBROADCASTQ R15, K3, Z1
	VPBROADCASTQ R14, K4, Z1
	VMOVDQU64 Z1, (DX)

next:
	INCQ  CX
	TESTQ $63, CX
	JNZ   element
	MOVQ  CX, AX
	SHRQ  $6, AX
	MOVQ  R11, -8(R9)(AX*8)
	XORQ  R11, R11
	JMP   element

found:
	// The mark of the first such cell to R13.
	CMPB  timedRow_refresh(R10), $0
	JNE   slow
	TZCNTL AX, AX
	MOVQ  (DX)(AX*8), R13
	ANDQ  R14, R13
	MOVQ  48(DX), R15
	LEAQ  -3(AX), R14
	CMPQ  AX, $3
	CMOVQCC R14, AX
	CMOVQCC 56(DX), R15
	IMULQ $21, AX
	SHRXQ AX, R15, R15
	ANDQ  $0x1fffff, R15
	MOVQ  timedRow_lowBits(R10), AX
	SHLXQ AX, R15, R15
	ORQ   R15, R13
	CMPB  timedRow_across(R10), $0
	JEQ   time
	MOVQ  R13, R14
	XORQ  R12, R14
	MOVQ  timedRow_tickMask(R10), AX
	ANDNQ R14, AX, R14
	TESTQ R14, R14
	JZ    slow

time:
	NEAREST(R13, R15)
	CMPQ  R13, R15
	CMOVQHI R15, R13
	CMPQ  R13, timedRow_window(R10)
	JHI   slow
	BTSQ  CX, R11
	JMP   next

done:
	TESTQ $63, CX
	JZ    return

slow:
	MOVQ  CX, AX
	SHRQ  $6, AX
	MOVQ  R11, (R9)(AX*8)

return:
	MOVQ  CX, next+80(FP)
	VZEROUPPER
	RET
