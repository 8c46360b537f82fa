//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "cellline_amd64.h"

// Timer lines (AVX-512): a line is one register, and a set of its timers a mask. A
// slot has the lines, the masks of the elements' timers, and in all timers of a word
// the stamps of their ticks and the largest differences of live timers to these.
// Registers beside those of cellline_amd64.h:
//
//	R10 the rule                  Z31 1                  Z24 the lowest bits of timers
//	DI  the element's words       Z30 2^bits - 1         Z23 the window
//	CX  elements left of the      Z29 2^32 - 1           Z22 the window, in all timers
//	    group                     Z21 the same less 1    R15 count of timers that are not zero

#define ARGUMENTS \
	RINGBASE(ring-(RING+24)(SP))                       \
	MOVQ r+56(FP), R10                                 \
	MOVL $1, AX                                        \
	VPBROADCASTQ AX, Z31                               \
	VPBROADCASTQ TimerRule_period(R10), Z30            \
	MOVL $-1, AX                                       \
	VPBROADCASTQ AX, Z29                               \
	VPBROADCASTQ TimerRule_ones(R10), Z24              \
	VPBROADCASTQ TimerRule_window(R10), Z23            \
	VPMULLQ Z24, Z23, Z22                              \
	XORL R15, R15

// FOLD replaces Z5 by a smaller number that is equal modulo 2^SHIFT - 1, MASK: the upper
// bits are added to the lower ones. It never makes 0 of another number.
#define FOLD(SHIFT, MASK) \
	VPSRLQ $SHIFT, Z5, Z6                              \
	VPANDQ MASK, Z5, Z5                                \
	VPADDQ Z6, Z5, Z5

// STAMP8 and STAMP16 make Z5 the stamps of the ticks in Z5: tick + 1, not 0, folded
// until it fits. The sum of a number's bytes is equal to it modulo 255.
#define STAMP8 \
	VPXORQ Z6, Z6, Z6                                  \
	VPSADBW Z6, Z5, Z5                                 \
	VPADDQ Z31, Z5, Z5                                 \
	FOLD(8, Z30)                                       \
	FOLD(8, Z30)

#define STAMP16 \
	FOLD(32, Z29)                                      \
	FOLD(16, Z30)                                      \
	VPADDQ Z31, Z5, Z5                                 \
	FOLD(16, Z30)                                      \
	FOLD(16, Z30)

// PREPARE fills the slot of the group whose first element is number AX.
#define PREPARE(STAMP, PART) \
	LOCATE                                             \
	MOVQ ticks+32(FP), DX                              \
	VMOVDQU64.Z (DX)(AX*8), K4, Z5                     \
	STAMP                                              \
	VPCMPUQ $1, Z23, Z5, K5                            \
	VPMULLQ Z24, Z5, Z5                                \
	VMOVDQA64 Z5, 128(BX)                              \
	VPBLENDMQ Z22, Z21, K5, Z6                         \
	VMOVDQA64 Z6, 192(BX)                              \
	VPXORQ Z7, Z7, Z7                                  \
	MOVQ salts+48(FP), SI                              \
	LEAQ TimerRule_parts(R10), DI                      \
	MOVQ cellParts_k(DI), CX                           \
PART:                                                  \
	CELL(cellParts_size(DI), cellParts_start(DI))      \
	VPSLLVQ Z6, Z31, Z6                                \
	VPORQ Z6, Z7, Z7                                   \
	ADDQ $8, SI                                        \
	ADDQ $8, DI                                        \
	DECQ CX                                            \
	JNZ  PART                                          \
	VMOVDQA64 Z7, 64(BX)

// EQUAL has the mask of the element's timers in SI and those of them that are not live
// in BX. If fewer than R8 of its timers are equal it makes BX not 0. A group of
// R8 has one of the first K - R8 + 1 timers in it.
#define EQUAL(KMOV, WIDTH, BROADCAST, COMPARE, TIMER) \
	KMOV SI, K3                                        \
	MOVQ SI, R12                                       \
	MOVQ (TimerRule_parts+cellParts_k)(R10), R14       \
	SUBQ R8, R14                                       \
	XORL AX, AX                                        \
TIMER:                                                 \
	TZCNTQ R12, R13                                    \
	BLSRQ R12, R12                                     \
	BROADCAST (DX)(R13*WIDTH), Z3                      \
	COMPARE Z3, Z0, K3, K4                             \
	KMOV K4, R13                                       \
	POPCNTQ R13, R13                                   \
	CMPQ R13, AX                                       \
	CMOVQGT R13, AX                                    \
	DECQ R14                                           \
	JGE  TIMER                                         \
	XORL R13, R13                                      \
	CMPQ AX, R8                                        \
	SETCS R13                                          \
	ORQ  R13, BX

// KERNEL is the loop over all elements.
#define KERNEL(STAMP, SUB, TEST, COMPARE, KMOV, MOVE, WIDTH, BROADCAST, SAME) \
group:                                                 \
	MOVQ R8, AX                                        \
	SHLQ $3, AX                                        \
	MOVQ n+40(FP), CX                                  \
	SUBQ AX, CX                                        \
	JLE  take                                          \
	MOVL R8, DX                                        \
	SLOTOF(DX)                                         \
	PREPARE(STAMP, part)                               \
take:                                                  \
	LEAQ -AHEAD(R8), DI                                \
	INCQ R8                                            \
	TESTQ DI, DI                                       \
	JLT  group                                         \
	MOVQ DI, AX                                        \
	SHLQ $3, AX                                        \
	MOVQ n+40(FP), CX                                  \
	SUBQ AX, CX                                        \
	JLE  done                                          \
	MOVL $8, AX                                        \
	CMPQ CX, AX                                        \
	CMOVQGT AX, CX                                     \
	SLOTOF(DI)                                         \
	MOVQ BX, DI                                        \
element:                                               \
	MOVQ (DI), DX                                      \
	VMOVDQU64 (DX), Z0                                 \
	VPBROADCASTQ 128(DI), Z1                           \
	VPBROADCASTQ 192(DI), Z2                           \
	MOVQ 64(DI), SI                                    \
	TEST Z0, Z0, K1                                    \
	SUB  Z0, Z1, Z3                                    \
	COMPARE $2, Z2, Z3, K1, K2                         \
	KMOV K2, BX                                        \
	ANDNQ SI, BX, BX                                   \
	CMPQ TimerRule_equal(R10), $2                      \
	JCC  equal                                         \
decide:                                                \
	MOVQ TimerRule_refresh(R10), AX                    \
	ANDQ SI, AX                                        \
	XORL R14, R14                                      \
	TESTQ BX, BX                                       \
	CMOVQEQ R13, R14                                   \
	CMOVQEQ AX, SI                                     \
	ORQ  R14, R11                                      \
	KMOV SI, K3                                        \
	MOVE Z1, K3, Z0                                    \
	VMOVDQU64 Z0, (DX)                                 \
	KMOV K1, AX                                        \
	ANDNQ SI, AX, AX                                   \
	POPCNTQ AX, AX                                     \
	ADDQ AX, R15                                       \
	ADDQ $8, DI                                        \
	SHLQ $1, R13                                       \
	DECQ CX                                            \
	JNZ  element                                       \
	TESTQ R13, R13                                     \
	JNZ  group                                         \
	MOVQ R11, (R9)                                     \
	ADDQ $8, R9                                        \
	XORL R11, R11                                      \
	MOVL $1, R13                                       \
	JMP  group                                         \
equal:                                                 \
	MOVQ R8, group-8(SP)                               \
	MOVQ R12, base-16(SP)                              \
	MOVQ R13, bit-24(SP)                               \
	MOVQ TimerRule_equal(R10), R8                      \
	EQUAL(KMOV, WIDTH, BROADCAST, SAME, timer)         \
	MOVQ group-8(SP), R8                               \
	MOVQ base-16(SP), R12                              \
	MOVQ bit-24(SP), R13                               \
	JMP  decide                                        \
done:                                                  \
	CMPQ R13, $1                                       \
	JEQ  counts                                        \
	MOVQ R11, (R9)                                     \
counts:                                                \
	MOVQ c+64(FP), DX                                  \
	ADDQ R15, TimerCounts_NonZero(DX)                  \
	VZEROUPPER                                         \
	RET

// SWEEP clears the timers of all lines that are not live and returns how many.
#define SWEEP(TEST, SUB, COMPARE, KMOV, MOVE) \
	MOVQ lines+0(FP), DI                               \
	MOVQ count+8(FP), CX                               \
	VPBROADCASTQ now+16(FP), Z1                        \
	VPBROADCASTQ oldest+24(FP), Z2                     \
	VPXORQ Z4, Z4, Z4                                  \
	XORL BX, BX                                        \
line:                                                  \
	VMOVDQU64 (DI), Z0                                 \
	TEST Z0, Z0, K1                                    \
	SUB  Z0, Z1, Z3                                    \
	COMPARE $6, Z2, Z3, K1, K2                         \
	MOVE Z4, K2, Z0                                    \
	VMOVDQU64 Z0, (DI)                                 \
	KMOV K2, AX                                        \
	POPCNTQ AX, AX                                     \
	ADDQ AX, BX                                        \
	ADDQ $64, DI                                       \
	DECQ CX                                            \
	JNZ  line                                          \
	MOVQ BX, cleared+32(FP)                            \
	VZEROUPPER                                         \
	RET

// func testAndSetTimers8AVX512(lines *[8]uint64, count int, seen *uint64, digests *Digest, ticks *uint64, n int, salts *uint64, r *TimerRule, c *TimerCounts)
TEXT ·testAndSetTimers8AVX512(SB), 0, $5208-72
	ARGUMENTS
	VPSUBB Z24, Z22, Z21
	KERNEL(STAMP8, VPSUBB, VPTESTMB, VPCMPUB, KMOVQ, VMOVDQU8, 1, VPBROADCASTB, VPCMPEQB)

// func testAndSetTimers16AVX512(lines *[8]uint64, count int, seen *uint64, digests *Digest, ticks *uint64, n int, salts *uint64, r *TimerRule, c *TimerCounts)
TEXT ·testAndSetTimers16AVX512(SB), 0, $5208-72
	ARGUMENTS
	VPSUBW Z24, Z22, Z21
	KERNEL(STAMP16, VPSUBW, VPTESTMW, VPCMPUW, KMOVD, VMOVDQU16, 2, VPBROADCASTW, VPCMPEQW)

// func sweepTimers8AVX512(lines *[8]uint64, count int, now, oldest uint64) (cleared uint64)
TEXT ·sweepTimers8AVX512(SB), NOSPLIT, $0-40
	SWEEP(VPTESTMB, VPSUBB, VPCMPUB, KMOVQ, VMOVDQU8)

// func sweepTimers16AVX512(lines *[8]uint64, count int, now, oldest uint64) (cleared uint64)
TEXT ·sweepTimers16AVX512(SB), NOSPLIT, $0-40
	SWEEP(VPTESTMW, VPSUBW, VPCMPUW, KMOVD, VMOVDQU16)
