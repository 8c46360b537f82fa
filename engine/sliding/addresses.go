// SPDX-License-Identifier: Apache-2.0

package sliding

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/permute"
	"github.com/flowdedup/flowdedup/engine/internal/rowtable"
)

// Addresses makes digests of IPv4 addresses for Rows. Each address has a digest of its
// own, so Rows never takes one for another. Addresses is not safe for concurrent use.
type Addresses struct {
	bijection *permute.Bijection
	words     [rowtable.Step]uint32
}

// NewAddresses returns the digests of a key.
func NewAddresses(key [16]byte) *Addresses {
	return &Addresses{bijection: permute.NewBijection(key)}
}

// Sum sets d[i] to the digest of addrs[i], the first octet in the top byte. It panics if
// d is shorter than addrs. Only the low half of a digest is of use.
func (a *Addresses) Sum(d []digest.Digest, addrs []uint32) {
	d = d[:len(addrs)]
	for at := 0; at < len(addrs); at += rowtable.Step {
		n := min(rowtable.Step, len(addrs)-at)
		a.bijection.Permute(a.words[:n], addrs[at:at+n])
		for i, word := range a.words[:n] {
			// The first 32 bits choose the line and tell addresses apart, the last ones
			// choose samples.
			d[at+i] = digest.Digest{uint64(word)<<32 | uint64(word)}
		}
	}
}
