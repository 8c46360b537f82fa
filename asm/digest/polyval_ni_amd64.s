// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"

// Masks of last blocks: the 16 bytes that begin n bytes before the middle keep the first n bytes
// of a block.
DATA ·blockMasks+0x00(SB)/8, $0xffffffffffffffff
DATA ·blockMasks+0x08(SB)/8, $0xffffffffffffffff
DATA ·blockMasks+0x10(SB)/8, $0
DATA ·blockMasks+0x18(SB)/8, $0
GLOBL ·blockMasks(SB), RODATA|NOPTR, $32

#define DONE done+48(FP)

// func sumMessagesAESNI(dst *Digest, buf *byte, size int, msgs *Message, n int, key *messageKey) (done int)
TEXT ·sumMessagesAESNI(SB), NOSPLIT, $16-56
#include "polyval_ni_amd64.h"
