// SPDX-License-Identifier: Apache-2.0

// Random words on vectors (see prng).

// PRNG512 sets X to the words r1 of eight elements: X has the low halves of their digests
// and P their positions times golden, which it overwrites. MIX is prngMix.
#define PRNG512(X, P, MIX) \
	VPXORQ  P, X, X    \
	VPSRLQ  $32, X, P  \
	VPXORQ  P, X, X    \
	VPMULLQ MIX, X, X  \
	VPSRLQ  $29, X, P  \
	VPXORQ  P, X, X    \
	VPMULLQ MIX, X, X  \
	VPSRLQ  $32, X, P  \
	VPXORQ  P, X, X

// PRODUCT256 multiplies A by LOW, modulo 2^64. HIGH is LOW's upper half. It overwrites Y5
// and Y6.
#define PRODUCT256(LOW, HIGH, A) \
	VPSRLQ   $32, A, Y5  \
	VPMULUDQ LOW, Y5, Y5 \
	VPMULUDQ HIGH, A, Y6 \
	VPMULUDQ LOW, A, A   \
	VPADDQ   Y6, Y5, Y5  \
	VPSLLQ   $32, Y5, Y5 \
	VPADDQ   Y5, A, A

// PRNG256 is PRNG512 for four elements. MIXHIGH is MIX's upper half.
#define PRNG256(X, P, MIX, MIXHIGH) \
	VPXOR  P, X, X                \
	VPSRLQ $32, X, P              \
	VPXOR  P, X, X                \
	PRODUCT256(MIX, MIXHIGH, X)   \
	VPSRLQ $29, X, P              \
	VPXOR  P, X, X                \
	PRODUCT256(MIX, MIXHIGH, X)   \
	VPSRLQ $32, X, P              \
	VPXOR  P, X, X
