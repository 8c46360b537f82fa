// SPDX-License-Identifier: Apache-2.0

// AES on one block a register (the AES extension). The round keys stand in V16 to V26.
// AESE adds its key before the substitution, so a round here is the key of one round and
// the rest of the next.

// KEYS loads the round keys at AT, and moves AT.
#define KEYS(AT) \
	VLD1.P 64(AT), [V16.B16, V17.B16, V18.B16, V19.B16] \
	VLD1.P 64(AT), [V20.B16, V21.B16, V22.B16, V23.B16] \
	VLD1 (AT), [V24.B16, V25.B16, V26.B16]

#define ROUND1(KEY, S) \
	AESE  KEY.B16, S.B16 \
	AESMC S.B16, S.B16

#define LAST1(S) \
	AESE V25.B16, S.B16 \
	VEOR V26.B16, S.B16, S.B16

// ENCRYPT1 encrypts V0.
#define ENCRYPT1 \
	ROUND1(V16, V0) \
	ROUND1(V17, V0) \
	ROUND1(V18, V0) \
	ROUND1(V19, V0) \
	ROUND1(V20, V0) \
	ROUND1(V21, V0) \
	ROUND1(V22, V0) \
	ROUND1(V23, V0) \
	ROUND1(V24, V0) \
	LAST1(V0)
