// SPDX-License-Identifier: Apache-2.0

// The common part of the kernels for timers. Registers are as in common_amd64.h, except
// that R8 collects the elements that are found. R12 is the end of the stamps of this
// half, R13 the timers that a found element sets.

// BEGINTIMERS leaves the rule in DX.
#define BEGINTIMERS \
	BEGINHALVES             \
	MOVQ CX, R12            \
	NEGQ R12                \
	SHLQ $3, R12            \
	ADDQ s+32(FP), R12      \
	MOVQ r+40(FP), DX       \
	MOVQ TimerRule_set(DX), R13

// NEXTTIMER is NEXT, and moves R12 on.
#define NEXTTIMER(LOOP) \
	INCQ CX                \
	JNE  LOOP              \
	LEAQ (R12)(R11*8), R12 \
	HALF(LOOP)

// ROUNDS sets R10 to the element's timers in DX, R15 to 0, and AX to one less than the
// number of timers to try: each group that is large enough contains one of them.
#define ROUNDS \
	MOVQ DX, R10                 \
	XORL R15, R15                \
	MOVQ r+40(FP), R14           \
	MOVQ TimerRule_k(R14), AX    \
	SUBQ TimerRule_equal(R14), AX

// GROUP sets R15 to the size of the largest group, given the group R14, and goes on with
// the next timer.
#define GROUP(LOOP) \
	POPCNTQ R14, R14  \
	CMPQ R14, R15     \
	CMOVQGT R14, R15  \
	DECQ AX           \
	JGE  LOOP

// SMALL makes AX not 0 if the largest group is too small.
#define SMALL \
	MOVQ r+40(FP), R14            \
	CMPQ R15, TimerRule_equal(R14) \
	SBBQ R14, R14                 \
	ORQ  R14, AX

// ENDTIMERS returns the elements that are found, and AX, the timers that were 0 and are
// set.
#define ENDTIMERS \
	VZEROUPPER              \
	MOVQ R8, found+48(FP)   \
	MOVQ AX, filled+56(FP)  \
	RET

// The common part of the kernels that make stamps of ticks.

// A word's lowest byte and lowest two bytes in all its places, of two words.
DATA eachByte<>+0(SB)/8, $0
DATA eachByte<>+8(SB)/8, $0x0808080808080808
DATA eachByte<>+16(SB)/8, $0
DATA eachByte<>+24(SB)/8, $0x0808080808080808
GLOBL eachByte<>(SB), RODATA|NOPTR, $32
DATA eachPair<>+0(SB)/8, $0x0100010001000100
DATA eachPair<>+8(SB)/8, $0x0908090809080908
DATA eachPair<>+16(SB)/8, $0x0100010001000100
DATA eachPair<>+24(SB)/8, $0x0908090809080908
GLOBL eachPair<>(SB), RODATA|NOPTR, $32
