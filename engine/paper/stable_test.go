package paper

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// TestStablePoint compares filters in their stable state with Theorem 3 and Eq. 8. It
// uses distinct elements only, the uniform stream that reaches the bound.
//
// Neighboring cells share decrements, and the state of one moment that of the next, so a
// single run has no simple confidence. Independent runs have: the mean of 20 of them must
// be within 7.3 of its standard errors of the closed form (Student's t with 19 degrees of
// freedom: chance below 1e-6) and a further 1 % for the closed forms' own terms of order
// K/m and (variance of the zeros), which small filters have.
func TestStablePoint(t *testing.T) {
	for _, c := range []StableConfig{
		{CellBits: 1, K: 2, P: 4},
		{CellBits: 1, K: 3, P: 10},
		{CellBits: 1, K: 1, P: 1},
		{CellBits: 1, K: 2, P: 4, Independent: true},
		{CellBits: 2, K: 4, P: 26},
		{CellBits: 2, K: 4, P: 26, Independent: true},
		{CellBits: 3, K: 2, P: 20},
		{CellBits: 5, K: 3, P: 150},
	} {
		c.Cells = 4000
		model := theory.Stable{Cells: c.Cells, K: c.K, P: c.P, Max: 1<<c.CellBits - 1}
		wantZeros, err := model.Zeros()
		if err != nil {
			t.Fatal(err)
		}
		wantFPS, err := model.FPS()
		if err != nil {
			t.Fatal(err)
		}
		var zeros, fps [20]float64
		for run := range zeros {
			c.Seed = uint64(run)
			// 16 times the time of the exponential convergence.
			warm := 16 * c.Cells * model.Max / (c.K + c.P)
			zeros[run], fps[run] = stableRates(t, c, warm, 8000)
		}
		requireMean(t, c, "share of zeros", zeros[:], wantZeros)
		requireMean(t, c, "false positive rate", fps[:], wantFPS)
	}
}

// stableRates returns the mean share of zeros and the rate of false positives
// among measured distinct elements, after warm others.
func stableRates(t *testing.T, c StableConfig, warm, measured int) (zeros, fps float64) {
	f, err := NewStable(c)
	if err != nil {
		t.Fatal(err)
	}
	const every = 800
	positives := 0
	for i := range warm + measured {
		seen := f.TestAndSet(digestOf(c.Seed<<32 | uint64(i)))
		if i >= warm && seen {
			positives++
		}
		if i >= warm && (i-warm)%every == 0 {
			zeros += f.Zeros() * every / float64(measured)
		}
	}
	return zeros, float64(positives) / float64(measured)
}

// requireMean is a t-test that allows another 1 % of want.
func requireMean(t *testing.T, c StableConfig, what string, runs []float64, want float64) {
	t.Helper()
	n, mean, squares := float64(len(runs)), 0.0, 0.0
	for _, x := range runs {
		mean += x / n
	}
	for _, x := range runs {
		squares += (x - mean) * (x - mean)
	}
	standardError := math.Sqrt(squares / (n - 1) / n)
	t.Logf("d %d, K %d, P %d: %s %.5f, standard error %.5f, closed form %.5f",
		c.CellBits, c.K, c.P, what, mean, standardError, want)
	if math.Abs(mean-want) > 7.3*standardError+0.01*want {
		t.Errorf("%+v: %s %.5f, standard error %.5f, want %.5f", c, what, mean, standardError, want)
	}
}

// TestStableDecaysOnHits repeats one element: decrements go on, so other cells
// decay though every report but the first is "seen".
func TestStableDecaysOnHits(t *testing.T) {
	f, err := NewStable(StableConfig{Cells: 1000, CellBits: 1, K: 2, P: 3, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for id := range uint64(200) {
		f.TestAndSet(digestOf(id))
	}
	misses := 0
	for range 20_000 {
		if !f.TestAndSet(digestOf(0)) {
			misses++
		}
	}
	// What is left are the element's two cells: all others had 60 decrements
	// each, on average, and survive with e^-60.
	if zeros := math.Round(f.Zeros() * 1000); zeros != 998 || misses > 1 {
		t.Errorf("%v zeros, want 998; %d misses, want at most 1", zeros, misses)
	}
}

// TestStableWraps decrements all cells at once, wherever the run begins, or cell by cell.
func TestStableWraps(t *testing.T) {
	for _, independent := range []bool{false, true} {
		f, err := NewStable(StableConfig{Cells: 77, CellBits: 2, K: 1, P: 77, Seed: 1, Independent: independent})
		if err != nil {
			t.Fatal(err)
		}
		for i := range uint64(77) {
			f.cells.put(i, 3)
		}
		for left := range uint64(4) {
			for i := range uint64(77) {
				if got := f.cells.get(i); got != 3-left {
					t.Fatalf("cell %d is %d, want %d", i, got, 3-left)
				}
			}
			f.decay()
		}
		if f.Bits() != 154 {
			t.Errorf("%d bits, want 154", f.Bits())
		}
	}
}

// TestReach decrements and resets for long. All cells within reach become zero and
// all others keep their value: of 50 in reach, 1000 draws leave one out with e^-20.
func TestReach(t *testing.T) {
	for _, independent := range []bool{false, true} {
		f, err := NewStable(StableConfig{Cells: 100, CellBits: 1, K: 1, P: 3, Seed: 1, Reach: 50, Independent: independent})
		if err != nil {
			t.Fatal(err)
		}
		for i := range uint64(100) {
			f.cells.put(i, 1)
		}
		for range 1000 {
			f.decay()
		}
		end := uint64(50)
		if !independent {
			end += 2 // a run of three begins at 49
		}
		for i := range uint64(100) {
			if alive := f.cells.get(i) == 1; alive != (i >= end) {
				t.Errorf("independent %v: cell %d is alive: %v", independent, i, alive)
			}
		}
	}
	p, err := newPartition(BiasedConfig{Bits: 200, K: 2, Seed: 1, Reach: 50})
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(200) {
		p.bits.put(i, 1)
	}
	for range 1000 {
		p.resetEach()
	}
	for i := range uint64(200) {
		if set := p.bits.get(i) == 1; set != (i%100 >= 50) {
			t.Errorf("bit %d is set: %v", i, set)
		}
	}
}

func TestBloomMissesNothing(t *testing.T) {
	for _, k := range []int{1, 2, 5, 17} {
		f, err := NewBloom(50_000, k)
		if err != nil {
			t.Fatal(err)
		}
		ids := biasedStream(20_000, 8_000, 3)
		if c := countErrors(f, ids, 8_000); c.falseNegatives != 0 || c.duplicates != 12_000 {
			t.Errorf("k = %d: %d of %d duplicates missed", k, c.falseNegatives, c.duplicates)
		}
	}
}

// TestBloomFalsePositives inserts distinct elements only. Element i is a false
// positive with the closed form's chance, so their number lies within the bounds
// of a binomial of the mean chance (whose tails are the wider ones, Hoeffding
// 1956) but for 2e-6 of all choices of ids.
func TestBloomFalsePositives(t *testing.T) {
	const m, n = 100_000, 40_000
	for _, k := range []int{1, 2, 3, 6} {
		f, err := NewBloom(m, k)
		if err != nil {
			t.Fatal(err)
		}
		count, sum := 0, 0.0
		for i := range n {
			rate, err := theory.BloomFPR(m, k, i)
			if err != nil {
				t.Fatal(err)
			}
			sum += rate
			if f.TestAndSet(digestOf(uint64(i))) {
				count++
			}
		}
		low, high := binomialInterval(n, sum/n, 1e-6)
		if count < low || count > high {
			t.Errorf("k = %d: %d false positives, want %d to %d", k, count, low, high)
		}
	}
}

func TestNewOptimalBloom(t *testing.T) {
	for _, c := range []struct{ m, distinct, k int }{
		{1000, 100, 7}, {1000, 1000, 1}, {1000, 5000, 1}, {1 << 30, 1, maxHashes},
	} {
		f, err := NewOptimalBloom(c.m, c.distinct)
		if err != nil {
			t.Fatal(err)
		}
		if f.K() != c.k || f.Bits() != c.m {
			t.Errorf("%d bits for %d: k = %d of %d bits, want %d", c.m, c.distinct, f.K(), f.Bits(), c.k)
		}
	}
}

func TestConstructorErrors(t *testing.T) {
	stable := StableConfig{Cells: 100, CellBits: 2, K: 3, P: 5}
	changed := func(change func(*StableConfig)) error {
		c := stable
		change(&c)
		_, err := NewStable(c)
		return err
	}
	failure := func(_ any, err error) error { return err }
	for name, err := range map[string]error{
		"no bits":          failure(NewBloom(0, 1)),
		"too many bits":    failure(NewBloom(maxBits+1, 1)),
		"no hash":          failure(NewBloom(10, 0)),
		"too many hashes":  failure(NewBloom(10, maxHashes+1)),
		"no elements":      failure(NewOptimalBloom(10, 0)),
		"optimal, no bits": failure(NewOptimalBloom(-1, 10)),
		"cells":            changed(func(c *StableConfig) { c.Cells = c.K }),
		"many cells":       changed(func(c *StableConfig) { c.Cells = math.MaxInt }),
		"no cell bits":     changed(func(c *StableConfig) { c.CellBits = 0 }),
		"wide cells":       changed(func(c *StableConfig) { c.CellBits = maxCellBits + 1 }),
		"K":                changed(func(c *StableConfig) { c.K = 0 }),
		"P":                changed(func(c *StableConfig) { c.P = 0 }),
		"P above cells":    changed(func(c *StableConfig) { c.P = c.Cells + 1 }),
		"reach below P":    changed(func(c *StableConfig) { c.Reach = c.P - 1 }),
		"reach":            changed(func(c *StableConfig) { c.Reach = c.Cells + 1 }),
		"reach of resets":  failure(NewBSBF(BiasedConfig{Bits: 10, K: 2, Reach: 6})),
		"no element bits":  failure(NewLRU(10, 0)),
		"element bits":     failure(NewLRU(1000, 129)),
		"no element fits":  failure(NewLRU(63, 64)),
		"too many fit":     failure(NewLRU(maxBits, 1)),
		"RSBF threshold":   failure(NewRSBF(BiasedConfig{Bits: 10, K: 2}, 1)),
		"RSBF bits":        failure(NewRSBF(BiasedConfig{Bits: 1, K: 2}, 0)),
		"BSBF K":           failure(NewBSBF(BiasedConfig{Bits: 10})),
		"BSBFSD bits":      failure(NewBSBFSD(BiasedConfig{Bits: maxBits + 1, K: 2})),
		"RLBSBF K":         failure(NewRLBSBF(BiasedConfig{Bits: maxBits, K: maxHashes + 1})),
	} {
		if !errors.Is(err, ErrParameter) {
			t.Errorf("%s: error %v, want %v", name, err, ErrParameter)
		}
	}
}

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

func TestCells(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for width := 1; width <= maxCellBits; width++ {
		const count = 131
		c, want := newCells(count, width), make([]uint64, count)
		for range 5000 {
			i := random.Uint64N(count)
			if random.IntN(2) == 0 {
				want[i] = random.Uint64N(c.top + 1)
				c.put(i, want[i])
			} else {
				want[i] -= min(want[i], 1)
				c.decrement(i)
			}
		}
		for i := range want {
			if got := c.get(uint64(i)); got != want[i] {
				t.Fatalf("width %d, cell %d: %d, want %d", width, i, got, want[i])
			}
		}
	}
}

// TestPositions compares with the closed form x + i y + (i^3-i)/6 mod m.
func TestPositions(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	pos := make([]uint64, 40)
	for _, m := range []uint64{1, 2, 7, 64, 1001, 1 << 20, maxBits} {
		for range 50 {
			d := digest.Digest{random.Uint64(), random.Uint64()}
			positions(pos, d, m)
			x, y := scale(d[1], m), scale(d[0], m)
			for i := range pos {
				n := uint64(i)
				if want := (x + n*y + (n*n*n-n)/6) % m; pos[i] != want {
					t.Fatalf("m = %d, position %d: %d, want %d", m, i, pos[i], want)
				}
			}
		}
	}
}
