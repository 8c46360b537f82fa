//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"

// HighwayHash-128 of eight messages (AVX-512). A register holds four words of each
// of two messages, so four groups of registers hold all of them:
//
//	v0   Z0  Z4  Z8  Z12        packet Z16 Z17 Z18 Z19
//	v1   Z1  Z5  Z9  Z13        scratch Z20 Z21 Z22 Z23
//	mul0 Z2  Z6  Z10 Z14        Z31 zipper merge
//	mul1 Z3  Z7  Z11 Z15
//	DI group  SI buffer, moving on  CX packets left  R8 packets done
//	K4 to K7 messages of each group with a packet

// The order of bytes of the zipper merge in each pair of words.
DATA zipper<>+0(SB)/8, $0x000f010e05020c03
DATA zipper<>+8(SB)/8, $0x070806090d0a040b
GLOBL zipper<>(SB), RODATA|NOPTR, $16

// UPDATE takes a packet into a group, for the messages of mask K.
#define UPDATE(V0, V1, MUL0, MUL1, PACKET, T, K) \
	VPADDQ PACKET, V1, K, V1       \
	VPADDQ MUL0, V1, K, V1         \
	VPSRLQ $32, V0, T              \
	VPMULUDQ T, V1, T              \
	VPXORQ T, MUL0, K, MUL0        \
	VPADDQ MUL1, V0, K, V0         \
	VPSRLQ $32, V1, T              \
	VPMULUDQ T, V0, T              \
	VPXORQ T, MUL1, K, MUL1        \
	VPSHUFB Z31, V1, T             \
	VPADDQ T, V0, K, V0            \
	VPSHUFB Z31, V0, T             \
	VPADDQ T, V1, K, V1

#define UPDATE8 \
	UPDATE(Z0, Z1, Z2, Z3, Z16, Z20, K4)      \
	UPDATE(Z4, Z5, Z6, Z7, Z17, Z21, K5)      \
	UPDATE(Z8, Z9, Z10, Z11, Z18, Z22, K6)    \
	UPDATE(Z12, Z13, Z14, Z15, Z19, Z23, K7)

// START makes the state before the first packet that of a group.
#define START(V0, V1, MUL0, MUL1) \
	VBROADCASTI64X4 (DX), V0      \
	VBROADCASTI64X4 32(DX), V1    \
	VBROADCASTI64X4 64(DX), MUL0  \
	VBROADCASTI64X4 96(DX), MUL1

// HEADER makes the first packet of messages A and A+1: their headers, and zeros.
#define HEADER(A, X, Z) \
	VMOVDQU64 (highwayGroup_header+(A)*16)(DI), X                  \
	VINSERTI64X2 $2, (highwayGroup_header+(A)*16+16)(DI), Z, Z

// WITH sets K4 to K7 to the messages that AX has a bit for.
#define WITH \
	PDEPQ R10, AX, AX      \
	IMULQ $15, AX          \
	KMOVB AX, K4           \
	SHRQ  $8, AX           \
	KMOVB AX, K5           \
	SHRQ  $8, AX           \
	KMOVB AX, K6           \
	SHRQ  $8, AX           \
	KMOVB AX, K7

// PACKET loads the packets of messages A and A+1 where mask K has them. What it has
// not is not touched.
#define PACKET(A, R, K) \
	MOVQ (highwayGroup_offset+(A)*8)(DI), AX       \
	MOVQ (highwayGroup_offset+(A)*8+8)(DI), BX     \
	KANDB K, K2, K1                                \
	VMOVDQU64.Z (SI)(AX*1), K1, R                  \
	KANDB K, K3, K1                                \
	VMOVDQU64 -32(SI)(BX*1), K1, R

// REST takes in the length of what is left of messages A and A+1.
#define REST(A, V0, V1, T, K) \
	VPBROADCASTQ (highwayGroup_rest+(A)*8)(DI), T      \
	VPBROADCASTQ (highwayGroup_rest+(A)*8+8)(DI), K3, T \
	VPSLLQ $32, T, Z24                                 \
	VPORQ T, Z24, T                                    \
	VPADDQ T, V0, K, V0                                \
	VPROLVD T, V1, Z24                                 \
	VMOVDQA64 Z24, K, V1

// TURN makes the packet of a finishing round: v0 with its halves and those of its words
// exchanged.
#define TURN(V0, PACKET) \
	VPERMQ $0x4e, V0, PACKET        \
	VPSHUFD $0xb1, PACKET, PACKET

// OUT writes the digests of messages A and A+1.
#define OUT(A, V0, V1, MUL0, MUL1, X0) \
	VPADDQ MUL0, V0, V0                                        \
	VPADDQ MUL1, V1, V1                                        \
	VPERMQ $0x4e, V1, V1                                       \
	VPADDQ V1, V0, V0                                          \
	VMOVDQU X0, (highwayGroup_out+(A)*16)(DI)                  \
	VEXTRACTI64X2 $2, V0, (highwayGroup_out+(A)*16+16)(DI)

// func sumHighwayAVX512(group *highwayGroup, buf *byte, start *highwayState)
TEXT ·sumHighwayAVX512(SB), NOSPLIT, $0-24
	MOVQ group+0(FP), DI
	MOVQ buf+8(FP), SI
	MOVQ start+16(FP), DX
	VBROADCASTI64X2 zipper<>(SB), Z31
	MOVQ  $0x11111111, R10
	MOVL  $0x0f, AX
	KMOVB AX, K2
	MOVL  $0xf0, AX
	KMOVB AX, K3
	START(Z0, Z1, Z2, Z3)
	START(Z4, Z5, Z6, Z7)
	START(Z8, Z9, Z10, Z11)
	START(Z12, Z13, Z14, Z15)
	MOVL $0xff, AX
	WITH
	HEADER(0, X16, Z16)
	HEADER(2, X17, Z17)
	HEADER(4, X18, Z18)
	HEADER(6, X19, Z19)
	UPDATE8
	MOVQ highwayGroup_most(DI), CX
	XORQ R8, R8
	VMOVDQU64 highwayGroup_whole(DI), Z30

packet:
	CMPQ R8, CX
	JEQ  rest
	VPBROADCASTQ R8, Z29
	VPCMPUQ $6, Z29, Z30, K1
	KMOVB K1, AX
	WITH
	PACKET(0, Z16, K4)
	PACKET(2, Z17, K5)
	PACKET(4, Z18, K6)
	PACKET(6, Z19, K7)
	UPDATE8
	ADDQ $32, SI
	INCQ R8
	JMP  packet

rest:
	VMOVDQU64 highwayGroup_rest(DI), Z30
	VPTESTMQ Z30, Z30, K1
	KMOVB K1, AX
	WITH
	REST(0, Z0, Z1, Z25, K4)
	REST(2, Z4, Z5, Z26, K5)
	REST(4, Z8, Z9, Z27, K6)
	REST(6, Z12, Z13, Z28, K7)
	VMOVDQU64 highwayGroup_final(DI), Z16
	VMOVDQU64 (highwayGroup_final+64)(DI), Z17
	VMOVDQU64 (highwayGroup_final+128)(DI), Z18
	VMOVDQU64 (highwayGroup_final+192)(DI), Z19
	UPDATE8
	MOVL $0xff, AX
	WITH
	MOVQ $6, CX

turn:
	TURN(Z0, Z16)
	TURN(Z4, Z17)
	TURN(Z8, Z18)
	TURN(Z12, Z19)
	UPDATE8
	DECQ CX
	JNZ  turn
	OUT(0, Z0, Z1, Z2, Z3, X0)
	OUT(2, Z4, Z5, Z6, Z7, X4)
	OUT(4, Z8, Z9, Z10, Z11, X8)
	OUT(6, Z12, Z13, Z14, Z15, X12)
	VZEROUPPER
	RET
