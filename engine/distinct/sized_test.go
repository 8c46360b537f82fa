package distinct

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"testing"
)

// TestSized has counters that start with the memory that others ask for hold so many
// elements without growing.
func TestSized(t *testing.T) {
	address := func(d digest.Digest) uint32 { return uint32(d[1]) }
	for _, n := range []int{0, 1, 1000, 5120, 5121, 200_000} {
		digests := check.Digests(91, n)
		addrs := make([]uint32, n)
		for i, d := range digests {
			addrs[i] = address(d)
		}
		seen := make([]uint64, n/64+1)

		small := newIPv4Rows(t, 0)
		e := newIPv4Rows(t, small.MemoryFor(uint64(n)))
		e.Populate()
		first := e.Counts().MemoryBytes
		e.TestAndSet(seen, addrs)
		if got := len(e.rows.Table.Arena.Lines()) * 64; got != first {
			t.Errorf("ExactV4 of %d bytes grew to %d with %d addresses", first, got, n)
		}

		r := newDigestRows(t, newDigestRows(t, 0).MemoryFor(uint64(n)))
		r.Populate()
		first = r.Counts().MemoryBytes
		r.TestAndSet(seen, digests)
		if got := len(r.rows.Table.Arena.Lines()) * 64; got != first {
			t.Errorf("DigestRows of %d bytes grew to %d with %d digests", first, got, n)
		}

		l := newScalableBloom(t, ScalableBloomConfig{})
		l.TestAndSet(seen, digests[:n/2])
		next := newScalableBloom(t, ScalableBloomConfig{Memory: l.MemoryFor(uint64(n))})
		next.Populate()
		next.TestAndSet(seen, digests)
		if len(next.filters) != 1 {
			t.Errorf("Landmark of %d bytes has %d parts with %d digests", next.filters[0].arena.Bytes(), len(next.filters), n)
		}
	}
}
