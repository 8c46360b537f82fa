package digest

import (
	"crypto/aes"
	"crypto/cipher"

	"github.com/flowdedup/flowdedup/asm/internal/cpu"
)

// AES computes digests with AES-128 (FIPS 197) under one secret key.
//
// The digest of a 16-byte key is one encryption, so distinct keys have distinct digests.
// Such a secret permutation keeps filters sound against streams that are made to attack
// them (Naor and Yogev, "Bloom Filters in Adversarial Environments", CRYPTO 2015). Longer
// inputs have a CBC-MAC, whose length is fixed (Sum48) or part of the first block
// (SumMessages). In both cases CBC-MAC is a pseudo-random function (Bellare, Kilian,
// Rogaway, "The Security of the Cipher Block Chaining Message Authentication Code", JCSS
// 61(3), 2000). The proofs hold for one use of a key: give Sum16, Sum48 and SumMessages
// keys of their own.
//
// All three write the digest of input i to dst[i]. Digests are the same on every CPU. An
// AES is immutable, so any number of goroutines may use it at once. No method allocates.
// Each takes time linear in its input.
type AES struct {
	block    cipher.Block
	schedule *aesSchedule
	level    cpu.Level
}

// NewAES expands key.
func NewAES(key [16]byte) *AES {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic("digest: NewAES: " + err.Error()) // only for keys of a wrong size
	}
	return &AES{block: block, schedule: newAESSchedule(key), level: cpu.BestAES}
}

// Sum16 sets dst[i] to E(keys[i]), one AES-128 encryption. It panics if dst is shorter
// than keys. The two must not share memory.
func (a *AES) Sum16(dst []Digest, keys [][16]byte) {
	if len(dst) < len(keys) {
		panic("digest: AES.Sum16: dst shorter than keys")
	}
	a.sum16(dst[:len(keys)], keys)
}

// Sum48 sets dst[i] to the CBC-MAC of keys[i]: E(E(E(b0) ^ b1) ^ b2) for its 16-byte
// blocks b0, b1, b2. It panics if dst is shorter than keys. The two must not share
// memory.
func (a *AES) Sum48(dst []Digest, keys [][48]byte) {
	if len(dst) < len(keys) {
		panic("digest: AES.Sum48: dst shorter than keys")
	}
	a.sum48(dst[:len(keys)], keys)
}

// SumMessages sets dst[i] to the CBC-MAC of the block
//
//	LE64(msgs[i].Len) || LE64(msgs[i].Tweak)
//
// followed by the message, buf[Off:Off+Len], padded with zero bytes to a multiple of 16.
// An empty message has that block alone. Messages may lie anywhere in buf and may
// overlap. Bytes outside of them do not matter. SumMessages panics if dst is shorter than
// msgs or a message reaches beyond buf. dst must not share memory with buf.
func (a *AES) SumMessages(dst []Digest, buf []byte, msgs []Message) {
	checkMessages("AES.SumMessages", dst, buf, msgs)
	a.sumMessages(dst[:len(msgs)], buf, msgs)
}
