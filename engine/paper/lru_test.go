package paper

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestLRU compares with a list that is searched from its start.
func TestLRU(t *testing.T) {
	for _, capacity := range []int{1, 2, 7, 50} {
		l, err := NewLRU(capacity*64+63, 64)
		if err != nil {
			t.Fatal(err)
		}
		if l.Bits() != capacity*64 {
			t.Fatalf("%d bits, want %d", l.Bits(), capacity*64)
		}
		random := rand.New(rand.NewPCG(5, 6))
		var recent []uint64 // most recently used first
		for range 5000 {
			id := random.Uint64N(80)
			at := slices.Index(recent, id)
			if got := l.TestAndSet(digestOf(id)); got != (at >= 0) {
				t.Fatalf("capacity %d, id %d: seen %v, recent %v", capacity, id, got, recent)
			}
			if at >= 0 {
				recent = slices.Delete(recent, at, at+1)
			}
			recent = slices.Insert(recent, 0, id)
			recent = recent[:min(len(recent), capacity)]
		}
		if len(l.index) > capacity || len(l.nodes) != capacity+1 {
			t.Errorf("capacity %d: %d indexed, %d nodes", capacity, len(l.index), len(l.nodes))
		}
	}
}

// TestFPBuffer holds both rates against q and (1-q) times the buffer's misses,
// within exact binomial bounds at 1e-6 on each side.
func TestFPBuffer(t *testing.T) {
	const n, distinct, bits, q = 100_000, 40_000, 64 * 10_000, 0.078
	ids := biasedStream(n, distinct, 9)
	buffer, err := NewLRU(bits, 64)
	if err != nil {
		t.Fatal(err)
	}
	f, err := NewFPBuffer(bits, 64, q, 21)
	if err != nil {
		t.Fatal(err)
	}
	plain, chance := countErrors(buffer, ids, distinct), countErrors(f, ids, distinct)
	if plain.falsePositives != 0 {
		t.Errorf("buffering has %d false positives", plain.falsePositives)
	}
	low, high := binomialInterval(distinct, q, 1e-6)
	if got := chance.falsePositives; got < low || got > high {
		t.Errorf("%d false positives, want %d to %d", got, low, high)
	}
	low, high = binomialInterval(plain.falseNegatives, 1-q, 1e-6)
	if got := chance.falseNegatives; got < low || got > high {
		t.Errorf("%d misses, want %d to %d", got, low, high)
	}
	if f.Bits() != buffer.Bits() {
		t.Errorf("%d bits, buffer has %d", f.Bits(), buffer.Bits())
	}
}
