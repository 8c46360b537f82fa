//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "row_amd64.h"
#include "timedrow_amd64.h"

// Timed rows, a line a register (AVX-512 F, BW, DQ, VL; BMI1 and BMI2 for scalars).

DATA timedHighs<>+0(SB)/8, $6
DATA timedHighs<>+8(SB)/8, $6
DATA timedHighs<>+16(SB)/8, $6
DATA timedHighs<>+24(SB)/8, $7
DATA timedHighs<>+32(SB)/8, $7
DATA timedHighs<>+40(SB)/8, $7
DATA timedHighs<>+48(SB)/8, $6
DATA timedHighs<>+56(SB)/8, $6
GLOBL timedHighs<>(SB), RODATA|NOPTR, $64


#define CONSTANTS \
	MOVQ r+40(FP), AX                           \
	MOVL  $0x3f, DX                             \
	KMOVB DX, K7                                \
	MOVL  $0xc0, DX                             \
	KMOVB DX, K6                                \
	VPBROADCASTQ timedRow_low(AX), Z31          \
	VPBROADCASTQ timedRow_tickMask(AX), Z20     \
	VPBROADCASTQ timedRow_turn(AX), Z1          \
	VPSLLVQ Z1, Z20, Z20                        \
	VPBROADCASTQ timedRow_aboveWindow(AX), Z21  \
	VPBROADCASTQ timedRow_aboveWindows(AX), Z29 \
	VMOVDQU64 timedHighs<>(SB), Z28             \
	VMOVDQU64 (timedRow_lanes+timedLanes_highTurns)(AX), Z27 \
	VMOVDQU64 (timedRow_lanes+timedLanes_lowTurns)(AX), Z26 \
	VMOVDQU64 (timedRow_lanes+timedLanes_lows)(AX), Z30 \
	VMOVDQU64 (timedRow_lanes+timedLanes_backTurns)(AX), Z24 \
	VMOVDQU64 (timedRow_lanes+timedLanes_backs)(AX), Z23 \
	VPBROADCASTQ timedRow_pointMask(AX), Z22

#define FIND \
	FETCH                                   \
	VMOVDQU64 (DI)(BX*1), Z0                \
	VPBROADCASTQ (R15)(CX*8), Z5            \
	VPXORQ Z5, Z0, Z3                       \
	VPERMQ Z0, Z28, Z2                      \
	VPCMPUQ $2, Z31, Z3, K7, K1             \
	KMOVB K1, AX                            \
	VPRORVQ Z27, Z2, Z2                     \
	MOVQ 40(DI)(BX*1), DX \
	MOVQ DX, timedBlock_last(R15)(CX*8) \

#define COMPARE \
	VPTERNLOGQ $0xb8, Z1, Z30, Z2           \
	VPSUBQ.BCST timedBlock_earliest(R15)(CX*8), Z2, Z3 \
	VPCMPUQ $1, Z29, Z3, K7, K2             \
	KMOVB K2, DX \
	MOVB  AX, (R13)(CX*1)                   \
	MOVB  DX, 64(R13)(CX*1)                 \

#define CHOOSE \
	ANDL AX, DX \
	LEAL (AX)(DX*2), AX \
	MOVBLZX timedTable_choices(R14)(AX*1), AX

#define MOVE(LOOP) \
	VALIGNQ $7, Z5, Z0, K7, Z2 \
	PUT(Z2, LOOP)

#define RENEWPUT(LOOP) \
	MOVBLZX timedTable_choices+256(R14)(AX*1), AX \
	VMOVDQU64 timedMove_from(R14)(AX*8), Z6 \
	VPERMI2Q Z0, Z4, Z6                   \
	VPSLLQ $21, Z0, K6, Z5                \
	VPRORVQ Z24, Z6, Z6                   \
	VPTERNLOGQ $0xb8, Z6, Z23, Z5         \
	PUT(Z5, LOOP)

#define PUT(Z, LOOP) \
	VPTERNLOGQ $0xe4, (R14)(AX*8), Z0, Z \
	VMOVDQU64 Z, (DI)(BX*1)              \
	INCQ CX                               \
	JNE  LOOP

#define FULL(I) \
	VMOVDQU64 timedBlock_last+64*I(AX), Z0 \
	VPTESTMQ  Z0, Z0, K1                   \
	KMOVB     K1, R8                       \
	SHLQ      $8, DX \
	ORQ       R8, DX

#define FINISH(AWAY) \
	MOVQ b+32(FP), AX                  \
	MOVQ n+24(FP), CX                  \
	VMOVDQU64 timedBlock_found(AX), Z0 \
	VMOVDQU64 timedBlock_near(AX), Z1  \
	VMOVDQU64 AWAY(AX), Z3             \
	MOVL $0x20, DX                     \
	VPBROADCASTB DX, Z2                \
	VPTESTMB Z0, Z3, K1                \
	VPTESTNMB Z0, Z0, K2               \
	VPTESTMB Z2, Z1, K2, K3            \
	KMOVQ K1, SI                       \
	KMOVQ K2, DI                       \
	KMOVQ K3, BX                       \
	BZHIQ CX, SI, SI                   \
	BZHIQ CX, DI, DI                   \
	BZHIQ CX, BX, BX                   \
	POPCNTQ DI, DI                     \
	MOVQ  SI, copies+48(FP)            \
	MOVQ  DI, inserted+56(FP)          \
	TESTQ BX, BX                       \
	JZ    return                       \
	JMP   full

#define NEXTHALF(LOOP) \
	LEAQ (R15)(R11*8), R15 \
	ADDQ R11, R13 \
	HALF(LOOP)

// func timedRowsAVX512(lines *[8]uint64, block, next *lineBlock, n int, b *timedBlock, r *timedRow) (copies, inserted, evicted uint64)
TEXT ·timedRowsAVX512(SB), NOSPLIT, $0-72
	START
	CONSTANTS
	CMPB timedRow_refresh(AX), $0
	JNE  renewing
	CMPB timedRow_across(AX), $0
	JNE  across

plain:
	FIND
	VMOVDQA64 Z0, Z1
	VPBROADCASTQ timedBlock_high(R15)(CX*8), Z4
	VPSHLDVQ Z26, Z4, Z1
	COMPARE
	CHOOSE
	MOVE(plain)
	NEXTHALF(plain)
	FINISH(timedBlock_near)

across:
	MOVL  $0x40, DX
	KMOVB DX, K5

acrossloop:
	FIND
	VMOVDQA64 Z0, Z1
	VMOVDQA64 Z0, Z4
	VPBROADCASTQ timedBlock_high(R15)(CX*8), K5, Z4
	VPSHLDVQ Z26, Z4, Z1
	COMPARE
	VPXORQ.BCST timedBlock_turned(R15)(CX*8), Z2, Z4
	VPTESTMQ Z22, Z4, K2, K3
	KMOVB K3, DX
	MOVB  DX, 128(R13)(CX*1)
	CHOOSE
	MOVE(acrossloop)
	NEXTHALF(acrossloop)
	FINISH(timedBlock_away)

renewing:
	CMPQ timedRow_pointBits(AX), $0
	JNE  renewpoints
	CMPB timedRow_across(AX), $0
	JNE  renewpoints

renew:
	FIND
	VPROLVQ Z26, Z0, Z1
	COMPARE
	VPBROADCASTQ timedBlock_turned(R15)(CX*8), Z4
	VPCMPUQ $5, Z21, Z3, K2, K3
	VMOVDQA64 Z2, K3, Z4
	RENEWPUT(renew)
	NEXTHALF(renew)
	FINISH(timedBlock_near)

renewpoints:
	XORL  DX, DX
	CMPB  timedRow_across(AX), $1
	SBBL  DX, DX
	KMOVB DX, K5

renewpointsloop:
	FIND
	VPROLVQ Z26, Z0, Z1
	COMPARE
	VPBROADCASTQ timedBlock_turned(R15)(CX*8), Z4
	VPXORQ Z2, Z4, Z1
	VPTESTMQ Z22, Z1, K3
	KORB  K5, K3, K3
	KANDB K2, K3, K3
	KMOVB K3, 128(R13)(CX*1)
	VPCMPUQ $1, Z21, Z3, K3, K2
	VMOVDQA64 Z2, K3, Z4
	VPTERNLOGQ.BCST $0xb8, timedBlock_turned(R15)(CX*8), Z20, K2, Z4
	RENEWPUT(renewpointsloop)
	NEXTHALF(renewpointsloop)
	FINISH(timedBlock_away)

full:
	FULL(7)
	FULL(6)
	FULL(5)
	FULL(4)
	FULL(3)
	FULL(2)
	FULL(1)
	FULL(0)
	ANDQ DX, BX
	POPCNTQ BX, BX

return:
	MOVQ  BX, evicted+64(FP)
	VZEROUPPER
	RET

// func fillTimedAVX512(b *timedBlock, low *[64]uint64, ticks *int64, points *uint32, groups int, r *timedRow)
TEXT ·fillTimedAVX512(SB), NOSPLIT, $0-48
	MOVQ b+0(FP), DI
	MOVQ low+8(FP), SI
	MOVQ ticks+16(FP), BX
	MOVQ points+24(FP), R8
	MOVQ groups+32(FP), CX
	MOVQ r+40(FP), AX
	LEAQ timedBlock_timeless(DI), R9
	VPBROADCASTQ timedRow_low(AX), Z16
	VPBROADCASTQ timedRow_turn(AX), Z17
	VPBROADCASTQ timedRow_windowTurned(AX), Z18
	VPBROADCASTQ timedRow_origin(AX), Z19
	VPBROADCASTQ timedRow_eraBits(AX), Z20
	MOVQ $const_eraHash, DX
	VPBROADCASTQ DX, Z21
	MOVL $1, DX
	VPBROADCASTQ DX, Z22
	VPSLLQ $63, Z22, Z23
	VPADDQ Z16, Z22, Z22
	TESTQ R8, R8
	JZ group
	VPBROADCASTQ timedRow_tickMask(AX), Z24
	VPBROADCASTQ timedRow_tickBits(AX), Z25
	VPBROADCASTQ timedRow_pointMask(AX), Z26
	MOVL $const_pointHash, DX
	VPBROADCASTQ DX, Z27
	MOVL $64, DX
	SUBQ timedRow_pointBits(AX), DX
	VPBROADCASTQ DX, Z28
	MOVL $43, DX
	SUBQ timedRow_lowBits(AX), DX
	VPBROADCASTQ DX, Z29

group:
	VMOVDQU64 (BX), Z0
	VPCMPEQQ  Z23, Z0, K1
	KMOVB     K1, (R9)
	VPSUBQ    Z19, Z0, Z1
	VPSRLVQ   Z20, Z1, Z1
	VPMULLQ   Z21, Z1, Z1
	VPXORQ    (SI), Z1, Z1
	VPMAXUQ   Z22, Z1, Z1
	VPSLLVQ   Z17, Z0, Z2
	VPSUBQ    Z18, Z2, Z3
	VMOVDQU64 Z3, timedBlock_earliest(DI)
	TESTQ     R8, R8
	JNZ       point
	VMOVDQU64 Z2, timedBlock_high(DI)

fields:
	VMOVDQU64  Z2, timedBlock_turned(DI)
	VPTERNLOGQ $0xb8, Z0, Z16, Z1
	VMOVDQU64  Z1, timedBlock_cell(DI)
	ADDQ $64, BX
	ADDQ $64, SI
	ADDQ $64, DI
	INCQ R9
	DECQ CX
	JNZ  group
	VZEROUPPER
	RET

point:
	VPMOVZXDQ  (R8), Z3
	VPCMPUQ    $5, Z26, Z3, K1
	VPMULUDQ   Z27, Z3, Z4
	VPSLLQ     $32, Z4, Z4
	VPSRLVQ    Z28, Z4, K1, Z3
	VPORQ      Z3, Z2, Z2
	VPSLLVQ    Z25, Z3, Z3
	VPTERNLOGQ $0xe2, Z3, Z24, Z0
	VPSLLVQ    Z29, Z0, Z3
	VMOVDQU64  Z3, timedBlock_high(DI)
	ADDQ $32, R8
	JMP  fields
