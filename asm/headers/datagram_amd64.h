// SPDX-License-Identifier: Apache-2.0

// The common part of the datagram kernels. A word of 64 bits for each of eight frames
// stands in
//
//	Z2        the message: offset and length
//	Z4, Z5    offset of the frame without its tags, captured bytes
//	Z6, Z7    bytes 12 to 19 and 20 to 27
//	Z9, Z10   bytes 0 to 7 and 8 to 13 of the datagram, big-endian
//	Z11, Z12  its length as stated, and as captured
//	Z13       its protocol
//
// K1 marks frames that can be read, K4 those of IPv4, K6 those of IPv6, K5 those that do
// not take the slow path. Z8 and K2, K3 and K7 are for use in between.

// WORD sets all words of Z to one of the numbers.
#define WORD(OFFSET, Z) VPBROADCASTQ ·datagramWords+OFFSET(SB), Z

// CONSTANTS loads Z19 to Z25, and Z29, permanently. From AX it loads the protocols that
// take the slow path to Z31, and the types to Z1, Z20 and Z21.
#define CONSTANTS \
	VMOVDQU64 ·datagramOrders+0x00(SB), Z29      \
	VBROADCASTI64X2 ·datagramBytes+0x00(SB), Z25 \
	VBROADCASTI64X2 ·datagramBytes+0x10(SB), Z24 \
	VBROADCASTI64X2 ·datagramBytes+0x20(SB), Z23 \
	WORD(0x08, Z22)       \
	VPBROADCASTQ 64(AX), Z1  \
	VPBROADCASTQ 96(AX), Z21 \
	VPBROADCASTQ 104(AX), Z20 \
	WORD(0x28, Z19)       \
	VMOVDQU64 (AX), Z31

// TYPES finds the type of each frame; K5 is either.
#define TYPES \
	VPANDQ Z1, Z6, Z8        \
	VPCMPEQQ Z21, Z8, K4     \
	VPCMPEQQ Z20, Z8, K6     \
	KORB K4, K6, K5

// FOURTH sets Y to bytes 12 to 27 of two frames, every fourth of those at OFFSET of DI.
#define FOURTH(OFFSET, X, Y) \
	MOVL OFFSET(DI), R10                              \
	MOVL OFFSET+32(DI), R11                           \
	VMOVDQU 12(SI)(R10*1), X                          \
	VINSERTI128 $1, 12(SI)(R11*1), Y, Y

// PLACES reads the messages at DI, and goes to BEYOND if some start, in the buffer at SI, after Z30.
#define PLACES(BEYOND) \
	VMOVDQU64 (DI), Z2                                \
	VPERMT2Q 64(DI), Z29, Z2                          \
	VPANDQ.BCST ·datagramWords+0x00(SB), Z2, Z4       \
	VPSRLQ $32, Z2, Z5                                \
	VPCMPUQ $2, Z30, Z4, K1                           \
	KMOVB K1, R10                                     \
	CMPL R10, $0xff                                   \
	JNE  BEYOND

// FRAMES reads the frames. Loads one by one take half the time of gathering.
#define FRAMES \
	FOURTH(0, X6, Y6)                                 \
	FOURTH(64, X7, Y7)                                \
	VINSERTI64X4 $1, Y7, Z6, Z6                       \
	FOURTH(16, X7, Y7)                                \
	FOURTH(80, X8, Y8)                                \
	VINSERTI64X4 $1, Y8, Z7, Z8                       \
	VPUNPCKHQDQ Z8, Z6, Z7                            \
	VPUNPCKLQDQ Z8, Z6, Z6

// HALF sets Z to bytes 4 to 35 of two frames, whose offsets are at OFFSET, and STEP behind it, of R.
#define HALF(R, OFFSET, STEP, Y, Z) \
	MOVL OFFSET(R), R10                               \
	MOVL OFFSET+STEP(R), R9                          \
	VMOVDQU 4(SI)(R10*1), Y                           \
	VINSERTI64X4 $1, 4(SI)(R9*1), Z, Z

// WIDEFRAMES sets Z6, Z7 and Z3 to bytes 12 to 19, 20 to 27, and 28 to 35 of eight frames, whose
// offsets are at R, each STEP behind the one before. Z8 to Z11 are for use in between.
#define WIDEFRAMES(R, STEP) \
	HALF(R, 0, 2*STEP, Y8, Z8)                        \
	HALF(R, STEP, 2*STEP, Y9, Z9)                     \
	HALF(R, 4*STEP, 2*STEP, Y10, Z10)                 \
	HALF(R, 5*STEP, 2*STEP, Y11, Z11)                 \
	VPUNPCKHQDQ Z9, Z8, Z6                            \
	VPUNPCKLQDQ Z9, Z8, Z7                            \
	VPUNPCKHQDQ Z11, Z10, Z9                          \
	VPUNPCKLQDQ Z11, Z10, Z8                          \
	VSHUFI64X2 $0xdd, Z9, Z6, Z3                      \
	VSHUFI64X2 $0x88, Z9, Z6, Z6                      \
	VSHUFI64X2 $0xdd, Z8, Z7, Z7

// TAILS sets Z3 to bytes 28 to 35 of the frames of K1.
#define TAILS \
	KMOVB K1, K2                                      \
	VPXORQ Z3, Z3, Z3                                 \
	VPGATHERQQ 28(SI)(Z4*1), K2, Z3

// BREAKS adds to R13 the datagrams of K5 that no receiver takes. It uses Z3, and Z8 and R9 in between.
// A header is summed in words of 64 bits, whose carries count once more, since 2^64 is 1 modulo
// 0xffff. Of numbers of 64 bits, the multiples of 0xffff are those that its inverse takes to
// the smallest.
#define BREAKS \
	VPSRLQ $16, Z6, Z8                                \
	VPANDQ.BCST ·datagramWords+0x140(SB), Z3, Z3      \
	VPADDQ Z3, Z8, Z8                                 \
	VPADDQ Z7, Z8, Z8                                 \
	VPCMPUQ $1, Z7, Z8, K4, K2                        \
	VPADDQ.BCST ·datagramWords+0x78(SB), Z8, K2, Z8   \
	VPMULLQ.BCST ·datagramWords+0x148(SB), Z8, Z8     \
	VPCMPUQ.BCST $6, ·datagramWords+0x160(SB), Z8, K4, K2 \
	VPTESTMQ.BCST ·datagramWords+0x150(SB), Z7, K2, K2 \
	VPTESTNMQ.BCST ·datagramWords+0x158(SB), Z7, K4, K3 \
	KORB K2, K3, K2                                   \
	VPTESTNMQ.BCST ·datagramWords+0x88(SB), Z7, K6, K3 \
	KORB K2, K3, K2                                   \
	KANDB K5, K2, K2                                  \
	KMOVB K2, R9                                      \
	ORL  R9, R13

// SOMEFRAMES reads the frames that are not beyond.
#define SOMEFRAMES \
	KMOVB K1, K2                                      \
	KMOVB K1, K3                                      \
	VPXORQ Z6, Z6, Z6                                 \
	VPXORQ Z7, Z7, Z7                                 \
	VPGATHERQQ 12(SI)(Z4*1), K2, Z6                   \
	VPGATHERQQ 20(SI)(Z4*1), K3, Z7

// TAGGED marks in K2, and the flags, the frames that start with a tag.
#define TAGGED \
	VPCMPEQQ.BCST ·datagramWords+0x10(SB), Z8, K1, K2 \
	VPCMPEQQ.BCST ·datagramWords+0x18(SB), Z8, K1, K3 \
	KORB K2, K3, K2                                   \
	VPCMPEQQ.BCST ·datagramWords+0x20(SB), Z8, K1, K3 \
	KORB K2, K3, K2                                   \
	KORTESTB K2, K2

// UNTAG takes a tag out of the frames of K2.
#define UNTAG \
	VPADDQ.BCST ·datagramWords+0x70(SB), Z4, K2, Z4   \
	VPMAXUQ.BCST ·datagramWords+0x70(SB), Z5, K2, Z5  \
	VPSUBQ.BCST ·datagramWords+0x70(SB), Z5, K2, Z5   \
	VPCMPUQ $2, Z30, Z4, K1, K1                       \
	KANDB K1, K2, K2                                  \
	KMOVB K2, K3                                      \
	VPGATHERQQ 12(SI)(Z4*1), K2, Z6                   \
	VPGATHERQQ 20(SI)(Z4*1), K3, Z7                   \
	TYPES

// DATAGRAMS reads the headers: version, length, protocol. BITS is the place of the mask of
// the bits of IPv4 that must have a value.
#define DATAGRAMS(BITS) \
	KANDB K1, K5, K5                                  \
	VPSHUFB Z25, Z6, Z9                               \
	VPSHUFB Z24, Z7, Z10                              \
	VPORQ   Z10, Z9, Z9                               \
	VPSHUFB Z23, Z7, Z10                              \
	VPANDQ.BCST ·datagramWords+BITS(SB), Z9, Z11      \
	VPCMPEQQ.BCST ·datagramWords+0x40(SB), Z11, K4, K4 \
	VPANDQ.BCST ·datagramWords+0x48(SB), Z9, Z11      \
	VPCMPEQQ.BCST ·datagramWords+0x50(SB), Z11, K6, K7 \
	KORB  K4, K7, K7                                  \
	KANDB K7, K5, K5                                  \
	VPSRLQ $32, Z9, Z11                               \
	VPSRLQ $16, Z9, K6, Z11                           \
	VPANDQ Z22, Z11, Z11                              \
	VPADDQ.BCST ·datagramWords+0x30(SB), Z11, K6, Z11 \
	VPMAXUD Z19, Z5, Z5                               \
	VPSUBD  Z19, Z5, Z5                               \
	VPMINUD Z5, Z11, Z12                              \
	VPCMPUQ.BCST $5, ·datagramWords+0x58(SB), Z12, K5, K5 \
	VPCMPUQ.BCST $1, ·datagramWords+0x60(SB), Z12, K6, K7 \
	KANDNB K5, K7, K5                                 \
	VPSRLQ $48, Z10, Z13                              \
	VPSRLQ $8, Z9, K6, Z13                            \
	VPANDQ.BCST ·datagramWords+0x68(SB), Z13, Z13     \
	VPSRLQ $6, Z13, Z8                                \
	VPADDQ.BCST ·datagramWords+0x70(SB), Z8, K6, Z8   \
	VPERMQ Z31, Z8, Z8                                \
	VPRORVQ Z13, Z8, Z8                               \
	VPTESTNMQ.BCST ·datagramWords+0x78(SB), Z8, K5, K5

// TWEAKS sets Z14 to the tweaks of the datagrams of K5, and Z8 to the offset of messages behind the
// beginning of IP headers. K0 collects datagrams that were truncated. It goes to CUT, which
// jumps back behind it, if some of IPv6 are.
#define TWEAKS(CUT) \
	VPCMPUQ $4, Z12, Z11, K5, K2                      \
	KORB K2, K0, K0                                   \
	VPANDQ Z18, Z9, Z14                               \
	VPANDQ Z17, Z9, K6, Z14                           \
	VPANDQ.BCST ·datagramWords+0x80(SB), Z10, Z8      \
	VPSRLQ $32, Z10, K6, Z8                           \
	VPANDQ.BCST ·datagramWords+0x88(SB), Z9, Z15      \
	VPSLLQ.Z $44, Z15, K6, Z15                        \
	VPTERNLOGQ $0xfe, Z15, Z8, Z14                    \
	VMOVDQA64 Z16, Z8                                 \
	VPCMPUQ $4, Z12, Z11, K6, K7                      \
	KORTESTB K7, K7                                   \
	JNZ  CUT

// CUTTWEAKS is for the datagrams of K7, whose payload lengths differ from the captured bytes.
#define CUTTWEAKS \
	VPORQ.BCST ·datagramWords+0xa0(SB), Z17, Z15      \
	VPANDQ Z15, Z9, K7, Z14                           \
	VPORQ.BCST ·datagramWords+0xa8(SB), Z14, K7, Z14  \
	VPBROADCASTQ ·datagramWords+0x98(SB), K7, Z8
