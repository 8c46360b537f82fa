// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"

// PACKET takes the next packet, or jumps to end. It leaves the address of its cell's
// state in DX, the state in AX, and the time in R12. It leaves masks: at home in R14, and
// no miss in R13, which also sets the CPU's flags.
#define PACKET \
	MOVQ (SI)(CX*8), AX \
	MOVQ AX, DX \
	ANDQ mask+8(FP), DX \
	SHLQ $6, DX \
	ADDQ lines+0(FP), DX \
	VPBROADCASTD 4(SI)(CX*8), X0 \
	VPBROADCASTD (R9)(CX*8), X1 \
	VPCMPEQD (DX), X0, X0 \
	VPCMPEQD 16(DX), X1, X1 \
	VPSHUFD $0xd8, X0, X0 \
	VPSHUFD $0xd8, X1, X1 \
	VMOVMSKPS X0, BX \
	VMOVMSKPS X1, R14 \
	TESTQ AX, AX \
	JZ    end \
	MOVQ  fragments-32(SP), AX \
	CMPQ  (AX)(CX*8), $0 \
	JNE   end \
	BSFL  BX, AX \
	JZ    end \
	LEAQ  32(DX)(AX*8), DX \
	MOVL  BX, AX \
	NEGL  AX \
	ANDL  AX, BX \
	ANDL  BX, R14 \
	MOVQ  (DX), AX \
	TESTQ AX, AX \
	JPL   end \
	MOVQ  (R10)(CX*8), R12 \
	CMPQ  R12, $1 \
	JOS   end \
	NEGL  R14 \
	SBBQ  R14, R14 \
	MOVQ  R11, R13 \
	ANDL  $1, R13 \
	NEGQ  R13 \
	SHRQ  $1, R11 \
	ORQ   R14, R13

// NEXT counts a packet, and jumps if there are more.
#define NEXT(MORE) \
	SHRQ $1, R15 \
	SHLQ $63, R14 \
	ORQ  R14, R15 \
	INCQ CX \
	CMPQ CX, n+24(FP) \
	JLT  MORE

// func atHomeAVX2(lines *[8]uint64, mask uint64, s *Sightings, n int, r *HomeRule) (home uint64, done int)
TEXT ·atHomeAVX2(SB), NOSPLIT, $40-56
	MOVQ s+16(FP), AX
	MOVQ 0(AX), SI // conversations
	MOVQ 24(AX), BX
	MOVQ BX, fragments-32(SP)
	MOVQ 48(AX), R9  // points
	MOVQ 72(AX), R10 // times
	MOVQ 96(AX), R11 // copies
	MOVQ r+32(FP), R12
	MOVQ 0(R12), AX
	MOVQ AX, silence-8(SP)
	MOVQ 8(R12), BX
	INCQ BX
	CMPQ AX, BX
	CMOVQCS AX, BX
	MOVQ BX, hold-16(SP) // how long a full row may last
	MOVQ 16(R12), AX
	MOVQ AX, misses-24(SP)
	MOVQ $0, zero-40(SP)
	XORL CX, CX
	XORL R15, R15 // packets at home, the last in the top bit

	// As long as there are no misses, their handling takes no time.
packet:
	PACKET
	JZ   miss
	SHRQ $6, R12
	BTSQ $63, R12
	TESTQ R14, R14
	CMOVQNE R12, AX
	MOVQ AX, (DX)
	NEXT(packet)
	JMP  end

	// Then nothing can predict the misses.
any:
	PACKET

miss:
	// After a miss: the misses in AX, since when in BX, how long in R8, and the least time
	// at which the home moves in DI.
	MOVQ AX, BX
	SHLQ $6, BX
	SHRQ $58, AX
	ANDL $31, AX
	CMPQ R12, BX
	CMOVQLT zero-40(SP), AX
	TESTQ AX, AX
	CMOVQEQ R12, BX
	INCQ AX
	MOVQ silence-8(SP), DI
	CMPQ AX, misses-24(SP)
	CMOVQCC misses-24(SP), AX
	CMOVQCC hold-16(SP), DI
	MOVQ R12, R8
	SUBQ BX, R8

	// The state after a miss in AX, and at home in R12.
	SHLQ $58, AX
	SHRQ $6, BX
	ORQ  BX, AX
	BTSQ $63, AX
	SHRQ $6, R12
	BTSQ $63, R12

	// DI is 0 only if the home moves.
	CMPQ R8, DI
	SBBQ DI, DI
	ORQ  R13, DI
	JZ   end
	TESTQ R13, R13
	CMOVQNE (DX), AX
	TESTQ R14, R14
	CMOVQNE R12, AX
	MOVQ AX, (DX)
	NEXT(any)

end:
	MOVQ CX, done+48(FP)
	NEGQ CX
	SHRQ CX, R15
	MOVQ R15, home+40(FP)
	RET
