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

DATA timedShifts<>+0(SB)/8, $0
DATA timedShifts<>+8(SB)/8, $21
DATA timedShifts<>+16(SB)/8, $42
DATA timedShifts<>+24(SB)/8, $0
DATA timedShifts<>+32(SB)/8, $21
DATA timedShifts<>+40(SB)/8, $42
DATA timedShifts<>+48(SB)/8, $0
DATA timedShifts<>+56(SB)/8, $42
GLOBL timedShifts<>(SB), RODATA|NOPTR, $64

DATA timedMoved<>+0(SB)/8, $0
DATA timedMoved<>+8(SB)/8, $8
DATA timedMoved<>+16(SB)/8, $9
DATA timedMoved<>+24(SB)/8, $10
DATA timedMoved<>+32(SB)/8, $11
DATA timedMoved<>+40(SB)/8, $12
DATA timedMoved<>+48(SB)/8, $1
DATA timedMoved<>+56(SB)/8, $14
GLOBL timedMoved<>(SB), RODATA|NOPTR, $64


// CONSTANTS
#define CONSTANTS \
	MOVQ r+40(FP), AX                             \
	MOVL  $0x3f, DX                               \
	KMOVB DX, K7                                  \
	MOVL  $0xc0, DX                               \
	KMOVB DX, K6                                  \
	VPBROADCASTQ timedRow_low(AX), Z31            \
	VPBROADCASTQ timedRow_lowTurned(AX), Z30      \
	VPBROADCASTQ timedRow_windowTurned(AX), Z21   \
	VPADDQ Z21, Z21, Z29                          \
	VPBROADCASTQ timedRow_rest(AX), Z1            \
	VPORQ Z1, Z29, Z29                            \
	VPORQ Z1, Z21, Z21                            \
	VPTERNLOGQ $0x55, Z1, Z1, Z20                 \
	VMOVDQU64 timedHighs<>(SB), Z28               \
	VMOVDQU64 timedShifts<>(SB), Z27              \
	VPBROADCASTQ timedRow_turn(AX), Z1            \
	VPSUBQ Z1, Z27, Z27                           \
	VPSUBQ.BCST timedRow_lowBits(AX), Z27, Z27    \
	MOVL  $21, DX                                 \
	VMOVDQA64 Z1, Z26                             \
	VPBROADCASTQ DX, K6, Z26                      \
	VMOVDQU64 timedMoved<>(SB), Z25               \
	VPBROADCASTQ timedRow_pointMask(AX), Z22

// COUNTS makes Z24 how far words are shifted to the right when they have moved.
#define COUNTS \
	MOVL  $0x40, DX                               \
	KMOVB DX, K1                                  \
	MOVL  $0x80, DX                               \
	KMOVB DX, K2                                  \
	MOVL  $42, DX                                 \
	VPBROADCASTQ.Z DX, K2, Z24                    \
	VPBROADCASTQ timedRow_lowBits(AX), K1, Z24    \

#define PLAINCONSTANTS \
	COUNTS \
	VPTERNLOGQ $0xff, Z23, Z23, Z23               \
	VPSLLQ $21, Z23, Z23                          \
	VMOVDQA64.Z Z23, K6, Z23

#define RENEWCONSTANTS \
	COUNTS \
	VPADDQ Z1, Z24, K1, Z24                       \
	MOVL  $1, DX                                  \
	KMOVB DX, K1                                  \
	VMOVDQA64 Z1, K1, Z24                         \
	VPTERNLOGQ $0xff, Z23, Z23, Z23               \
	VPSRLQ $43, Z23, K6, Z23                      \
	VMOVDQA64 Z31, K1, Z23

// FIND loads the line to Z0, makes Z2 the marks turned, Z3 how far after earliest they are
#define FIND \
	FETCH                                   \
	VMOVDQU64 (DI)(BX*1), Z0                \
	VPTESTMQ Z0, Z0, K7, K4                 \
	VPXORQ.BCST (R15)(CX*8), Z0, Z1         \
	VPERMQ Z0, Z28, Z2                      \
	VPCMPUQ $2, Z31, Z1, K7, K1             \
	KMOVB K1, (R13)(CX*1)                   \
	VPROLVQ Z26, Z0, Z1                     \
	VPRORVQ Z27, Z2, Z2                     \
	VPTERNLOGQ $0xb8, Z1, Z30, Z2           \
	VPSUBQ.BCST timedBlock_earliest(R15)(CX*8), Z2, Z3 \
	VPCMPUQ $2, Z29, Z3, K4, K2             \
	KMOVB K2, 64(R13)(CX*1)                 \

#define CHOOSE(AT, OFFSET) \
	MOVBLZX (R13)(CX*1), AX \
	MOVBLZX AT(R13)(CX*1), DX \
	ANDL AX, DX \
	LEAL (AX)(DX*2), AX \
	MOVBLZX OFFSET(R12)(AX*1), AX

#define CHOOSERENEW \
	MOVBLZX (R13)(CX*1), AX \
	MOVBLZX 256(R12)(AX*1), AX

#define PLAINPUT(LOOP) \
	VMOVDQU (R10), X5       \
	ADDQ $16, R10 \
	VPERMT2Q Z0, Z25, Z5                    \
	VPSRLVQ Z24, Z5, Z5                     \
	VPTERNLOGQ $0xea, Z5, Z23, Z1           \
	PUT(LOOP)

#define RENEWPUT(LOOP) \
	VMOVDQU64 64(R14)(AX*8), Z5           \
	VPERMI2Q Z0, Z4, Z5                   \
	VMOVQ (R15)(CX*8), X1                 \
	VPSLLQ $21, Z0, K6, Z1                \
	VPRORVQ Z24, Z5, Z5                   \
	VPTERNLOGQ $0xf8, Z5, Z23, Z1         \
	PUT(LOOP)

#define PUT(LOOP) \
	VPTERNLOGQ $0xe4, (R14)(AX*8), Z0, Z1 \
	VMOVDQU64 Z1, (DI)(BX*1)              \
	INCQ CX                               \
	JNE  LOOP

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
	KMOVQ K1, AX                       \
	KMOVQ K2, DX                       \
	KMOVQ K3, BX                       \
	BZHIQ CX, AX, AX                   \
	BZHIQ CX, DX, DX                   \
	BZHIQ CX, BX, BX                   \
	POPCNTQ DX, DX                     \
	POPCNTQ BX, BX                     \
	MOVQ  AX, copies+48(FP)            \
	MOVQ  DX, inserted+56(FP)          \
	MOVQ  BX, evicted+64(FP)           \
	VZEROUPPER                         \
	RET

#define NEXTHALF(LOOP) \
	LEAQ (R15)(R11*8), R15 \
	ADDQ R11, R13 \
	HALF(LOOP)

// func timedRowsAVX512(lines *[8]uint64, block, next *lineBlock, n int, b *timedBlock, r *timedRow) (copies, inserted, evicted uint64)
TEXT ·timedRowsAVX512(SB), NOSPLIT, $0-72
	START
	MOVQ b+32(FP), R10
	ADDQ $timedBlock_front, R10
	NEGQ CX
	CONSTANTS
	CMPB timedRow_refresh(AX), $0
	JNE  renewing
	CMPB timedRow_across(AX), $0
	JNE  across
	PLAINCONSTANTS

plain:
	FIND
	CHOOSE(64, 0)
	PLAINPUT(plain)
	NEXTHALF(plain)
	FINISH(timedBlock_near)

across:
	PLAINCONSTANTS

acrossloop:
	FIND
	VPXORQ.BCST timedBlock_turned(R15)(CX*8), Z2, Z4
	VPTESTMQ Z22, Z4, K2, K5
	KMOVB K5, 128(R13)(CX*1)
	CHOOSE(128, 0)
	PLAINPUT(acrossloop)
	NEXTHALF(acrossloop)
	FINISH(timedBlock_away)

renewing:
	RENEWCONSTANTS
	CMPQ timedRow_pointBits(AX), $0
	JNE  renewpoints
	CMPB timedRow_across(AX), $0
	JNE  renewpoints

renew:
	FIND
	VPBROADCASTQ timedBlock_turned(R15)(CX*8), Z4
	VPCMPUQ $6, Z21, Z3, K2, K5
	VMOVDQA64 Z2, K5, Z4
	CHOOSERENEW
	RENEWPUT(renew)
	NEXTHALF(renew)
	FINISH(timedBlock_near)

renewpoints:
	XORL  DX, DX
	CMPB  timedRow_across(AX), $1
	SBBL  DX, DX
	KMOVB DX, K3

renewpointsloop:
	FIND
	VPBROADCASTQ timedBlock_turned(R15)(CX*8), Z4
	VPXORQ Z2, Z4, Z6
	VPTESTMQ Z22, Z6, K5
	KORB  K3, K5, K5
	KANDB K2, K5, K5
	KMOVB K5, 128(R13)(CX*1)
	VPCMPUQ $2, Z21, Z3, K5, K2
	VMOVDQA64 Z2, K5, Z4
	VPTERNLOGQ.BCST $0xb8, timedBlock_turned(R15)(CX*8), Z20, K2, Z4
	CHOOSERENEW
	RENEWPUT(renewpointsloop)
	NEXTHALF(renewpointsloop)
	FINISH(timedBlock_away)

// The pairs' order
DATA timedPairs<>+0(SB)/8, $0
DATA timedPairs<>+8(SB)/8, $8
DATA timedPairs<>+16(SB)/8, $1
DATA timedPairs<>+24(SB)/8, $9
DATA timedPairs<>+32(SB)/8, $2
DATA timedPairs<>+40(SB)/8, $10
DATA timedPairs<>+48(SB)/8, $3
DATA timedPairs<>+56(SB)/8, $11
GLOBL timedPairs<>(SB), RODATA|NOPTR, $64

// func fillTimedAVX512(b *timedBlock, low *[64]uint64, ticks *int64, points *uint32, groups int, r *timedRow)
TEXT ·fillTimedAVX512(SB), NOSPLIT, $0-48
	MOVQ b+0(FP), DI
	MOVQ low+8(FP), SI
	MOVQ ticks+16(FP), BX
	MOVQ points+24(FP), R8
	MOVQ groups+32(FP), CX
	MOVQ r+40(FP), AX
	LEAQ timedBlock_timeless(DI), R9
	LEAQ timedBlock_front(DI), R10
	VPBROADCASTQ timedRow_low(AX), Z16
	VPBROADCASTQ timedRow_tickMask(AX), Z17
	VPBROADCASTQ timedRow_windowTurned(AX), Z18
	VPBROADCASTQ timedRow_origin(AX), Z19
	VPBROADCASTQ timedRow_eraBits(AX), Z20
	MOVQ $const_eraHash, DX
	VPBROADCASTQ DX, Z21
	MOVL $1, DX
	VPBROADCASTQ DX, Z22
	VPSLLQ $63, Z22, Z23
	VPADDQ Z16, Z22, Z22
	VPBROADCASTQ timedRow_turn(AX), Z28
	VMOVDQU64 timedPairs<>(SB), Z29
	MOVL $4, DX
	VPBROADCASTQ DX, Z30
	VPADDQ Z29, Z30, Z30
	TESTQ R8, R8
	JZ group
	VPBROADCASTQ timedRow_tickBits(AX), Z24
	MOVQ timedRow_pointBits(AX), DX
	MOVL $64, R11
	SUBL DX, R11
	VPBROADCASTQ R11, Z25
	VPBROADCASTQ timedRow_pointMask(AX), Z26
	MOVL $const_pointHash, DX
	VPBROADCASTQ DX, Z27

group:
	VMOVDQU64 (BX), Z0
	VPCMPEQQ Z23, Z0, K1
	KMOVB K1, (R9)
	VPSUBQ Z19, Z0, Z1
	VPSRLVQ Z20, Z1, Z1
	VPMULLQ Z21, Z1, Z1
	VPXORQ (SI), Z1, Z1
	VPANDNQ Z1, Z16, Z1
	VPMAXUQ Z22, Z1, Z1
	VMOVDQU64 Z1, (DI)
	VPANDQ Z17, Z0, Z0
	TESTQ R8, R8
	JZ marked
	VPMOVZXDQ (R8), Z2
	VPCMPUQ $5, Z26, Z2, K1
	VPMULUDQ Z27, Z2, Z3
	VPSLLQ $32, Z3, Z3
	VPSRLVQ Z25, Z3, K1, Z2
	VPSLLVQ Z24, Z2, Z2
	VPORQ Z2, Z0, Z0
	ADDQ $32, R8

marked:
	VPTERNLOGQ $0xf8, Z16, Z0, Z1
	VMOVDQA64 Z1, Z2
	VPERMT2Q Z0, Z29, Z1
	VPERMT2Q Z0, Z30, Z2
	VMOVDQU64 Z1, (R10)
	VMOVDQU64 Z2, 64(R10)
	VPSLLVQ Z28, Z0, Z1
	VPROLVQ Z28, Z0, Z0
	VPSUBQ Z18, Z1, Z1
	VMOVDQU64 Z1, timedBlock_earliest(DI)
	VMOVDQU64 Z0, timedBlock_turned(DI)
	ADDQ $64, BX
	ADDQ $64, SI
	ADDQ $64, DI
	ADDQ $128, R10
	INCQ R9
	DECQ CX
	JNZ group
	VZEROUPPER
	RET
