// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// Secret is the key of a run. The keys of all digests are derived from it. Runs with the
// same secret have the same digests on every machine. An attacker who does not know it
// cannot make packets that collide in a filter on purpose. RandomSecret and ParseSecret
// make a secret. The zero value is known to everybody. Logs show the word "secret".
type Secret [32]byte

var errSecret = Impossible("bad secret")

// RandomSecret returns a secret from the system's random source.
func RandomSecret() (Secret, error) {
	var s Secret
	_, err := rand.Read(s[:])
	return s, err
}

// ParseSecret reads a secret of 64 hex digits. 32 hex digits are a key k of 16 bytes. They
// stand for the 32 bytes E(0) || E(1), where E is AES-128 under k and the numbers are
// blocks of 16 bytes, little-endian. Errors wrap ErrConfig, and do not show the text.
func ParseSecret(text string) (Secret, error) {
	b, err := hex.DecodeString(text)
	switch {
	case len(text) != 32 && len(text) != 64:
		return Secret{}, fmt.Errorf("%w: %d characters, want 64 hex digits (or 32)", errSecret, len(text))
	case err != nil:
		return Secret{}, fmt.Errorf("%w: not hex digits", errSecret)
	case len(b) == 32:
		return Secret(b), nil
	}
	block := newCipher(b)
	low, high := counterBlock(block, 0, 0), counterBlock(block, 1, 0)
	return Secret(append(low[:], high[:]...)), nil
}

// String hides the secret from logs.
func (s Secret) String() string { return "secret" }

// Use names the use of a derived key. Each use has its own key, so that equal bytes of
// two uses have different digests, and an attacker who learns about one use learns
// nothing about another.
type Use uint64

// The uses of keys. Runs are reproducible only as long as their numbers stay.
const (
	UsePackets     Use = 1 // identities of packets
	UseIPv4        Use = 2 // 16-byte keys with IPv4 addresses
	UseIPv6        Use = 3 // 48-byte keys with IPv6 addresses
	UseMAC         Use = 4 // keys of link-layer addresses
	UsePermutation Use = 5 // the permutation of IPv4 addresses in exact rows
	useHighway     Use = 6
	useSnapshots   Use = 7
	UseSightings   Use = 8  // conversations of packets, and points where they were seen
	UseCounts      Use = 9  // no digests: distinguishes secrets in files of counts
	UseRecords     Use = 10 // keys of flow records

	// UseOwn is the first use that is free for other programs: this project takes none from
	// here on.
	UseOwn Use = 1 << 32
)

// AESKey derives the key for a use: one AES-256 encryption, under the secret, of the
// block LE64(use) || LE64(0).
func (s Secret) AESKey(use Use) [16]byte {
	return counterBlock(newCipher(s[:]), uint64(use), 0)
}

// HighwayKey derives the key for HighwayHash digests: the AES-256 encryptions, under the
// secret, of LE64(6) || LE64(0) and LE64(6) || LE64(1).
func (s Secret) HighwayKey() [32]byte { return s.longKey(useHighway) }

// SnapshotKey derives the key that snapshots are sealed with, in the same way from the
// use 7.
func (s Secret) SnapshotKey() [32]byte { return s.longKey(useSnapshots) }

// longKey derives 32 bytes for a use.
func (s Secret) longKey(use Use) [32]byte {
	block := newCipher(s[:])
	low, high := counterBlock(block, uint64(use), 0), counterBlock(block, uint64(use), 1)
	return [32]byte(append(low[:], high[:]...))
}

func newCipher(key []byte) cipher.Block {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic("engine: " + err.Error()) // only for keys of a wrong size
	}
	return block
}

// counterBlock encrypts LE64(a) || LE64(b).
func counterBlock(block cipher.Block, a, b uint64) (out [16]byte) {
	binary.LittleEndian.PutUint64(out[:8], a)
	binary.LittleEndian.PutUint64(out[8:], b)
	block.Encrypt(out[:], out[:])
	return out
}
