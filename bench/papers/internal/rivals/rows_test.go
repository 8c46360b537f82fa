package rivals

import (
	"fmt"
	"testing"

	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// Full rows report new elements with chance Cells/(2^FingerprintBits-1).
func TestRowsSaturation(t *testing.T) {
	const memory, measured = 1 << 14, 150_000
	for _, c := range []struct{ cells, bits, rowBits int }{
		{4, 4, 16}, {8, 8, 64}, {4, 8, 32}, {42, 12, 512}, {39, 13, 512}, {32, 16, 512}, {8, 16, 128}, {4, 16, 64},
	} {
		for eviction := EvictLRU; eviction <= EvictRandom; eviction++ {
			m := rows(c.cells, c.bits, c.rowBits, eviction)
			f := must[Windowed](t)(m.build(memory, nil))
			seen, warm := 0, 20*memory/c.bits
			for i := range warm + measured {
				if f.TestAndSet(stream.Digest(uint64(i)), 0) && i >= warm {
					seen++
				}
			}
			want := must[float64](t)(m.predict(memory, nil))
			plausible(t, m.name, seen, measured, want, .002)
			if f.Bits() != memory {
				t.Errorf("%s: %d bits, want %d", m.name, f.Bits(), memory)
			}
		}
	}
}

// An element that was seen last gap other elements ago is forgotten with the closed
// form's chance. In between it is seen once more: that renews it in LRU rows only.
func TestRowsMissAtGap(t *testing.T) {
	const trials, nRows, cells, half = 20_000, 10, 4, 18
	row := theory.Row{Rows: nRows, Cells: cells, FingerprintBits: 48}
	once, twice := must[float64](t)(row.LRUMiss(half)), must[float64](t)(row.LRUMiss(2*half))
	random := must[float64](t)(row.RandomMiss(half))
	for _, c := range []struct {
		eviction Eviction
		want     float64 // at the end, given that it was found half way
	}{{EvictLRU, once}, {EvictFIFO, 1 - (1-twice)/(1-once)}, {EvictRandom, random}} {
		f, err := NewRows(RowsConfig{Rows: nRows, RowBits: 256, Cells: cells, FingerprintBits: 48, Eviction: c.eviction, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		next, tried, missed := uint64(0), 0, 0
		others := func() {
			for range half {
				f.TestAndSet(stream.Digest(next))
				next++
			}
		}
		for range trials {
			d := stream.Digest(next)
			next++
			f.TestAndSet(d)
			others()
			if !f.TestAndSet(d) {
				continue
			}
			others()
			if tried++; !f.TestAndSet(d) {
				missed++
			}
		}
		plausible(t, fmt.Sprintf("eviction %d", c.eviction), missed, tried, c.want, 0)
	}
}

// Fingerprints of every width keep their rows apart from empty ones.
func TestFingerprints(t *testing.T) {
	for width := 1; width <= 64; width++ {
		for _, x := range []uint64{0, 1, 1 << 63, ^uint64(0)} {
			v := fingerprintOf([2]uint64{x, 0}, width)
			if v == 0 || v > ^uint64(0)>>(64-width) {
				t.Errorf("fingerprint of %d bits is %d", width, v)
			}
		}
	}
}
