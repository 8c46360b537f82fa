// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// shaDigester digests identities by the first 128 bits of SHA-256 (FIPS 180-4).
type shaDigester struct {
	hash hash.Hash
	sum  []byte
}

func newDigester() *shaDigester { return &shaDigester{hash: sha256.New()} }

// SumMessages implements digest.MessageDigester.
func (d *shaDigester) SumMessages(dst []digest.Digest, buf []byte, msgs []digest.Message) {
	for i, m := range msgs {
		d.hash.Reset()
		var tweak [8]byte
		binary.LittleEndian.PutUint64(tweak[:], m.Tweak)
		// A hash.Hash never returns an error.
		_, _ = d.hash.Write(tweak[:])
		_, _ = d.hash.Write(buf[m.Off:][:m.Len])
		d.sum = d.hash.Sum(d.sum[:0])
		dst[i] = digest.Digest{binary.LittleEndian.Uint64(d.sum), binary.LittleEndian.Uint64(d.sum[8:])}
	}
}
