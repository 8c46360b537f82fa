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
DATA timedMoved<>+48(SB)/8, $0
DATA timedMoved<>+56(SB)/8, $14
GLOBL timedMoved<>(SB), RODATA|NOPTR, $64

DATA timedCopy<>+0(SB)/8, $7
GLOBL timedCopy<>(SB), RODATA|NOPTR, $8

// Where a timedBlock has what.
#define MARK 512
#define EARLIEST 1024

#define CONSTANTS \
	MOVQ r+40(FP), AX                          \
	VPBROADCASTQ timedRow_low(AX), Z31         \
	VPBROADCASTQ timedRow_tickMask(AX), Z30    \
	VPBROADCASTQ timedRow_window(AX), Z21      \
	VPADDQ Z21, Z21, Z29                       \
	VMOVDQU64 timedHighs<>(SB), Z28            \
	VMOVDQU64 timedShifts<>(SB), Z27           \
	VPBROADCASTQ timedRow_lowBits(AX), Z0      \
	MOVL  $0x40, DX                            \
	KMOVB DX, K1                               \
	MOVL  $0x3f, DX                            \
	KMOVB DX, K7                               \
	MOVL  $0xc0, DX                            \
	KMOVB DX, K6                               \
	VMOVDQA64 Z27, Z24                         \
	VPXORQ Z24, Z24, K7, Z24                   \
	VMOVDQA64 Z0, K1, Z24                      \
	VPSUBQ Z0, Z27, Z27                        \
	VMOVDQU64 timedMoved<>(SB), Z26            \
	VPTERNLOGQ $0xff, Z23, Z23, Z23            \
	MOVL  $1, DX                               \
	KMOVB DX, K1                               \
	VMOVDQA64 Z31, K1, Z23                     \
	VPBROADCASTQ timedRow_pointMask(AX), Z22   \
	VPBROADCASTQ timedRow_markMask(AX), Z20

// FIND loads the line to Z0, sets K1 for the cells that have the fingerprint, Z2 to marks, Z3 to
// how far after earliest they are, K2 for the cells within the window.
#define FIND \
	FETCH                                   \
	VMOVDQU64 (DI)(BX*1), Z0                \
	VPXORQ.BCST (R15)(CX*8), Z0, Z1         \
	VPERMQ Z0, Z28, Z2                      \
	VPCMPUQ $2, Z31, Z1, K7, K1             \
	VPRORVQ Z27, Z2, Z2                     \
	VPTERNLOGQ $0xb8, Z0, Z31, Z2           \
	VPSUBQ.BCST EARLIEST(R15)(CX*8), Z2, Z3 \
	VPANDQ Z30, Z3, Z3                      \
	VPCMPUQ $2, Z29, Z3, K7, K2             \
	KMOVB K1, AX                            \
	KMOVB K2, DX

#define COUNT \
	CMPQ  40(DI)(BX*1), $1 \
	ADCQ  R10, R10         \
	BTL   $5, DX           \
	ADCQ  R12, R12         \
	CMPL  AX, $1           \
	ADCQ  R13, R13         \
	ORL   $0x40, AX        \
	TZCNTL AX, AX          \

#define PUT(LOOP) \
	VMOVQ (R15)(CX*8), X1                 \
	VPSLLQ $21, Z0, K6, Z1                \
	VPSRLVQ Z24, Z5, Z5                   \
	VPTERNLOGQ $0xf8, Z5, Z23, Z1         \
	VPTERNLOGQ $0xe4, (R14)(AX*1), Z0, Z1 \
	VMOVDQU64 Z1, (DI)(BX*1)              \
	INCQ CX                               \
	JNE  LOOP

#define FINISH \
	ANDQ  R13, R12            \
	ANDNQ R12, R10, R10       \
	POPCNTQ R13, R13          \
	POPCNTQ R10, R10          \
	MOVQ  R8, copies+48(FP)   \
	MOVQ  R13, inserted+56(FP) \
	MOVQ  R10, evicted+64(FP) \
	VZEROUPPER                \
	RET

#define NEXTHALF(LOOP) \
	LEAQ (R15)(R11*8), R15 \
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
	COUNT
	BTL     AX, DX
	CMOVLCS timedCopy<>(SB), AX
	ADCQ    R8, R8
	SHLL    $7, AX
	VMOVQ MARK(R15)(CX*8), X5
	VPERMT2Q Z0, Z26, Z5
	PUT(plain)
	NEXTHALF(plain)
	FINISH

across:
	FIND
	VPXORQ.BCST MARK(R15)(CX*8), Z2, Z4
	VPTESTMQ Z22, Z4, K2, K3
	COUNT
	KMOVB   K3, DX
	BTL     AX, DX
	CMOVLCS timedCopy<>(SB), AX
	ADCQ    R8, R8
	SHLL    $7, AX
	VMOVQ MARK(R15)(CX*8), X5
	VPERMT2Q Z0, Z26, Z5
	PUT(across)
	NEXTHALF(across)
	FINISH

renewing:
	CMPB timedRow_across(AX), $0
	JNE  renewacross

renew:
	FIND
	COUNT
	BTL     AX, DX
	ADCQ    R8, R8
	SHLL    $7, AX
	VPBROADCASTQ MARK(R15)(CX*8), Z4
	VPCMPUQ $2, Z21, Z3, K2, K5
	VPANDQ Z20, Z2, K2, Z4
	VPTERNLOGQ.BCST $0xb8, MARK(R15)(CX*8), Z30, K5, Z4
	VMOVDQU64 64(R14)(AX*1), Z5
	VPERMI2Q Z0, Z4, Z5
	PUT(renew)
	NEXTHALF(renew)
	FINISH

renewacross:
	FIND
	VPBROADCASTQ MARK(R15)(CX*8), Z4
	VPXORQ Z2, Z4, Z6
	VPTESTMQ Z22, Z6, K2, K3
	COUNT
	KMOVB   K3, DX
	BTL     AX, DX
	ADCQ    R8, R8
	SHLL    $7, AX
	VPCMPUQ $2, Z21, Z3, K3, K5
	VPANDQ Z20, Z2, K3, Z4
	VPTERNLOGQ.BCST $0xb8, MARK(R15)(CX*8), Z30, K5, Z4
	VMOVDQU64 64(R14)(AX*1), Z5
	VPERMI2Q Z0, Z4, Z5
	PUT(renewacross)
	NEXTHALF(renewacross)
	FINISH

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
	VPBROADCASTQ timedRow_tickMask(AX), Z17
	VPBROADCASTQ timedRow_window(AX), Z18
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
	VPBROADCASTQ timedRow_tickBits(AX), Z24
	MOVQ timedRow_pointBits(AX), DX
	MOVL $64, R10
	SUBL DX, R10
	VPBROADCASTQ R10, Z25
	MOVL $1, R10
	SHLXQ DX, R10, R10
	DECQ R10
	VPBROADCASTQ R10, Z26
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
	VMOVDQU64 Z0, MARK(DI)
	VPSUBQ Z18, Z0, Z0
	VMOVDQU64 Z0, EARLIEST(DI)
	ADDQ $64, BX
	ADDQ $64, SI
	ADDQ $64, DI
	INCQ R9
	DECQ CX
	JNZ group
	VZEROUPPER
	RET
