// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

#include "textflag.h"

#define MASKED
#define DONE done+64(FP)

// func sumMaskedAESNI(dst *Digest, buf *byte, size int, msgs *Message, n int, key *messageKey, which *uint8, masks *Mask) (done int)
TEXT ·sumMaskedAESNI(SB), NOSPLIT, $16-72
#include "polyval_ni_amd64.h"
