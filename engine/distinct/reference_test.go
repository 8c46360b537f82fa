// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"fmt"
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"math/rand/v2"
	"testing"
)

func TestIPv4Map(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	addrs := []uint32{0, 1<<32 - 1, 0}
	for range 20_000 {
		addrs = append(addrs, rng.Uint32N(10_000)*0x01000193)
	}
	for _, batch := range []int{1, 65, 1000} {
		s := NewIPv4Map()
		sameVerdicts(t, s, map[uint32]bool{}, addrs, batch)
		c := s.Counts()
		if c.Low != c.Distinct || c.High != c.Distinct || c.FPR != 0 || c.Method != "exact" || c.MemoryBytes <= 0 {
			t.Errorf("counts %+v", c)
		}
		s.Close()
	}
}

func TestSet(t *testing.T) {
	digests := check.Digests(33, 5000)
	digests = append(digests, digests...)
	for _, batch := range []int{1, 65, 1000} {
		s := NewDigestMap()
		sameVerdicts(t, s, map[digest.Digest]bool{}, digests, batch)
		// Between 17 bytes for each and four times as much.
		if c := s.Counts(); c.Low != 5000 || c.High != 5000 || c.MemoryBytes < 17*5000 || c.MemoryBytes > 68*5000 {
			t.Errorf("counts %+v", c)
		}
		s.Close()
	}
}

func BenchmarkSet(b *testing.B) {
	for _, distinct := range []int{10_000, 1 << 20} {
		b.Run(fmt.Sprintf("of=digests/distinct=%d", distinct), func(b *testing.B) {
			check.MeasureCounter(b, func() engine.Counter[digest.Digest] { return NewDigestMap() }, distinct, func(d digest.Digest) digest.Digest { return d })
		})
		b.Run(fmt.Sprintf("of=addresses/distinct=%d", distinct), func(b *testing.B) {
			check.MeasureCounter(b, func() engine.Counter[uint32] { return NewIPv4Map() }, distinct, func(d digest.Digest) uint32 { return uint32(d[0]) })
		})
	}
}
