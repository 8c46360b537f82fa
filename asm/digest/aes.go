// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"

	"github.com/flowdedup/flowdedup/asm/internal/cpu"
)

// AES computes digests with AES-128 (FIPS 197) under one secret key.
//
// The digest of a 16-byte key is one encryption, so distinct keys have distinct digests.
// Such a secret permutation keeps filters sound against streams that are made to attack
// them (Naor and Yogev, "Bloom Filters in Adversarial Environments", CRYPTO 2015). A
// 48-byte key has a CBC-MAC, which is a pseudo-random function on inputs of one length
// (Bellare, Kilian, Rogaway, "The Security of the Cipher Block Chaining Message
// Authentication Code", JCSS 61(3), 2000).
//
// A message is hashed by POLYVAL (RFC 8452, section 3), and one encryption hides the
// hash. The hash is a polynomial at a secret point: two messages of at most n blocks
// collide with a probability of at most n/2^128 (Wegman and Carter, "New Hash Functions
// and Their Use in Authentication and Set Equality", JCSS 22(3), 1981). A pseudo-random
// function of such a hash is a pseudo-random function of messages (Boneh and Shoup, "A
// Graduate Course in Applied Cryptography", section 7.3). The point is the encryption of
// 1, and the key of the last encryption is the encryption of 2, as little-endian blocks.
//
// The proofs hold for one use of a key: give Sum16, Sum48 and SumMessages keys of their own.
//
// Kernels for CPUs with AES instructions read nothing at places that depend on the key. Others do,
// from polyvalTables, and twins also from the tables of [crypto/aes]. A POLYVAL without tables takes
// longer: with products of masked integers, or of bytes by arm64's vectors.
//
// All three write the digest of input i to dst[i]. Digests are the same on every CPU. An
// AES is immutable, so any number of goroutines may use it at once. No method allocates.
// Each takes time linear in its input.
type AES struct {
	block    cipher.Block
	schedule *aesSchedule
	messages *messageKey
	tables   *polyvalTables // nil where the CPU has AES instructions
	level    cpu.Level
}

// NewAES expands key.
func NewAES(key [16]byte) *AES { return newAES(key, cpu.BestAES) }

func newAES(key [16]byte, level cpu.Level) *AES {
	a := &AES{block: newAESBlock(key), schedule: newAESSchedule(key), level: level}
	a.messages = newMessageKey(a.block)
	if level <= cpu.NEON { // else kernels multiply
		a.tables = newPolyvalTables(a.messages.hash.powers[0].power)
	}
	return a
}

func newAESBlock(key [16]byte) cipher.Block {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic("digest: NewAES: " + err.Error()) // only for keys of a wrong size
	}
	return block
}

// messageKey has the keys that digest messages. The kernels know its layout.
type messageKey struct {
	schedule aesSchedule
	hash     polyvalKey
	block    cipher.Block // of schedule
}

// newMessageKey derives the keys from the key of block.
func newMessageKey(block cipher.Block) *messageKey {
	point, key := [16]byte{1}, [16]byte{2}
	block.Encrypt(point[:], point[:])
	block.Encrypt(key[:], key[:])
	h := Digest{binary.LittleEndian.Uint64(point[:8]), binary.LittleEndian.Uint64(point[8:])}
	return &messageKey{schedule: *newAESSchedule(key), hash: *newPolyvalKey(h), block: newAESBlock(key)}
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

// SumMessages sets dst[i] to the encryption of the block
//
//	LE32(0) || LE32(msgs[i].Len) || LE64(msgs[i].Tweak)
//
// plus POLYVAL of the message, buf[Off:Off+Len], padded with zero bytes to a multiple of 16.
// The sum is a polynomial whose constant term is that block, so no two inputs have the same
// polynomial. Messages may lie anywhere in buf and may overlap. Bytes outside of them do not
// matter. SumMessages panics if dst is shorter than msgs or a message reaches beyond buf.
// dst must not share memory with buf.
func (a *AES) SumMessages(dst []Digest, buf []byte, msgs []Message) {
	if len(dst) < len(msgs) {
		panic(shortDst("AES.SumMessages"))
	}
	if a.sumMessages(dst, buf, msgs) < len(msgs) {
		panic(beyondBuf("AES.SumMessages"))
	}
}
