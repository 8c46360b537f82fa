//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "common_amd64.h"
#include "timers_amd64.h"

// Timer lines, a line two registers (AVX2). Registers beside those of timers_amd64.h:
// Y0 and Y1 are the line, Y2 the stamp in all timers, Y4 and Y5 all bits of the
// element's timers, Y6 and Y7 of those that are 0, Y8 and Y9 of live ones, later of the
// element's that are not. Y15 is 0, Y14 has for each byte the number of its timer in its
// word, Y13 counts what is filled, Y12 and Y11 have the bytes' words. R13 is
// TimerRule.set[1].

// The word that a byte of a line lies in.
DATA wordOfByte<>+0(SB)/8, $0
DATA wordOfByte<>+8(SB)/8, $0x0101010101010101
DATA wordOfByte<>+16(SB)/8, $0x0202020202020202
DATA wordOfByte<>+24(SB)/8, $0x0303030303030303
DATA wordOfByte<>+32(SB)/8, $0x0404040404040404
DATA wordOfByte<>+40(SB)/8, $0x0505050505050505
DATA wordOfByte<>+48(SB)/8, $0x0606060606060606
DATA wordOfByte<>+56(SB)/8, $0x0707070707070707
GLOBL wordOfByte<>(SB), RODATA|NOPTR, $64

// The timer of its word that a byte belongs to, if timers have 8 or 16 bits.
DATA timerOf8<>+0(SB)/8, $0x0706050403020100
GLOBL timerOf8<>(SB), RODATA|NOPTR, $8
DATA timerOf16<>+0(SB)/8, $0x0303020201010000
GLOBL timerOf16<>(SB), RODATA|NOPTR, $8

#define CONSTANTS(TIMEROF) \
	LEAQ (TimerRule_set+8)(DX), R13    \
	VPXOR Y15, Y15, Y15                \
	VPBROADCASTQ TIMEROF<>(SB), Y14    \
	VPXOR Y13, Y13, Y13                \
	VMOVDQU wordOfByte<>(SB), Y12      \
	VMOVDQU wordOfByte<>+32(SB), Y11

// LOOK loads the line and finds the element's timers, those that are 0 and those that
// are live.
#define LOOK(SUB, MIN, EQ) \
	FETCH                                  \
	VMOVDQU (DI)(BX*1), Y0                 \
	VMOVDQU 32(DI)(BX*1), Y1               \
	VPBROADCASTQ batch_low(SI)(CX*8), Y5 \
	VPSHUFB Y12, Y5, Y4                    \
	VPSHUFB Y11, Y5, Y5                    \
	VPCMPEQB Y14, Y4, Y4                   \
	VPCMPEQB Y14, Y5, Y5                   \
	VPBROADCASTQ (R12)(CX*8), Y2           \
	VPBROADCASTQ timerStamps_oldest(R12)(CX*8), Y3     \
	SUB Y0, Y2, Y8                         \
	SUB Y1, Y2, Y9                         \
	MIN Y3, Y8, Y6                         \
	MIN Y3, Y9, Y7                         \
	EQ Y6, Y8, Y8                          \
	EQ Y7, Y9, Y9                          \
	EQ Y15, Y0, Y6                         \
	EQ Y15, Y1, Y7                         \
	VPANDN Y8, Y6, Y8                      \
	VPANDN Y9, Y7, Y9

// JUDGE makes DX -1 and sets the carry if all timers of the element are live.
#define JUDGE \
	VPANDN Y4, Y8, Y8                      \
	VPANDN Y5, Y9, Y9                      \
	VPOR Y8, Y9, Y8                        \
	VPTEST Y8, Y15                         \
	SBBQ DX, DX

// SET collects the carry and sets the timers.
#define SET(SUB, LOOP) \
	ADCQ R8, R8                            \
	VPBROADCASTQ (R13)(DX*8), Y3           \
	VPAND Y3, Y4, Y4                       \
	VPAND Y3, Y5, Y5                       \
	VPXOR Y2, Y0, Y8                       \
	VPXOR Y2, Y1, Y9                       \
	VPAND Y4, Y8, Y8                       \
	VPAND Y5, Y9, Y9                       \
	VPXOR Y8, Y0, Y0                       \
	VPXOR Y9, Y1, Y1                       \
	VMOVDQU Y0, (DI)(BX*1)                 \
	VMOVDQU Y1, 32(DI)(BX*1)               \
	VPAND Y4, Y6, Y6                       \
	VPAND Y5, Y7, Y7                       \
	SUB Y6, Y13, Y13                       \
	SUB Y7, Y13, Y13                       \
	NEXTTIMER(LOOP)

// BITS makes R14 a bit for each timer that is set in A and B.
#define BITS(A, B, ONE) \
	VPMOVMSKB A, R14                       \
	VPMOVMSKB B, DX                        \
	ONE(R14)                               \
	ONE(DX)                                \
	SHLQ $32, DX                           \
	ORQ  DX, R14

// ONE8 and ONE16 leave one bit of those of a timer.
#define ONE8(R)
#define ONE16(R) ANDL $0x55555555, R

// EQUAL makes R15 the size of the largest group of the element's timers that are equal.
#define EQUAL(BROADCAST, EQ, ONE, TIMER) \
	BITS(Y4, Y5, ONE)                      \
	MOVQ R14, DX                           \
	ROUNDS                                 \
TIMER:                                     \
	TZCNTQ R10, R14                        \
	BLSRQ R10, R10                         \
	ADDQ BX, R14                           \
	BROADCAST (DI)(R14*1), Y3              \
	EQ Y3, Y0, Y10                         \
	EQ Y3, Y1, Y3                          \
	VPAND Y4, Y10, Y10                     \
	VPAND Y5, Y3, Y3                       \
	BITS(Y10, Y3, ONE)                     \
	GROUP(TIMER)

// JUDGEGROUP makes DX 0 if the largest group is too small, and brings it to the carry.
#define JUDGEGROUP \
	XORL AX, AX       \
	SMALL             \
	ANDNQ DX, AX, DX  \
	MOVQ DX, AX       \
	NEGQ AX

// FINISH adds up the bytes of Y13 and returns.
#define FINISH \
	VPSADBW Y15, Y13, Y13                  \
	VEXTRACTI128 $1, Y13, X0               \
	VPADDQ X0, X13, X13                    \
	VPSRLDQ $8, X13, X0                    \
	VPADDQ X0, X13, X13                    \
	VMOVQ X13, AX                          \
	ENDTIMERS

// func timers8AVX2(lines *[8]uint64, current, ahead *batch, n int, s *timerStamps, r *TimerRule) (found, filled uint64)
TEXT ·timers8AVX2(SB), NOSPLIT, $0-64
	BEGINTIMERS
	CONSTANTS(timerOf8)
	CMPQ TimerRule_equal(DX), $2
	JCC  equal

element:
	LOOK(VPSUBB, VPMINUB, VPCMPEQB)
	JUDGE
	SET(VPSUBB, element)
	FINISH

equal:
	LOOK(VPSUBB, VPMINUB, VPCMPEQB)
	EQUAL(VPBROADCASTB, VPCMPEQB, ONE8, timer)
	JUDGE
	JUDGEGROUP
	SET(VPSUBB, equal)
	FINISH

// func timers16AVX2(lines *[8]uint64, current, ahead *batch, n int, s *timerStamps, r *TimerRule) (found, filled uint64)
TEXT ·timers16AVX2(SB), NOSPLIT, $0-64
	BEGINTIMERS
	CONSTANTS(timerOf16)
	CMPQ TimerRule_equal(DX), $2
	JCC  equal

element:
	LOOK(VPSUBW, VPMINUW, VPCMPEQW)
	JUDGE
	SET(VPSUBW, element)
	FINISH

equal:
	LOOK(VPSUBW, VPMINUW, VPCMPEQW)
	EQUAL(VPBROADCASTW, VPCMPEQW, ONE16, timer)
	JUDGE
	JUDGEGROUP
	SET(VPSUBW, equal)
	FINISH
