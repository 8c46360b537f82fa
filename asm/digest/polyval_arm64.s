// SPDX-License-Identifier: Apache-2.0

//go:build arm64 && !purego

#include "textflag.h"
#include "aes_arm64.h"

// Masks of last blocks: the 16 bytes that begin n bytes before the middle keep the first n bytes of a block.
DATA ·blockMasks+0x00(SB)/8, $0xffffffffffffffff
DATA ·blockMasks+0x08(SB)/8, $0xffffffffffffffff
DATA ·blockMasks+0x10(SB)/8, $0
DATA ·blockMasks+0x18(SB)/8, $0
GLOBL ·blockMasks(SB), RODATA|NOPTR, $32

#define DONE done+48(FP)

// func sumMessagesNEON(dst *Digest, buf *byte, size int, msgs *Message, n int, key *messageKey) (done int)
TEXT ·sumMessagesNEON(SB), NOSPLIT, $16-56
#include "polyval_arm64.h"
