// SPDX-License-Identifier: Apache-2.0

//go:build arm64 && !purego

#include "textflag.h"
#include "aes_arm64.h"

#define MASKED
#define DONE done+64(FP)

// func sumMaskedNEON(dst *Digest, buf *byte, size int, msgs *Message, n int, key *messageKey, which *uint8, masks *Mask) (done int)
TEXT ·sumMaskedNEON(SB), NOSPLIT, $16-72
#include "polyval_arm64.h"
