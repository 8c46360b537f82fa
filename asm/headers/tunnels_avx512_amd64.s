// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"
#include "datagram_amd64.h"

// Numbers that each 64-bit word of a vector gets. Types are as they are read from memory, in
// little-endian order.
DATA ·tunnelWords+0x00(SB)/8, $0x3fff     // of a tweak of IPv4: fragment
DATA ·tunnelWords+0x08(SB)/8, $28         // from a message of IPv6 to the header above IP
DATA ·tunnelWords+0x10(SB)/8, $40         // least that follows IP, with UDP
DATA ·tunnelWords+0x18(SB)/8, $0xffff0000 // destination port
DATA ·tunnelWords+0x20(SB)/8, $16         // headers of UDP and of the tunnel
DATA ·tunnelWords+0x28(SB)/8, $0xf00000   // version of IP behind two bytes
DATA ·tunnelWords+0x30(SB)/8, $0xf0ffff   // ethertype and version
DATA ·tunnelWords+0x38(SB)/8, $0x400008
DATA ·tunnelWords+0x40(SB)/8, $0x60dd86
DATA ·tunnelWords+0x48(SB)/8, $0x400000
DATA ·tunnelWords+0x50(SB)/8, $0x600000
DATA ·tunnelWords+0x58(SB)/8, $6          // version
DATA ·tunnelWords+0x60(SB)/8, $4          // version, and IP in IP by version, GRE and UDP
DATA ·tunnelWords+0x68(SB)/8, $41
DATA ·tunnelWords+0x70(SB)/8, $47
DATA ·tunnelWords+0x78(SB)/8, $17
DATA ·tunnelWords+0x80(SB)/8, $0x0740     // routes and version of GRE
DATA ·tunnelWords+0x88(SB)/8, $0x0008     // types in GRE
DATA ·tunnelWords+0x90(SB)/8, $0xdd86
DATA ·tunnelWords+0x98(SB)/8, $0x5865
DATA ·tunnelWords+0xa0(SB)/8, $0xbe88
DATA ·tunnelWords+0xa8(SB)/8, $24         // least of IP
DATA ·tunnelWords+0xb0(SB)/8, $38         // with 14 bytes before it
DATA ·tunnelWords+0xb8(SB)/8, $42         // and a tag
GLOBL ·tunnelWords(SB), RODATA|NOPTR, $192

// Bytes 4 and 5, and 2 and 3, of each word as a number.
DATA ·tunnelBytes+0x00(SB)/8, $0x8080808080800405
DATA ·tunnelBytes+0x08(SB)/8, $0x8080808080800c0d
DATA ·tunnelBytes+0x10(SB)/8, $0x8080808080800203
DATA ·tunnelBytes+0x18(SB)/8, $0x8080808080800a0b
GLOBL ·tunnelBytes(SB), RODATA|NOPTR, $32

#define NUMBER(OFFSET) ·tunnelWords+OFFSET(SB)

// SHAPE adds to K the datagrams of K7 that have the shape at OFFSET of BX, and to Z15 how many
// words more their headers have.
#define SHAPE(OFFSET, K) \
	VPANDQ.BCST (OFFSET+8)(BX), Z10, Z13         \
	VPCMPEQQ.BCST (OFFSET+16)(BX), Z13, K7, K1   \
	VPCMPEQQ.BCST OFFSET(BX), Z11, K1, K1        \
	VPANDQ.BCST (OFFSET+24)(BX), Z10, K1, Z15    \
	KORB K1, K, K

// PAIR sets the halves of Y to 16 bytes at DISP behind the offsets at AT and AT+16 of R.
#define PAIR(AT, R, DISP, X, Y) \
	MOVQ AT(R), R10                       \
	VMOVDQU DISP(SI)(R10*1), X            \
	MOVQ (AT+16)(R), R10                  \
	VINSERTI128 $1, DISP(SI)(R10*1), Y, Y

// READ sets ZLOW and ZHIGH to 16 bytes of each of eight places, DISP behind the offsets at R.
// XLOW and YLOW are parts of ZLOW; the rest is for use in between. Loads one by one take less time
// than gathering.
#define READ(R, DISP, XLOW, YLOW, ZLOW, ZHIGH, X, Y, ZT, XU, YU) \
	PAIR(0, R, DISP, XLOW, YLOW)          \
	PAIR(32, R, DISP, X, Y)               \
	VINSERTI64X4 $1, Y, ZLOW, ZLOW        \
	PAIR(8, R, DISP, X, Y)                \
	PAIR(40, R, DISP, XU, YU)             \
	VINSERTI64X4 $1, YU, ZT, ZT           \
	VPUNPCKHQDQ ZT, ZLOW, ZHIGH           \
	VPUNPCKLQDQ ZT, ZLOW, ZLOW

// UPPER does so with the headers above IP of the datagrams of K, and the beginning of the buffer in
// place of all others. Offsets go by way of R9: a CPU waits for loads of what was stored in two
// lines.
#define UPPER(K, XLOW, YLOW, ZLOW, ZHIGH) \
	VMOVDQA64.Z Z5, K, Z13                \
	VEXTRACTI64X4 $1, Z13, Y14            \
	VMOVDQA Y13, (R9)                     \
	VMOVDQA Y14, 32(R9)                   \
	READ(R9, 0, XLOW, YLOW, ZLOW, ZHIGH, X13, Y13, Z13, X14, Y14)

// CLOSE sets the halves of Y to 16 bytes behind the headers of IPv4 of the messages at AT and AT+32
// of DI.
#define CLOSE(AT, X, Y) \
	MOVL AT(DI), R10                      \
	MOVL (AT+32)(DI), AX                  \
	VMOVDQU 8(SI)(R10*1), X               \
	VINSERTI128 $1, 8(SI)(AX*1), Y, Y

// SOURCE sets Z13 to the source ports of Z9, and Z to the port that each has to be to belong to a
// tunnel.
#define SOURCE(Z) \
	VPSRLQ X25, Z9, Z13 \
	VPERMQ Z24, Z13, Z  \
	VPANDQ Z22, Z9, Z13

// func placeTunnelsAVX512(msgs *digest.Message, numbers *uint16, others *uint8, groups int, buf *byte, last int, t *Tunnels, places *tunnelPlace) (some uint64)
//
// Z2 and Z3 are the messages, Z16 their protocols. Z5 is the offset of the header above IP, Z8 how
// much follows, Z9 has the words of UDP and Z10 the tunnel's, Z12 is the offset of IP in the
// tunnel, Z7 the end. K2 marks tunnels with frames, K4 with IPv4, K6 with IPv6. R12 marks others,
// R11 datagrams that are others unless they are plain, R13 collects these.
TEXT ·placeTunnelsAVX512(SB), NOSPLIT, $128-72
	MOVQ msgs+0(FP), DI
	MOVQ numbers+8(FP), DX
	MOVQ others+16(FP), R14
	MOVQ groups+24(FP), CX
	MOVQ buf+32(FP), SI
	VPBROADCASTQ last+40(FP), Z26
	MOVQ t+48(FP), BX
	MOVQ places+56(FP), R8
	VMOVDQU64 ·datagramOrders+0x00(SB), Z29
	VMOVDQU64 ·datagramOrders+0x40(SB), Z28
	VMOVDQU64 320(BX), Z27
	VMOVDQU64 256(BX), Z30
	VMOVDQU64 160(BX), Z24
	VMOVQ 224(BX), X25
	VPBROADCASTQ ·datagramWords+0x08(SB), Z22
	VBROADCASTI64X2 ·tunnelBytes+0x00(SB), Z21
	VBROADCASTI64X2 ·tunnelBytes+0x10(SB), Z20
	VPBROADCASTQ ·datagramWords+0x28(SB), Z19
	XORL R13, R13
	LEAQ 63(SP), R9
	ANDQ $~63, R9

group:
	VPMOVZXWQ (DX), Z16
	VPSRLQ $6, Z16, Z8
	VPERMQ Z30, Z8, Z8
	VPRORVQ Z16, Z8, Z8
	VPTESTMQ.BCST ·datagramWords+0x78(SB), Z8, K1
	XORL R11, R11
	KORTESTB K1, K1
	JZ   next
	VMOVDQU64 (DI), Z2
	VMOVDQA64 Z2, Z3
	VPERMT2Q 64(DI), Z29, Z2
	VPERMT2Q 64(DI), Z28, Z3

	// Whole datagrams, and the header above IP.
	VPSRLQ $60, Z3, Z8
	VPCMPEQQ.BCST NUMBER(0x60), Z8, K1, K4
	VPCMPEQQ.BCST NUMBER(0x58), Z8, K1, K6
	KORB K4, K6, K5
	KANDNB K1, K5, K7
	KMOVB K7, R12
	VPTESTNMQ.BCST NUMBER(0x00), Z3, K4, K4
	KORB K4, K6, K1
	VPANDQ.BCST ·datagramWords+0x00(SB), Z2, Z4
	VPSRLQ $32, Z2, Z7
	VPADDQ Z4, Z7, Z7
	VPADDQ.BCST ·datagramWords+0x98(SB), Z4, Z5
	VPADDQ.BCST NUMBER(0x08), Z4, K6, Z5
	VPSUBQ Z5, Z7, Z8
	VMOVDQA64 Z5, Z12
	KXORB K2, K2, K2
	KXORB K3, K3, K3

	// Of those over UDP, the ones whose port is nearly a tunnel's.
	VPCMPEQQ.BCST NUMBER(0x78), Z16, K1, K5
	KANDNB K1, K5, K4
	KMOVB K4, R11
	VPCMPQ.BCST $5, ·datagramWords+0x98(SB), Z8, K5, K7
	VPCMPUQ $2, Z26, Z5, K7, K7
	KANDNB K5, K7, K4
	KMOVB K4, R10
	ORL  R10, R12
	KORTESTB K7, K7
	JZ   withoutUDP
	KANDNB K7, K6, K4
	KORTESTB K4, K4
	JCC  mixed

	// Nearly always, all are of IPv4. Their places need not wait for the vectors.
	CLOSE(0, X9, Y9)
	CLOSE(64, X13, Y13)
	CLOSE(16, X10, Y10)
	CLOSE(80, X14, Y14)
	VINSERTI64X4 $1, Y13, Z9, Z9
	VINSERTI64X4 $1, Y14, Z10, Z14
	VPUNPCKHQDQ Z14, Z9, Z10
	VPUNPCKLQDQ Z14, Z9, Z9

read:
	VPSRLQ $24, Z9, Z11
	VPSRLQ $30, Z9, Z13
	VPERMQ Z27, Z13, Z13
	VPRORVQ Z11, Z13, Z13
	VPTESTMQ.BCST ·datagramWords+0x78(SB), Z13, K7, K5
	SOURCE(Z11)
	VPCMPEQQ Z11, Z13, K7, K6
	KORB K6, K5, K5
	KORTESTB K5, K5
	JZ   withoutUDP

	// Tunnels, and where IP begins in them.
	VPCMPQ.BCST $5, NUMBER(0x10), Z8, K5, K7
	VPANDQ.BCST NUMBER(0x18), Z9, Z11
	VPXORQ Z15, Z15, Z15
	SHAPE(0, K2)
	KXORB K2, K7, K1 // nearly always, all are of the first shape
	KORTESTB K1, K1
	JZ   shaped
	SHAPE(32, K2)
	SHAPE(64, K2)
	SHAPE(96, K2)
	SHAPE(128, K3)

shaped:
	KORB K2, K3, K6
	VPSLLQ $2, Z15, Z15
	VPADDQ.BCST NUMBER(0x20), Z5, K6, Z12
	VPADDQ Z15, Z12, K6, Z12
	VPADDQ Z19, Z12, K2, Z12

	// Where the packet ends.
	VPSHUFB Z21, Z9, Z13
	VPADDQ  Z5, Z13, Z13
	VPMINUQ Z13, Z7, K6, Z7
	VPSHUFB Z20, Z10, Z13
	VPADDQ  Z5, Z13, Z13
	VPADDQ.BCST NUMBER(0x20), Z13, Z13
	VPMINUQ Z13, Z7, K3, Z7
	KANDNB K5, K6, K1
	KORTESTB K1, K1
	JNZ  ports

known:
	KMOVB K6, R10
	ORL  R10, R11

withoutUDP:
	TESTL R11, R11
	JZ   none
	KMOVB K3, K4
	KMOVB K3, K6
	KMOVB R11, K1
	VPCMPEQQ.BCST NUMBER(0x78), Z16, K1, K7
	KXORB K1, K7, K1
	KORTESTB K1, K1
	JNZ  upper

inside:
	ORB  R12, (R14)
	VPSUBQ Z19, Z12, Z4
	VPSUBQ Z4, Z7, Z5
	KORB K2, K4, K1
	KORB K6, K1, K1
	VPCMPQ.BCST $5, NUMBER(0xb0), Z5, K1, K1
	KANDB K1, K2, K2
	KANDB K1, K4, K4
	KANDB K1, K6, K6
	VMOVDQA64.Z Z4, K1, Z4
	VMOVDQU64 Z4, (R8)
	VMOVDQU64 Z5, 64(R8)
	KMOVB K2, 129(R8)
	KMOVB K4, 130(R8)
	KMOVB K6, 131(R8)
	ORL  R11, R13

next:
	MOVB R11, 128(R8)
	ADDQ $128, DI
	ADDQ $16, DX
	INCQ R14
	ADDQ $192, R8
	DECQ CX
	JNZ  group
	MOVQ R13, some+64(FP)
	VZEROUPPER
	RET

none:
	ORB  R12, (R14)
	JMP  next

mixed:
	UPPER(K7, X9, Y9, Z9, Z10)
	JMP  read

	// The datagrams of K1 that have the port of a tunnel are others.
ports:
	KMOVB K2, K0
	SOURCE(Z14)
	VPCMPEQQ Z14, Z13, K2
	MOVQ 232(BX), AX
	MOVQ 240(BX), R10

port:
	VPCMPEQQ.BCST (AX), Z11, K4
	KORB K4, K2, K2
	ADDQ $8, AX
	DECQ R10
	JNZ  port
	KANDB K1, K2, K1
	KMOVB K0, K2
	KMOVB K1, R10
	ORL  R10, R12
	JMP  known

	// The datagrams of K1 are not over UDP. IPv4 in IP goes to K4, IPv6 to K6, GRE to K5. Of GRE,
	// Z10 has the header, and what holds a frame stays in K5.
upper:
	VPCMPQ.BCST $5, NUMBER(0xa8), Z8, K1, K1
	VPCMPEQQ.BCST NUMBER(0x60), Z16, K1, K5
	KORB K5, K4, K4
	VPCMPEQQ.BCST NUMBER(0x68), Z16, K1, K5
	KORB K5, K6, K6
	VPCMPEQQ.BCST NUMBER(0x70), Z16, K1, K5
	KORTESTB K5, K5
	JZ   inside

	// Fields of four bytes, and types.
	UPPER(K5, X10, Y10, Z10, Z9)
	VPTESTNMQ.BCST NUMBER(0x80), Z10, K5, K5
	VPBROADCASTQ NUMBER(0x60), Z13
	VPADDQ Z13, Z12, K5, Z12
	VPSRLQ $5, Z10, Z9
	VPANDQ Z13, Z9, Z9
	VPADDQ Z9, Z12, K5, Z12
	VPSRLQ $3, Z10, Z9
	VPANDQ Z13, Z9, Z9
	VPADDQ Z9, Z12, K5, Z12
	VPSRLQ $2, Z10, Z9
	VPANDQ Z13, Z9, Z9
	VPADDQ Z9, Z12, K5, Z12
	VPSLLQ $32, Z10, Z10
	VPSRLQ $48, Z10, Z10
	VPCMPEQQ.BCST NUMBER(0x88), Z10, K5, K1
	KORB K1, K4, K4
	VPCMPEQQ.BCST NUMBER(0x90), Z10, K5, K1
	KORB K1, K6, K6
	VPCMPEQQ.BCST NUMBER(0xa0), Z10, K5, K1
	VPADDQ Z9, Z12, K1, Z12
	VPADDQ Z9, Z12, K1, Z12
	VPCMPEQQ.BCST NUMBER(0x98), Z10, K5, K5
	KORB K1, K5, K5
	VPADDQ Z19, Z12, K5, Z12
	KORB K5, K2, K2
	JMP  inside

// func readTunnelsAVX512(msgs *digest.Message, numbers *uint16, rest, others *uint8, groups int, buf *byte, d *Datagrams, places *tunnelPlace) (cut, broken uint64)
//
// Registers are as in datagram_amd64.h. Before that, K2 marks frames, K4 IPv4 and K6 IPv6, R11
// datagrams that are others unless they are plain. K0 collects datagrams that were captured in
// part, R13 those that no receiver takes.
TEXT ·readTunnelsAVX512(SB), NOSPLIT, $0-80
	MOVQ msgs+0(FP), DI
	MOVQ numbers+8(FP), DX
	MOVQ rest+16(FP), R8
	MOVQ others+24(FP), R14
	MOVQ groups+32(FP), CX
	MOVQ buf+40(FP), SI
	MOVQ d+48(FP), AX
	MOVQ places+56(FP), BX
	CONSTANTS
	VMOVDQU64 ·datagramOrders+0x40(SB), Z28
	VMOVDQU64 ·datagramOrders+0x80(SB), Z27
	VMOVDQU64 ·datagramOrders+0xc0(SB), Z26
	VPBROADCASTQ 144(AX), Z18
	VPBROADCASTQ 152(AX), Z17
	VPBROADCASTQ ·datagramWords+0x90(SB), Z16
	KXORB K0, K0, K0
	XORL R13, R13

group:
	MOVBLZX 128(BX), R11
	TESTL R11, R11
	JZ   next
	KMOVB 129(BX), K2
	KMOVB 130(BX), K4
	KMOVB 131(BX), K6
	VMOVDQU64 (BX), Z4
	VMOVDQU64 64(BX), Z5
	KORB K2, K4, K1
	KORB K6, K1, K1
	WIDEFRAMES(BX, 8)

	// Whether it is IP.
	VPANDQ.BCST NUMBER(0x28), Z6, Z9
	VPCMPEQQ.BCST NUMBER(0x48), Z9, K4, K4
	VPCMPEQQ.BCST NUMBER(0x50), Z9, K6, K6
	KORTESTB K2, K2
	JNZ  frames

typed:
	KORB K4, K6, K5
	KMOVB K5, R10
	ANDNL R11, R10, R11
	ORB  R11, (R14)
	DATAGRAMS(0x38)
	BREAKS
	KMOVB K5, R11
	ANDNL R10, R11, R10
	ORB  R10, (R8)
	TWEAKS(cut)

place:
	VMOVDQU64 (DI), Z2
	VMOVDQA64 Z2, Z3
	VPERMT2Q 64(DI), Z29, Z2
	VPERMT2Q 64(DI), Z28, Z3
	VPADDD Z19, Z4, Z4
	VPADDD Z8, Z4, Z4
	VPSUBD Z8, Z12, Z12
	VPSLLQ $32, Z12, Z12
	VPORQ  Z12, Z4, K5, Z2
	VMOVDQA64 Z14, K5, Z3
	VMOVDQA64 Z2, Z0
	VPERMT2Q Z3, Z27, Z0
	VPERMT2Q Z3, Z26, Z2
	VMOVDQU64 Z0, (DI)
	VMOVDQU64 Z2, 64(DI)

	// Protocols, 0 for the slow path.
	VPMOVZXWQ (DX), Z2
	VMOVDQA64 Z13, K5, Z2
	KMOVB R10, K1
	KNOTB K1, K1
	VMOVDQA64.Z Z2, K1, Z2
	VPMOVQW Z2, (DX)

next:
	ADDQ $128, DI
	ADDQ $16, DX
	INCQ R8
	INCQ R14
	ADDQ $192, BX
	DECQ CX
	JNZ  group
	KMOVB K0, R10
	MOVQ R10, cut+64(FP)
	MOVQ R13, broken+72(FP)
	VZEROUPPER
	RET

cut:
	CUTTWEAKS
	JMP  place

	// The frames of K2 have a type, and up to two tags before it.
frames:
	MOVQ $3, R15

type:
	VPANDQ.BCST NUMBER(0x30), Z6, Z9
	VPCMPEQQ.BCST NUMBER(0x38), Z9, K2, K3
	VPCMPEQQ.BCST NUMBER(0x40), Z9, K2, K7
	KORB K3, K4, K4
	KORB K7, K6, K6
	KORB K3, K7, K3
	KANDNB K2, K3, K2
	KORTESTB K2, K2
	JZ   typed
	DECQ R15
	JZ   typed
	VPANDQ Z22, Z6, Z9
	VPCMPEQQ.BCST ·datagramWords+0x10(SB), Z9, K2, K3
	VPCMPEQQ.BCST ·datagramWords+0x18(SB), Z9, K2, K7
	KORB K3, K7, K3
	VPCMPEQQ.BCST ·datagramWords+0x20(SB), Z9, K2, K7
	KORB K3, K7, K2
	VPCMPQ.BCST $5, NUMBER(0xb8), Z5, K2, K2
	KORTESTB K2, K2
	JZ   typed
	VPADDQ.BCST NUMBER(0x60), Z4, K2, Z4
	VPSUBQ.BCST NUMBER(0x60), Z5, K2, Z5
	VMOVDQU64 Z4, (BX)
	WIDEFRAMES(BX, 8)
	JMP  type
