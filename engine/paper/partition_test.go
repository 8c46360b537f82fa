package paper

import (
	"math/bits"
	"testing"
)

// ones counts the bits of one filter that are set.
func ones(p *partition, filter int) (count uint64) {
	for i := range p.size {
		count += p.bits.get(uint64(filter)*p.size + i)
	}
	return count
}

func newTestPartition(t *testing.T, size, k int) *partition {
	t.Helper()
	p, err := newPartition(BiasedConfig{Bits: size*k + k - 1, K: k, Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	if p.totalBits() != size*k {
		t.Fatalf("%d bits, want %d", p.totalBits(), size*k)
	}
	return &p
}

// TestResetSet takes bits out of the middle filter until none is left, which
// must come to an end with few bits of many as well, and leaves the others.
func TestResetSet(t *testing.T) {
	for _, size := range []int{1, 63, 64, 1000, 100_001} {
		p := newTestPartition(t, size, 3)
		for filter := range 3 {
			for i := 0; i < size; i += 1 + size/50 {
				p.bits.put(uint64(filter*size+i), 1)
			}
		}
		full := ones(p, 0)
		for left := full; left > 0; left-- {
			p.resetSet(1)
			if got := ones(p, 1); got != left-1 {
				t.Fatalf("size %d: %d bits left, want %d", size, got, left-1)
			}
		}
		p.resetSet(1)
		if ones(p, 0) != full || ones(p, 1) != 0 || ones(p, 2) != full {
			t.Errorf("size %d: %d, %d, %d bits left", size, ones(p, 0), ones(p, 1), ones(p, 2))
		}
	}
}

// TestRSBFThreshold looks at the phase after s/i has fallen to p*: elements reported
// distinct are inserted always, the numbers of bits set stay as they were, and
// elements reported duplicate change nothing.
func TestRSBFThreshold(t *testing.T) {
	const size, threshold = 2000, 0.1
	f, err := NewRSBF(BiasedConfig{Bits: 2 * size, K: 2, Seed: 8}, threshold)
	if err != nil {
		t.Fatal(err)
	}
	id := uint64(0)
	for ; id < size/threshold-1; id++ {
		f.TestAndSet(digestOf(id))
	}
	first, second := ones(&f.filters, 0), ones(&f.filters, 1)
	for range 2000 {
		id++
		f.TestAndSet(digestOf(id))
		before := hashOf(f.filters.bits.words)
		if !f.TestAndSet(digestOf(id)) {
			t.Fatalf("element %d not found at once", id)
		}
		if hashOf(f.filters.bits.words) != before {
			t.Fatalf("a duplicate of element %d changed bits", id)
		}
	}
	if a, b := ones(&f.filters, 0), ones(&f.filters, 1); a != first || b != second {
		t.Errorf("%d and %d bits set, want %d and %d", a, b, first, second)
	}
}

func hashOf(words []uint64) (h uint64) {
	for _, w := range words {
		h = mix64(bits.RotateLeft64(h, 1) ^ w)
	}
	return h
}

// TestRSBFReservoir counts insertions with a threshold of 0: the reservoir
// goes on for ever, so after i elements s/i of new ones are inserted.
func TestRSBFReservoir(t *testing.T) {
	const size, from, to = 1000, 50_000, 100_000
	f, err := NewRSBF(BiasedConfig{Bits: size, K: 1, Seed: 8}, 0)
	if err != nil {
		t.Fatal(err)
	}
	changes, sum := 0, 0.0
	for id := range uint64(to) {
		before := hashOf(f.filters.bits.words)
		f.TestAndSet(digestOf(id))
		if id >= from {
			sum += size / float64(id+1) / (to - from)
			if hashOf(f.filters.bits.words) != before {
				changes++
			}
		}
	}
	// An insertion leaves all bits as they were with a chance of at most 1/2: a
	// reset of a zero bit and a setting of a one.
	low, _ := binomialInterval(to-from, sum/2, 1e-6)
	_, high := binomialInterval(to-from, sum, 1e-6)
	if changes < low || changes > high {
		t.Errorf("%d insertions, want %d to %d", changes, low, high)
	}
}

func TestRLBSBFLoad(t *testing.T) {
	f, err := NewRLBSBF(BiasedConfig{Bits: 3001, K: 3, Seed: 8})
	if err != nil {
		t.Fatal(err)
	}
	for id := range uint64(20_000) {
		f.TestAndSet(digestOf(id))
	}
	for filter, load := range f.load {
		if got := ones(&f.filters, filter); got != load {
			t.Errorf("filter %d: load %d, %d bits set", filter, load, got)
		}
	}
}
