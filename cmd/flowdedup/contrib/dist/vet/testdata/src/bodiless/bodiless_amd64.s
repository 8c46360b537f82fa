// SPDX-License-Identifier: Apache-2.0

// func double(x uint64) uint64
TEXT ·double(SB), 4, $0-16
	MOVQ x+0(FP), AX
	ADDQ AX, AX
	MOVQ AX, ret+8(FP)
	RET

// func former(x uint64) uint64
TEXT ·former(SB), 4, $0-16
	RET
