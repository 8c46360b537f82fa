// SPDX-License-Identifier: Apache-2.0

// BEHINDLABELS is a part of the AVX-512 kernel of datagrams, whose registers it uses: it moves the
// frames of K2, with labels, and of K3, with PPPoE, so that IP follows where a frame has it, and
// marks in K4, K5 and K6 those that have it. Z3, Z9 to Z14, K7, R9 and R12 are for use in between.
// It has the labels ENTRY, BOTTOM and VERSIONS.
//
// In between, K5 marks frames whose stack ended, and K4 and K6 those that may have IPv4 and IPv6.

// TABLE keeps in K3 the frames for whose lowest byte of X the table at OFFSET of AX has a bit.
#define TABLE(OFFSET, X) \
	VBROADCASTI64X4 OFFSET(AX), Z14                   \
	VPSRLQ $6, X, Z12                                 \
	VPERMQ Z14, Z12, Z12                              \
	VPRORVQ X, Z12, Z12                               \
	VPTESTMQ.BCST ·datagramWords+0x78(SB), Z12, K3, K3

// NOTTYPE keeps in K7 the frames whose type in Z12 is not the one at OFFSET.
#define NOTTYPE(OFFSET) \
	VPCMPUQ.BCST $4, ·datagramWords+OFFSET(SB), Z12, K7, K7

// HALVES adds every other number of 16 bits in X, and the others, to those of 32 in Z10.
#define HALVES(X) \
	VPANDQ Z13, X, Z9      \
	VPADDD Z9, Z10, Z10    \
	VPSRLQ $16, X, Z9      \
	VPANDQ Z13, Z9, Z9     \
	VPADDD Z9, Z10, Z10

// FOLD16 adds what exceeds 16 bits in Z10 to its lower ones.
#define FOLD16 \
	VPSRLQ $16, Z10, Z9    \
	VPANDQ Z22, Z10, Z10   \
	VPADDQ Z9, Z10, Z10

// SURELYIP keeps in K4 and K6, of the frames of K5, those in which IP is certain.
#define SURELYIP \
	KANDB K4, K5, K2                                  \
	KANDB K6, K5, K3                                  \
	VPCMPUQ.BCST $5, ·datagramWords+0xe8(SB), Z5, K3, K3 \
	VMOVDQA64 Z4, Z10                                 \
	VPADDQ.BCST ·datagramWords+0x90(SB), Z10, K3, Z10 \
	KORB K2, K3, K7                                   \
	VPXORQ Z11, Z11, Z11                              \
	VPGATHERQQ 26(SI)(Z10*1), K7, Z11                 \
	KORB K2, K3, K7                                   \
	VPSRLQ $48, Z7, Z12                               \
	NOTTYPE(0x120)                                    \
	NOTTYPE(0x128)                                    \
	NOTTYPE(0x10)                                     \
	NOTTYPE(0x18)                                     \
	NOTTYPE(0x20)                                     \
	NOTTYPE(0x130)                                    \
	VPSHUFB Z25, Z6, Z9                               \
	VPSRLQ $32, Z9, Z10                               \
	VPSRLQ $16, Z9, K3, Z10                           \
	VPANDQ Z22, Z10, Z10                              \
	VPADDQ Z19, Z10, Z10                              \
	VPADDQ.BCST ·datagramWords+0x30(SB), Z10, K3, Z10 \
	VMOVDQU64 (DI), Z3                                \
	VPERMT2Q 64(DI), Z28, Z3                          \
	VPANDQ.BCST ·datagramWords+0x00(SB), Z3, Z3       \
	VPSRLQ $32, Z2, Z13                               \
	VPMAXUQ Z13, Z3, Z3                               \
	VPSUBQ Z13, Z3, Z3                                \
	VPADDQ Z5, Z3, Z3                                 \
	VPCMPUQ $2, Z3, Z10, K7, K7                       \
	KANDB K7, K2, K2                                  \
	KANDB K7, K3, K3                                  \
	VPBROADCASTQ ·datagramWords+0x138(SB), Z13        \
	VPXORQ Z10, Z10, Z10                              \
	VPSRLQ $16, Z6, Z12                               \
	HALVES(Z12)                                       \
	HALVES(Z7)                                        \
	VPSRLQ $16, Z11, Z12                              \
	HALVES(Z12)                                       \
	VPSRLQ $32, Z10, Z9                               \
	VPANDQ.BCST ·datagramWords+0x00(SB), Z10, Z10     \
	VPADDQ Z9, Z10, Z10                               \
	FOLD16                                            \
	FOLD16                                            \
	VPCMPEQQ Z22, Z10, K2, K2                         \
	VPTESTMQ.BCST ·datagramWords+0x88(SB), Z7, K3, K3 \
	TABLE(696, Z7)                                    \
	VPSRLQ $16, Z7, Z9                                \
	TABLE(728, Z9)                                    \
	TABLE(760, Z11)                                   \
	KANDNB K4, K5, K4                                 \
	KORB K2, K4, K4                                   \
	KANDNB K6, K5, K6                                 \
	KORB K3, K6, K6

#define BEHINDLABELS(ENTRY, BOTTOM, VERSIONS) \
	KMOVB K4, R9                                      \
	KMOVB K6, R12                                     \
	VPCMPUQ.BCST $5, ·datagramWords+0xd8(SB), Z5, K3, K3 \
	VPANDQ Z22, Z7, Z9                                \
	VPCMPEQQ.BCST ·datagramWords+0xf0(SB), Z9, K3, K4 \
	VPCMPEQQ.BCST ·datagramWords+0xf8(SB), Z9, K3, K6 \
	KORB K4, K6, K3                                   \
	VPADDQ.BCST ·datagramWords+0x98(SB), Z4, K3, Z4   \
	VPSUBQ.BCST ·datagramWords+0x98(SB), Z5, K3, Z5   \
	KXORB K5, K5, K5                                  \
ENTRY: \
	VPCMPUQ.BCST $5, ·datagramWords+0xe0(SB), Z5, K2, K2 \
	VPTESTMQ.BCST ·datagramWords+0x100(SB), Z6, K2, K7 \
	VPADDQ.BCST ·datagramWords+0x70(SB), Z4, K2, Z4   \
	VPSUBQ.BCST ·datagramWords+0x70(SB), Z5, K2, Z5   \
	KORB K7, K5, K5                                   \
	KANDNB K2, K7, K2                                 \
	KORTESTB K2, K2                                   \
	JZ BOTTOM                                         \
	KMOVB K2, K7                                      \
	VPGATHERQQ 12(SI)(Z4*1), K7, Z6                   \
	JMP ENTRY                                         \
BOTTOM: \
	KORB K3, K5, K2                                   \
	KMOVB K2, K7                                      \
	VPGATHERQQ 12(SI)(Z4*1), K2, Z6                   \
	VPGATHERQQ 20(SI)(Z4*1), K7, Z7                   \
	VPANDQ.BCST ·datagramWords+0x108(SB), Z6, Z9      \
	KORB K5, K4, K4                                   \
	KORB K5, K6, K6                                   \
	VPCMPEQQ.BCST ·datagramWords+0x110(SB), Z9, K4, K4 \
	VPCMPEQQ.BCST ·datagramWords+0x118(SB), Z9, K6, K6 \
	KORTESTB K5, K5                                   \
	JZ VERSIONS                                       \
	SURELYIP                                          \
VERSIONS: \
	KMOVB R9, K7                                      \
	KORB K7, K4, K4                                   \
	KMOVB R12, K7                                     \
	KORB K7, K6, K6                                   \
	KORB K4, K6, K5
