package paper

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
)

const (
	// paperRecords is the stream length of Tables 4 to 6.
	paperRecords = 695_000_000
	// testRecords replaces it; memory shrinks alike, which keeps every rate.
	testRecords = 1_000_000
	megabyte    = 8 << 20 // in bits
)

// tableCell is one memory size of Table 4 or 5: for each method its false
// positive and false negative rate in percent.
type tableCell struct {
	name     string
	distinct int // of testRecords
	bits     int
	rates    map[string][2]float64
}

func biasedTableCells() []tableCell {
	scaled := func(megabytes int) int { return int(int64(megabytes) * megabyte * testRecords / paperRecords) }
	return []tableCell{
		{"15% 64MB", testRecords * 15 / 100, scaled(64), map[string][2]float64{
			"SBF": {1.9319, 53.2681}, "RSBF": {2.6276, 35.9014}, "BSBF": {3.2569, 8.7547},
			"BSBFSD": {3.5475, 3.3299}, "RLBSBF": {3.7064, 1.3453}}},
		{"60% 64MB", testRecords * 60 / 100, scaled(64), map[string][2]float64{
			"SBF": {6.7672, 70.832}, "RSBF": {12.2408, 52.8855}, "BSBF": {16.0723, 39.9809},
			"BSBFSD": {22.4491, 19.9394}, "RLBSBF": {22.7214, 20.2164}}},
		{"15% 512MB", testRecords * 15 / 100, scaled(512), map[string][2]float64{
			"RSBF": {0.0719, 7.3674}, "BSBF": {0.0747, 0.8794}, "BSBFSD": {0.0753, 0.4267}, "RLBSBF": {0.0759, 0.0262}}},
		{"60% 512MB", testRecords * 60 / 100, scaled(512), map[string][2]float64{
			"RSBF": {0.9189, 15.2035}, "BSBF": {0.9779, 9.8819}, "BSBFSD": {1.0331, 4.9892}, "RLBSBF": {1.0775, 1.0236}}},
	}
}

// buildNamed returns a filter as the tables have it.
func buildNamed(name string, bits int) (Filter, error) {
	c := BiasedConfig{Bits: bits, K: 2, Seed: 7}
	switch name {
	case "RSBF":
		return NewRSBF(c, 0.03)
	case "BSBF":
		return NewBSBF(c)
	case "BSBFSD":
		return NewBSBFSD(c)
	case "RLBSBF":
		return NewRLBSBF(c)
	}
	return NewStable(StableConfig{Cells: bits, CellBits: 1, K: 2, P: 4, Seed: 7})
}

// TestBiasedTables compares with Tables 4 and 5. A count of errors passes within
// 3 % of the rate, or, where errors are too few for that, within the
// exact binomial bounds of that rate at 1e-6 on each side. Seeds are fixed.
//
// The tables' SBF at 512 MB is left out: see [TestStableMisses].
func TestBiasedTables(t *testing.T) {
	for _, cell := range biasedTableCells() {
		t.Run(cell.name, func(t *testing.T) {
			t.Parallel()
			ids := biasedStream(testRecords, cell.distinct, 1)
			for name, rates := range cell.rates {
				f, err := buildNamed(name, cell.bits)
				if err != nil {
					t.Fatal(err)
				}
				c := countErrors(f, ids, cell.distinct)
				requireRate(t, name+" false positives", c.falsePositives, c.distinct, rates[0]/100)
				requireRate(t, name+" false negatives", c.falseNegatives, c.duplicates, rates[1]/100)
			}
		})
	}
}

func requireRate(t *testing.T, what string, count, of int, want float64) {
	t.Helper()
	got := float64(count) / float64(of)
	low, high := binomialInterval(of, want, 1e-6)
	t.Logf("%s: %.4f %%, want %.4f %% (%+.2f %%)", what, 100*got, 100*want, 100*(got/want-1))
	if math.Abs(got/want-1) > 0.03 && (count < low || count > high) {
		t.Errorf("%s: %d of %d, want %d to %d", what, count, of, low, high)
	}
}

// TestStableMisses compares the SBF at 512 MB with [stableMissRate] instead of the table.
// The table's rates (12.94 % and 24.29 % missed) need decrements with positions of 31
// bits, which never reach the upper half of the 2^32 cells. At 64 MB, where these reach
// all cells, the formula gives the printed rates.
func TestStableMisses(t *testing.T) {
	for _, cell := range biasedTableCells() {
		t.Run(cell.name, func(t *testing.T) {
			t.Parallel()
			want := stableMissRate(cell.bits, testRecords, cell.distinct)
			if printed, ok := cell.rates["SBF"]; ok {
				if math.Abs(100*want/printed[1]-1) > 0.0005 {
					t.Errorf("closed form %.4f %%, printed %.4f %%", 100*want, printed[1])
				}
				return
			}
			f, err := buildNamed("SBF", cell.bits)
			if err != nil {
				t.Fatal(err)
			}
			c := countErrors(f, biasedStream(testRecords, cell.distinct, 1), cell.distinct)
			requireRate(t, "SBF false negatives", c.falseNegatives, c.duplicates, want)
		})
	}
}

// stableMissRate returns the share of the duplicates of a [biasedStream] that an
// SBF of m bits with K = 2, P = 4 and Max = 1 misses, for large n. Times are
// shares of the stream.
//
// A bit of an element is alive after gap u unless its last decrement came after
// the last setting. Decrements are Poisson with 4n/m a stream. Others set the
// bit in a stretch s unless none of the Poisson(2 distinct/m) elements that share
// the bit has one of its 1 + Poisson(mu) copies there. The gaps of an element
// with c copies are Beta(1,c).
func stableMissRate(m, n, distinct int) float64 {
	const steps = 2000
	decrements := 4 * float64(n) / float64(m)
	sharing := 2 * float64(distinct) / float64(m)
	mu := float64(n-distinct) / float64(distinct)
	missed, gaps, revived := 0.0, 0.0, 0.0
	for i := range steps {
		u := (float64(i) + 0.5) / steps
		unset := math.Exp(-sharing * (1 - (1-u)*math.Exp(-mu*u)))
		share := decrements * math.Exp(-decrements*u) * (1 - unset) / steps
		alive := math.Exp(-decrements*u) + revived + share/2
		revived += share
		// The mean of (c-1) c (1-u)^(c-1) over c = 1 + Poisson(mu), in closed form.
		rest := mu * (1 - u)
		weight := rest * (2 + rest) * math.Exp(-mu*u)
		missed += weight * (1 - alive*alive)
		gaps += weight
	}
	return missed / gaps
}

// biasedStream returns the stream of the biased sampling paper's tables: distinct ids
// from 0 on, each at least once, and n-distinct copies of uniformly chosen ones, all
// shuffled. Independent draws would give other miss rates.
func biasedStream(n, distinct int, seed uint64) []uint32 {
	random := rand.New(rand.NewPCG(seed, 0))
	ids := make([]uint32, n)
	for i := range ids {
		if i < distinct {
			ids[i] = uint32(i)
		} else {
			ids[i] = random.Uint32N(uint32(distinct))
		}
	}
	random.Shuffle(n, func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	return ids
}

// digestOf replaces a keyed hash: both halves by SplitMix64's mixer.
func digestOf(id uint64) digest.Digest {
	return digest.Digest{mix64(2*id + 1), mix64(2*id + 2)}
}

func mix64(x uint64) uint64 { return SplitMix(x * golden) }

// errorCounts holds a run's errors. The papers' rates are falsePositives /
// distinct and falseNegatives / duplicates.
type errorCounts struct {
	distinct, falsePositives   int
	duplicates, falseNegatives int
}

func countErrors(f Filter, ids []uint32, distinct int) errorCounts {
	var c errorCounts
	known := make([]bool, distinct)
	for _, id := range ids {
		seen := f.TestAndSet(digestOf(uint64(id)))
		switch {
		case known[id]:
			c.duplicates++
			if !seen {
				c.falseNegatives++
			}
		default:
			known[id] = true
			c.distinct++
			if seen {
				c.falsePositives++
			}
		}
	}
	return c
}

// binomialInterval returns the least interval of counts outside of which a
// binomial count of n trials with chance p lies with a probability below alpha
// on each side. Terms beyond 12 standard deviations and 50 are left out: they add
// less than 1e-20.
func binomialInterval(n int, p, alpha float64) (low, high int) {
	mean := float64(n) * p
	spread := 12*math.Sqrt(mean*(1-p)) + 50
	first, last := max(0, int(mean-spread)), min(n, int(mean+spread))
	logFactorial := func(k int) float64 { v, _ := math.Lgamma(float64(k) + 1); return v }
	term := func(k int) float64 {
		return math.Exp(logFactorial(n) - logFactorial(k) - logFactorial(n-k) +
			float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
	}
	low, high = first, last
	for sum := term(low); sum < alpha; sum += term(low) {
		low++
	}
	for sum := term(high); sum < alpha; sum += term(high) {
		high--
	}
	return low, high
}

func TestBinomialInterval(t *testing.T) {
	for _, c := range []struct {
		alpha     float64
		low, high int
	}{
		// Of 10 throws of a coin none is heads in 1/1024, at most one in 11/1024.
		{0.0009, 0, 10},
		{0.01, 1, 9},
		{0.011, 2, 8},
	} {
		if low, high := binomialInterval(10, 0.5, c.alpha); low != c.low || high != c.high {
			t.Errorf("alpha %v: from %d to %d, want %d to %d", c.alpha, low, high, c.low, c.high)
		}
	}
}

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

// TestResetSet resets bits of the middle filter until none is left. This must end when
// few of many bits are set too, and must not change the other filters.
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

// TestRSBFThreshold checks the phase after s/i has fallen to p*: elements reported
// distinct are always inserted, the numbers of set bits stay constant, and elements
// reported duplicate change nothing.
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

// TestRSBFReservoir counts insertions with a threshold of 0: the reservoir never ends, so
// after i elements s/i of new ones are inserted.
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
