//go:build amd64 && !purego

#include "textflag.h"

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

// func sweepTimers8AVX512(lines *[8]uint64, count int, now, oldest uint64) (cleared uint64)
TEXT ·sweepTimers8AVX512(SB), NOSPLIT, $0-40
	SWEEP(VPTESTMB, VPSUBB, VPCMPUB, KMOVQ, VMOVDQU8)

// func sweepTimers16AVX512(lines *[8]uint64, count int, now, oldest uint64) (cleared uint64)
TEXT ·sweepTimers16AVX512(SB), NOSPLIT, $0-40
	SWEEP(VPTESTMW, VPSUBW, VPCMPUW, KMOVD, VMOVDQU16)
