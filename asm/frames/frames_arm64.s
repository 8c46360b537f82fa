// SPDX-License-Identifier: Apache-2.0

//go:build arm64 && !purego

#include "textflag.h"
#include "go_asm.h"

// func sumARM64(times *int64, frames *Frame, n int, last int64, s *Sums) (done int)
//
// R5 and R7 count bytes and older frames. R3 is the time before. The times to stop at
// are the greatest number and the next one.
TEXT ·sumARM64(SB), NOSPLIT, $0-48
	MOVD times+0(FP), R0
	MOVD frames+8(FP), R1
	MOVD n+16(FP), R2
	MOVD last+24(FP), R3
	MOVD s+32(FP), R4
	MOVD Sums_Bytes(R4), R5
	MOVD Sums_Older(R4), R7
	MOVD $0x7fffffffffffffff, R20

frame:
	LDP.P Frame__size(R1), (R8, R9)
	SUB   R20, R8, R11
	CMP   $1, R11
	BLS   done
	CMP   R3, R8
	CINC  LT, R7, R7
	MOVD  R8, R3
	MOVD.P R8, 8(R0)
	ADD   R9>>32, R5        // CapLen
	SUBS  $1, R2
	BNE   frame

done:
	MOVD R5, Sums_Bytes(R4)
	MOVD R7, Sums_Older(R4)
	MOVD n+16(FP), R1
	SUB  R2, R1
	MOVD R1, done+40(FP)
	RET

// AFTER adds to V0 what is negative if the times of T are outside: V1 is the first time, V2 the span.
#define AFTER(T, REST) \
	VSUB V1.D2, T.D2, T.D2          \
	VSUB T.D2, V2.D2, REST.D2       \
	VORR T.B16, REST.B16, REST.B16  \
	VORR REST.B16, V0.B16, V0.B16

// func withinNEON(times *int64, groups int, first, span int64) bool
TEXT ·withinNEON(SB), NOSPLIT, $0-33
	MOVD times+0(FP), R0
	MOVD groups+8(FP), R1
	MOVD first+16(FP), R2
	MOVD span+24(FP), R3
	VDUP R2, V1.D2
	VDUP R3, V2.D2
	VEOR V0.B16, V0.B16, V0.B16

group:
	VLD1.P 64(R0), [V3.D2, V4.D2, V5.D2, V6.D2]
	AFTER(V3, V16)
	AFTER(V4, V17)
	AFTER(V5, V18)
	AFTER(V6, V19)
	SUBS $1, R1
	BNE  group
	VMOV V0.D[0], R2
	VMOV V0.D[1], R3
	ORR  R2, R3
	MVN  R3, R3
	LSR  $63, R3
	MOVB R3, ret+32(FP)
	RET
