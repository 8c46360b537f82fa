// SPDX-License-Identifier: Apache-2.0

// Package wordset packs ascending 64-bit words into few bytes.
//
// Words are packed in blocks. A block has the difference from each word to the next in a
// Rice code (Rice, Plaunt, Adaptive Variable-Length Coding for Efficient Compression of
// Spacecraft Television Data, IEEE Transactions on Communication Technology, 1971): the
// quotient by a power of two in unary, then the rest. For n words that lie anywhere below
// 2^w, as the words of keyed digests do, a word takes w - log2(n) + 1.5 bits: 5.3 bytes
// for ten million words of 64 bits, and 1.3 for ten million of 32. No code takes less
// than w - log2(n) + 1.44. Packed takes whole bytes instead, and no sorting.
//
// Errors wrap ErrInvalid.
package wordset
