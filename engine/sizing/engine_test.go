// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/distinct"
	"github.com/flowdedup/flowdedup/engine/sizing/sizingtest"
	"github.com/flowdedup/flowdedup/engine/sliding"
	"github.com/flowdedup/flowdedup/engine/stream"
	"github.com/flowdedup/flowdedup/engine/window"
)

// TestLRURows compares rows with stream.Filter.
func TestLRURows(t *testing.T) {
	const elements, from = 120_000, 40_000
	s := sizingtest.NewStream(elements, 0.5, 1<<12, 11)
	distinct, gaps := load(s, from)
	for _, fpr := range []float64{0.1, 0.01} {
		c := planned(t, Question{MemoryBits: 20 * lineBits, FPR: fpr, Distinct: distinct, Gaps: gaps}, "lru")
		runStream(t, s, from, "lru", stream.Config{Memory: c.Bits / 8, FPR: fpr}, c.FPR, c.FNR)
	}
}

// TestStableLines compares stable Bloom filters of each width of cells with stream.Filter.
func TestStableLines(t *testing.T) {
	const elements, from = 110_000, 40_000
	for _, fresh := range []float64{0.4, 0.9} {
		s := sizingtest.NewStream(elements, fresh, 1<<12, 5)
		distinct, gaps := load(s, from)
		r, err := NewRequest(Question{Distinct: distinct, Gaps: gaps, FPR: 0.1})
		if err != nil {
			t.Fatal(err)
		}
		const lines = 16
		for _, c := range []stream.Config{{Max: 1, K: 2}, {Max: 3, K: 3}, {Max: 15, K: 4}, {Max: 3, K: 4, P: 40}} {
			if c.Method, c.Memory = "sbf", lines*lineBits/8; c.P == 0 {
				c.FPR = r.FPR
			}
			full, err := c.Complete()
			if err != nil {
				t.Fatal(err)
			}
			d := r.stableLinesOf(full, lines)
			runStream(t, s, from, fmt.Sprintf("sbf, Max %d", c.Max), c, d.FPR, d.FNR)
		}
		if c := planned(t, Question{Distinct: distinct, Gaps: gaps, FPR: 0.1, MemoryBits: lines * lineBits}, "sbf"); c.FPR > 0.1 || c.Parameters["cells"] == 0 {
			t.Errorf("%+v", c)
		}
	}
}

// runStream compares the rates of a filter with its predictions. Misses are within 5 %.
func runStream(t *testing.T, s sizingtest.Stream, from int, name string, cfg stream.Config, fpr, fnr float64) {
	t.Helper()
	f, err := stream.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if bound := f.Stats().FPRBound; bound != fpr {
		t.Errorf("%s: FPR %g, the filter says %g", name, fpr, bound)
	}
	var seen [1]uint64
	gotFPR, gotFNR := s.Rates(func(d digest.Digest) bool {
		f.TestAndSet(seen[:], []digest.Digest{d})
		return seen[0] != 0
	}, from)
	fresh, _ := load(s, from)
	n := float64(len(s.Elements) - from)
	sizingtest.Near(t, name+" FPR", fpr, gotFPR, 0.05, n*fresh, true)
	sizingtest.Near(t, name+" FNR", fnr, gotFNR, 0.05, n*(1-fresh), false)
}

// TestLandmark compares blocked Bloom filters and rows with the engine's, filled.
func TestLandmark(t *testing.T) {
	const n = 40_000
	random := rand.New(rand.NewPCG(1, 2))
	digests := make([]digest.Digest, n)
	addresses := make([]uint32, n)
	for i := range digests {
		digests[i] = digest.Digest{random.Uint64(), random.Uint64()}
		addresses[i] = uint32(i) * 2654435761
	}
	seen := make([]uint64, (n+63)/64)
	for _, fpr := range []float64{1e-9, 1e-3} {
		c := planned(t, Question{Kind: Landmark, Key: Other, Elements: n, FPR: fpr}, "bloom-lines")
		filter, err := distinct.NewScalableBloom(distinct.ScalableBloomConfig{FPR: fpr, Memory: c.Bits / 8})
		if err != nil {
			t.Fatal(err)
		}
		filter.TestAndSet(seen, digests)
		counts := filter.Counts()
		if counts.MemoryBytes*8 != c.Bits {
			t.Errorf("FPR %g: planned %d bytes, the filter takes %d: it grew", fpr, c.Bits/8, counts.MemoryBytes)
		}
		// The rate follows a high power of the density, which has its own noise.
		if math.Abs(math.Log(counts.FPR/c.FPR)) > 0.3 {
			t.Errorf("FPR %g: planned %g, the filter says %g", fpr, c.FPR, counts.FPR)
		}
		filter.Close()
	}
	rows, err := distinct.NewIPv4Rows([16]byte{1}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	rows.TestAndSet(seen, addresses)
	c := planned(t, Question{Kind: Landmark, Key: IPv4, Elements: n}, "exact-rows")
	if got := rows.Counts().MemoryBytes; got < c.Bits/8 || float64(got) > 1.05*float64(c.Bits/8) {
		t.Errorf("planned %d bytes of exact rows, they take %d", c.Bits/8, got)
	}
	prints, err := distinct.NewDigestRows(0)
	if err != nil {
		t.Fatal(err)
	}
	defer prints.Close()
	prints.TestAndSet(seen, digests)
	c = planned(t, Question{Kind: Landmark, Key: Other, Elements: n}, "digest-rows")
	if got := prints.Counts(); got.MemoryBytes < c.Bits/8 || float64(got.MemoryBytes) > 1.05*float64(c.Bits/8) || got.FPR != c.FPR {
		t.Errorf("planned %d bytes of digest rows and a rate of %g, they say %d and %g", c.Bits/8, c.FPR, got.MemoryBytes, got.FPR)
	}
}

// TestExactMaps compares the memory of maps with what they report, over new elements.
func TestExactMaps(t *testing.T) {
	const elements, second = 600_000, int64(time.Second)
	random := rand.New(rand.NewPCG(1, 2))
	digests, times, addresses := make([]digest.Digest, elements), make([]int64, elements), make([]uint32, elements)
	for i := range digests {
		digests[i], times[i], addresses[i] = digest.Digest{random.Uint64(), random.Uint64()}, int64(i)*second/100_000, random.Uint32()
	}
	seen := make([]uint64, (elements+63)/64)
	packets := func(w window.Window) int {
		f, err := window.NewExact(window.ExactConfig{Window: w})
		if err != nil {
			t.Fatal(err)
		}
		f.TestAndSet(seen, digests, times, nil)
		return f.Stats().MemoryBytes
	}
	slides, set, addrs := sliding.NewMap(time.Second), distinct.NewDigestMap(), distinct.NewIPv4Map()
	slides.TestAndSet(nil, digests[:100_000], times)
	set.TestAndSet(seen, digests)
	addrs.TestAndSet(seen, addresses)
	for name, c := range map[string]struct {
		question Question
		got      int
	}{
		"a small window of packets":   {Question{Kind: Count, Elements: 20_000}, packets(window.Window{Packets: 20_000})},
		"a large window of packets":   {Question{Kind: Count, Elements: 240_000}, packets(window.Window{Packets: 240_000})},
		"a capture, a window of time": {Question{Kind: Sliding, Elements: 100_000, Length: elements}, packets(window.Window{Duration: time.Second})},
		"keys, a window that slides":  {Question{Kind: Sliding, Key: Other, Elements: 100_000}, slides.Count(second - 1).MemoryBytes},
		"keys, since a landmark":      {Question{Kind: Landmark, Key: Other, Elements: elements}, set.Counts().MemoryBytes},
		"addresses since a landmark":  {Question{Kind: Landmark, Key: IPv4, Elements: elements}, addrs.Counts().MemoryBytes},
	} {
		if got := planned(t, c.question, "exact").Bits / 8; got != c.got {
			t.Errorf("%s: planned %d bytes, the map reports %d", name, got, c.got)
		}
	}
}

// TestSlidingRows compares rows of a sliding window with sliding.Rows, which get the
// elements of some windows, all new.
func TestSlidingRows(t *testing.T) {
	const n, windows = 30_000, 4
	c := planned(t, Question{Kind: Sliding, Key: Other, Elements: n}, "sliding-rows")
	s, err := sliding.New(sliding.Config{Window: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	random := rand.New(rand.NewPCG(3, 4))
	digests, times := make([]digest.Digest, windows*n), make([]int64, windows*n)
	for i := range digests {
		digests[i], times[i] = digest.Digest{random.Uint64()}, int64(i)*int64(time.Second)/n
	}
	s.TestAndSet(nil, digests, times)
	got := s.Count(times[len(times)-1])
	if got.MemoryBytes < c.Bits/8 || float64(got.MemoryBytes) > 1.1*float64(c.Bits/8) || math.Abs(got.FPR/c.FPR-1) > 0.01 {
		t.Errorf("planned %d bytes and a rate of %g, the counter says %d and %g", c.Bits/8, c.FPR, got.MemoryBytes, got.FPR)
	}
}
