// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/distinct"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/sliding"
	"github.com/flowdedup/flowdedup/engine/stream"
	"github.com/flowdedup/flowdedup/engine/window"
)

// refreshedMisses returns the share of repeats within a window that a filter misses, and how
// many there are.
func (s testStream) refreshedMisses(filter engine.PacketFilter, size int) (fnr, repeats float64) {
	n := len(s.elements)
	seen := make([]uint64, (n+63)/64)
	filter.TestAndSet(seen, s.elements, make([]int64, n), nil)
	missed := 0.0
	for i, g := range s.gap {
		if i >= size && g > 0 {
			repeats++
			missed += float64(^seen[i/64] >> (i % 64) & 1)
		}
	}
	return missed / repeats, repeats
}

// TestPartitioned compares age-partitioned lines with window.Partitioned: both rates.
func TestPartitioned(t *testing.T) {
	const elements, size = 120_000, 4000
	s := newTestStream(elements, 0.8, size, 19)
	distinct, gaps := s.load(size)
	for _, lines := range []int{200, 350} {
		p := planned(t, Question{Kind: Count, Elements: size, Distinct: distinct, Gaps: gaps, MemoryBits: lines * lineBits, FPR: 0.5}, "apbf")
		filter, err := window.NewPartitioned(window.PartitionedConfig{Window: window.Window{Packets: size}, Memory: lines * lineBits / 8, K: p.value("K")})
		if err != nil {
			t.Fatal(err)
		}
		defer filter.Close()
		fpr, fnr, news, _ := anchoredRates(t, filter, s.elements, size, size, 2*size)
		if fnr != 0 || p.FNR != 0 {
			t.Errorf("%d lines: FNR %g, planned %g", lines, fnr, p.FNR)
		}
		near(t, "FPR", p.FPR, fpr, 0.2, news, false)
	}
}

// lruModel is rows of fingerprints in the plainest form.
type lruModel struct {
	rows  [][]uint64
	cells int
	mask  uint64
}

// TestAndSet implements paper.Filter.
func (m *lruModel) TestAndSet(d digest.Digest) bool {
	at := d[1] % uint64(len(m.rows))
	row, value := m.rows[at], d[0]&m.mask
	if value == 0 {
		value = m.mask // one code is for empty cells
	}
	for i, other := range row {
		if other == value {
			copy(row[1:i+1], row[:i])
			row[0] = value
			return true
		}
	}
	row = append([]uint64{value}, row...)
	m.rows[at] = row[:min(len(row), m.cells)]
	return false
}

// Bits implements paper.Filter.
func (m *lruModel) Bits() int { return 0 }

// TestLRURows compares rows with stream.Filter, and with the plainest form of them.
func TestLRURows(t *testing.T) {
	const elements, from = 120_000, 40_000
	s := newTestStream(elements, 0.5, 1<<12, 11)
	distinct, gaps := s.load(from)
	for _, fpr := range []float64{0.1, 0.01} {
		for _, method := range []string{"lru", "rows"} {
			c := planned(t, Question{MemoryBits: 20 * lineBits, FPR: fpr, Distinct: distinct, Gaps: gaps}, method)
			gotFPR, gotFNR := s.rates(buildRows(t, &c, fpr), from)
			n := float64(elements - from)
			near(t, method+" FPR", c.FPR, gotFPR, 0.05, n*distinct, false)
			near(t, method+" FNR", c.FNR, gotFNR, 0.05, n*(1-distinct), false)
		}
	}
}

// buildRows makes the filter of a candidate.
func buildRows(t *testing.T, c *Candidate, fpr float64) paper.Filter {
	t.Helper()
	if c.Method.Engine == "" {
		return &lruModel{
			rows:  make([][]uint64, c.value("lines")*c.value("rows of a line")),
			cells: c.value("cells"), mask: 1<<c.value("cell bits") - 1,
		}
	}
	s, err := stream.New(stream.Config{Memory: c.MemoryBits / 8, FPR: fpr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return oneByOne{s}
}

// oneByOne is a filter of streams with the interface of the papers' filters.
type oneByOne struct{ stream *stream.Filter }

// TestAndSet implements paper.Filter.
func (f oneByOne) TestAndSet(d digest.Digest) bool {
	var seen [1]uint64
	f.stream.TestAndSet(seen[:], []digest.Digest{d})
	return seen[0] != 0
}

// Bits implements paper.Filter.
func (f oneByOne) Bits() int { return 0 }

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
		c := planned(t, Question{Kind: Landmark, Key: IPv4, Elements: n, FPR: fpr}, "bloom-lines")
		filter, err := distinct.NewScalableBloom(distinct.ScalableBloomConfig{FPR: fpr, Memory: c.MemoryBits / 8})
		if err != nil {
			t.Fatal(err)
		}
		filter.TestAndSet(seen, digests)
		counts := filter.Counts()
		if counts.MemoryBytes*8 != c.MemoryBits {
			t.Errorf("FPR %g: planned %d bytes, the filter takes %d: it grew", fpr, c.MemoryBits/8, counts.MemoryBytes)
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
	if got := rows.Counts().MemoryBytes; got < c.MemoryBits/8 || float64(got) > 1.05*float64(c.MemoryBits/8) {
		t.Errorf("planned %d bytes of exact rows, they take %d", c.MemoryBits/8, got)
	}
	prints, err := distinct.NewDigestRows(0)
	if err != nil {
		t.Fatal(err)
	}
	defer prints.Close()
	prints.TestAndSet(seen, digests)
	c = planned(t, Question{Kind: Landmark, Key: Other, Elements: n}, "digest-rows")
	if got := prints.Counts(); got.MemoryBytes < c.MemoryBits/8 || float64(got.MemoryBytes) > 1.05*float64(c.MemoryBits/8) || got.FPR != c.FPR {
		t.Errorf("planned %d bytes of digest rows and a rate of %g, they say %d and %g", c.MemoryBits/8, c.FPR, got.MemoryBytes, got.FPR)
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
		if got := planned(t, c.question, "exact").MemoryBits / 8; got != c.got {
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
	if got.MemoryBytes < c.MemoryBits/8 || float64(got.MemoryBytes) > 1.1*float64(c.MemoryBits/8) || math.Abs(got.FPR/c.FPR-1) > 0.01 {
		t.Errorf("planned %d bytes and a rate of %g, the counter says %d and %g", c.MemoryBits/8, c.FPR, got.MemoryBytes, got.FPR)
	}
}

// planned returns the candidate of a method.
func planned(t *testing.T, q Question, method string) Candidate {
	t.Helper()
	q.Method = method
	a, err := Plan(q)
	if err != nil {
		t.Fatal(err)
	}
	return a.Candidates[0]
}

// TestDecaying compares counters that run down with the reference, which sliding windows
// of timers share the model with: no miss within the window, and the FPR.
func TestDecaying(t *testing.T) {
	const elements, window = 60_000, 4000
	s := newTestStream(elements, 0.7, window, 13)
	distinct, gaps := s.load(window)
	c := planned(t, Question{
		Kind: Jumping, Parts: 6, Elements: window, Distinct: distinct, Gaps: gaps,
		MemoryBits: 30_000, FPR: 0.05,
	}, "bdbf")
	filter, err := paper.NewBDBF(paper.BDBFConfig{Bits: c.MemoryBits, CellBits: c.value("counter bits"), K: c.value("K"), Window: window})
	if err != nil {
		t.Fatal(err)
	}
	fpr, fnr := s.rates(filter, window)
	if fnr != 0 || c.FNR != 0 {
		t.Errorf("FNR %g, planned %g", fnr, c.FNR)
	}
	// Between a window and a window and a block of elements are remembered.
	near(t, "FPR", c.FPR, fpr, 0.02, distinct*(elements-window), true)
	if fpr < c.FPR/2 {
		t.Errorf("FPR %g, far below the %g planned", fpr, c.FPR)
	}
}

// turning are Bloom filters that replace each other. Bit j of a place belongs to filter
// j.
type turning struct {
	places   []uint64
	k, turns int
	part, at int
}

// TestAndSet implements paper.Filter.
func (f *turning) TestAndSet(d digest.Digest) bool {
	now := f.at / f.part % f.turns
	if f.at%f.part == 0 {
		for i := range f.places {
			f.places[i] &^= 1 << now
		}
	}
	f.at++
	all := ^uint64(0)
	for i := range f.k {
		place := &f.places[(d[0]+uint64(i)*d[1])%uint64(len(f.places))]
		all &= *place
		*place |= 1 << now
	}
	return all != 0
}

// Bits implements paper.Filter.
func (f *turning) Bits() int { return len(f.places) * f.turns }

func TestJumping(t *testing.T) {
	const elements, window, parts = 60_000, 4000, 5
	s := newTestStream(elements, 0.7, window, 17)
	distinct, gaps := s.load(window)
	c := planned(t, Question{
		Kind: Jumping, Parts: parts, Elements: window, Distinct: distinct, Gaps: gaps,
		MemoryBits: 30_000, FPR: 0.02,
	}, "jumping")
	f := &turning{places: make([]uint64, c.value("m of each")), k: c.value("K"), turns: c.value("filters"), part: window / parts}
	fpr, fnr := s.rates(f, window)
	if fnr != 0 || c.FNR != 0 {
		t.Errorf("FNR %g, planned %g", fnr, c.FNR)
	}
	// One of the filters is being filled, so the rate is below the bound by at most a
	// part.
	near(t, "FPR", c.FPR, fpr, 0.05, distinct*(elements-window), true)
	if fpr < c.FPR*(parts-1)/(parts+1) {
		t.Errorf("FPR %g, far below the %g planned", fpr, c.FPR)
	}
}
