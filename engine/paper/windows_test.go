package paper

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/engine/theory"
)

func newTestJumping(t *testing.T, c JumpingConfig) *JumpingBloom {
	t.Helper()
	j, err := NewJumpingBloom(c)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// TestJumpingBloomModel compares every verdict with a table of the sub-window that last
// set each cell, for counters of all widths: the width does not change verdicts.
func TestJumpingBloomModel(t *testing.T) {
	for _, subWindows := range []int{1, 2, 3, 4, 9} {
		for _, counterBits := range []int{1, 2, 4, 12} {
			c := JumpingConfig{Counters: 150, CounterBits: counterBits, D: 3, SubWindows: subWindows, SubWindow: 11}
			j := newTestJumping(t, c)
			latest := make([]int, c.Counters)
			pos := make([]uint64, c.D)
			positives := 0
			for at, id := range skewedStream(5000, 1000, 6) {
				sub := subWindows + at/c.SubWindow
				positions(pos, digestOf(id), 150)
				want := true
				for _, i := range pos {
					want = want && latest[i] > sub-subWindows
				}
				for _, i := range pos {
					latest[i] = sub
				}
				if seen := j.TestAndSet(digestOf(id)); seen != want {
					t.Fatalf("%+v: element %d at %d: seen %v, want %v", c, id, at, seen, want)
				}
				if want {
					positives++
				}
			}
			if positives == 0 || positives == 5000 {
				t.Errorf("%+v: all verdicts are the same", c)
			}
		}
	}
}

// TestJumpingBloomMainIsTheSum checks at every jump that the main filter holds the sum of
// the complete sub-windows, which the paper calls always correct.
func TestJumpingBloomMainIsTheSum(t *testing.T) {
	for _, counterBits := range []int{1, 3} {
		c := JumpingConfig{Counters: 20, CounterBits: counterBits, D: 3, SubWindows: 5, SubWindow: 13}
		j := newTestJumping(t, c)
		full := 0
		for at, id := range skewedStream(3000, 300, 7) {
			j.TestAndSet(digestOf(id))
			if (at+1)%c.SubWindow != 0 {
				continue
			}
			for i := range j.m {
				sum := uint64(0)
				for sub := range j.windows {
					value := j.subs.get(sub*j.m + i)
					sum += value
					if value == j.subs.top {
						full++
					}
				}
				if got := j.main.get(i); got != sum {
					t.Fatalf("%+v: after %d elements counter %d is %d, want %d", c, at+1, i, got, sum)
				}
			}
		}
		if full == 0 {
			t.Errorf("%+v: no counter was ever full", c)
		}
	}
}

// TestJumpingBloomMissesNothing compares with the exact window that a query covers. It
// uses so many counters that any false positive has a chance below 1e-6, so nothing else
// is found either.
func TestJumpingBloomMissesNothing(t *testing.T) {
	const subWindow = 40
	for _, subWindows := range []int{1, 2, 5} {
		j := newTestJumping(t, JumpingConfig{
			Counters: 1 << 14, CounterBits: 2, D: 8, SubWindows: subWindows, SubWindow: subWindow,
		})
		last := make(map[uint64]int)
		found, forgotten := 0, 0
		for at, id := range skewedStream(20_000, 2000, 8) {
			sub := at / subWindow
			before, came := last[id]
			want := came && before > sub-subWindows
			if seen := j.TestAndSet(digestOf(id)); seen != want {
				t.Fatalf("%d sub-windows: element %d at %d: seen %v, want %v", subWindows, id, at, seen, want)
			}
			if want {
				found++
			} else if came {
				forgotten++
			}
			last[id] = sub
		}
		if found == 0 || forgotten == 0 {
			t.Errorf("%d sub-windows: %d found, %d forgotten: nothing is tested", subWindows, found, forgotten)
		}
	}
}

// TestJumpingBloomRate compares both rates of distinct elements with the closed forms.
// The bounds are those of independent errors at 1e-6 on each side, and 2 % because errors
// share the load of the filter.
func TestJumpingBloomRate(t *testing.T) {
	const subWindows, subWindow, windows = 4, 5_000, 8
	for _, d := range []int{1, 2, 4, 8} {
		m := int(math.Round(float64(d*subWindows*subWindow) / math.Ln2))
		j := newTestJumping(t, JumpingConfig{
			Counters: m, CounterBits: 4, D: d, SubWindows: subWindows, SubWindow: subWindow,
		})
		const elements = (subWindows + windows - 1) * subWindow
		all, steady := 0, 0
		for id := range uint64(elements) {
			if j.TestAndSet(digestOf(id)) {
				all++
				if id >= subWindows*subWindow {
					steady++
				}
			}
		}
		model := theory.Jumping{Cells: m, D: d, SubWindows: subWindows, SubWindow: subWindow}
		fromEmptyRate, err := model.RateFromEmpty(windows)
		if err != nil {
			t.Fatal(err)
		}
		steadyRate, err := model.SteadyRate()
		if err != nil {
			t.Fatal(err)
		}
		requireErrorCount(t, fmt.Sprintf("d = %d from empty", d), all, elements, fromEmptyRate)
		requireErrorCount(t, fmt.Sprintf("d = %d steady", d), steady, (windows-1)*subWindow, steadyRate)
	}
}

// requireErrorCount requires count to be within the binomial bounds at 1e-6 of rates
// within 2 % of the given one.
func requireErrorCount(t *testing.T, name string, count, trials int, rate float64) {
	t.Helper()
	low, _ := binomialInterval(trials, .98*rate, 1e-6)
	_, high := binomialInterval(trials, 1.02*rate, 1e-6)
	if count < low || count > high {
		t.Errorf("%s: %d false positives, want %d to %d", name, count, low, high)
	}
}

func TestJumpingBloomBits(t *testing.T) {
	j := newTestJumping(t, JumpingConfig{Counters: 1001, CounterBits: 4, D: 3, SubWindows: 5, SubWindow: 9})
	if want := 1001 * (5*4 + 7); j.Bits() != want { // 5 times 15 takes 7 bits
		t.Errorf("%d bits, want %d", j.Bits(), want)
	}
}

func TestJumpingConstructorErrors(t *testing.T) {
	changed := func(change func(*JumpingConfig)) error {
		c := JumpingConfig{Counters: 100, CounterBits: 4, D: 3, SubWindows: 4, SubWindow: 50}
		change(&c)
		_, err := NewJumpingBloom(c)
		return err
	}
	requireParameterErrors(t, map[string]error{
		"no counters":          changed(func(c *JumpingConfig) { c.Counters = 0 }),
		"many counters":        changed(func(c *JumpingConfig) { c.Counters = maxBits / 4 }),
		"no counter bits":      changed(func(c *JumpingConfig) { c.CounterBits = 0 }),
		"wide counters":        changed(func(c *JumpingConfig) { c.CounterBits = maxCellBits + 1 }),
		"sums beyond counters": changed(func(c *JumpingConfig) { c.CounterBits = maxCellBits - 1 }),
		"no functions":         changed(func(c *JumpingConfig) { c.D = 0 }),
		"many functions":       changed(func(c *JumpingConfig) { c.D = maxHashes + 1 }),
		"no sub-windows":       changed(func(c *JumpingConfig) { c.SubWindows = 0 }),
		"many sub-windows":     changed(func(c *JumpingConfig) { c.SubWindows = 1<<12 + 1 }),
		"no sub-window":        changed(func(c *JumpingConfig) { c.SubWindow = 0 }),
	})
}

func newTestSliding(t *testing.T, c SlidingConfig) *SlidingBloom {
	t.Helper()
	s, err := NewSlidingBloom(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// skewedStream returns n elements below alphabet, of which low ones come much more often:
// each is the square of the lesser of two uniform draws.
func skewedStream(n, alphabet int, seed uint64) []uint64 {
	random := rand.New(rand.NewPCG(seed, 0))
	ids := make([]uint64, n)
	for i := range ids {
		x := math.Pow(min(random.Float64(), random.Float64()), 2)
		ids[i] = uint64(x * float64(alphabet))
	}
	return ids
}

// TestSlidingBloomModel counts the increments of each counter by the elements of the
// window again for each element. Wide counters must equal them, and so every verdict.
// Narrow ones may be too large, and so find more, never less.
func TestSlidingBloomModel(t *testing.T) {
	for _, window := range []int{1, 2, 7, 60} {
		for counterBits := 2; counterBits <= 10; counterBits += 2 {
			c := SlidingConfig{Counters: 97, CounterBits: counterBits, D: 3, Window: window, ElementBits: 32}
			s := newTestSliding(t, c)
			exact := c.CounterBits == 10
			ids := skewedStream(3000, 400, 4)
			model := make([]int, c.Counters)
			set := func(id uint64, change int) (found bool) {
				pos := make([]uint64, c.D)
				positions(pos, digestOf(id), 97)
				found = true
				for _, i := range pos {
					found = found && model[i] > 0
					model[i] += change
				}
				return found
			}
			for at, id := range ids {
				found := set(id, 1)
				if at >= window {
					set(ids[at-window], -1)
				}
				if seen := s.TestAndSet(digestOf(id)); seen != found && (exact || found) {
					t.Fatalf("%+v: element %d at %d: seen %v, model %v", c, id, at, seen, found)
				}
				requireCounters(t, s, model, exact)
			}
		}
	}
}

// requireCounters requires counters to be at least those of the model or, if exact, equal
// to them.
func requireCounters(t *testing.T, s *SlidingBloom, model []int, exact bool) {
	t.Helper()
	for i, want := range model {
		got := s.counters.get(uint64(i))
		stuck := got == s.counters.top
		if got != uint64(want) && (exact || !stuck) {
			t.Fatalf("counter %d is %d, want %d", i, got, want)
		}
	}
}

// TestSlidingBloomMissesNothing compares with the exact window: an element of the last
// N is always found, with the narrowest counters, however often elements come.
func TestSlidingBloomMissesNothing(t *testing.T) {
	const window = 300
	for counterBits := 2; counterBits <= 4; counterBits++ {
		s := newTestSliding(t, SlidingConfig{
			Counters: 4000, CounterBits: counterBits, D: 4, Window: window, ElementBits: 64,
		})
		last := make(map[uint64]int)
		duplicates, atTheEnd := 0, 0
		for at, id := range skewedStream(60_000, 3000, 5) {
			before, came := last[id]
			seen := s.TestAndSet(digestOf(id))
			if came && at-before <= window {
				duplicates++
				if !seen {
					t.Fatalf("%d bits: element %d is missed %d after the last", counterBits, id, at-before)
				}
				if at-before == window {
					atTheEnd++
				}
			}
			last[id] = at
		}
		if duplicates < 10_000 || atTheEnd == 0 || s.SaturatedShare() == 0 {
			t.Errorf("%d bits: %d duplicates, %d at the window's end, share of full counters %g: nothing is tested",
				counterBits, duplicates, atTheEnd, s.SaturatedShare())
		}
	}
}

// TestSlidingBloomForgets checks that an element that left the window is new again, with
// so many counters that false positives have a chance below 1e-9.
func TestSlidingBloomForgets(t *testing.T) {
	const window = 10
	for gap := window - 1; gap <= window+2; gap++ {
		s := newTestSliding(t, SlidingConfig{
			Counters: 1 << 16, CounterBits: 4, D: 8, Window: window, ElementBits: 64,
		})
		for id := range uint64(100) {
			s.TestAndSet(digestOf(id))
		}
		if seen := s.TestAndSet(digestOf(uint64(100 - gap))); seen != (gap <= window) {
			t.Errorf("element of %d before: seen %v", gap, seen)
		}
	}
}

// TestSlidingBloomRate compares the steady state with the rate of a Bloom filter of N
// elements, with distinct elements only. Verdicts at least N apart are independent, but
// those in between share the load of the filter. So the bounds are those of independent
// errors, left with chance 2e-6, and another 2 %.
func TestSlidingBloomRate(t *testing.T) {
	const window, measured = 5_000, 100_000
	for _, d := range []int{1, 2, 4, 6} {
		m := int(math.Round(float64(d*window) / math.Ln2))
		s := newTestSliding(t, SlidingConfig{Counters: m, CounterBits: 8, D: d, Window: window, ElementBits: 64})
		count := 0
		for id := range uint64(window + measured) {
			if seen := s.TestAndSet(digestOf(id)); seen && id >= window {
				count++
			}
		}
		rate, err := theory.BloomFPR(m, d, window)
		if err != nil {
			t.Fatal(err)
		}
		low, _ := binomialInterval(measured, .98*rate, 1e-6)
		_, high := binomialInterval(measured, 1.02*rate, 1e-6)
		if count < low || count > high {
			t.Errorf("d = %d: %d false positives, want %d to %d", d, count, low, high)
		}
	}
}

func TestSlidingBloomBits(t *testing.T) {
	s := newTestSliding(t, SlidingConfig{Counters: 1001, CounterBits: 4, D: 3, Window: 50, ElementBits: 512})
	if want := 1001*4 + 50*512; s.Bits() != want {
		t.Errorf("%d bits, want %d", s.Bits(), want)
	}
}

func TestSlidingConstructorErrors(t *testing.T) {
	changed := func(change func(*SlidingConfig)) error {
		c := SlidingConfig{Counters: 100, CounterBits: 4, D: 3, Window: 50, ElementBits: 64}
		change(&c)
		_, err := NewSlidingBloom(c)
		return err
	}
	requireParameterErrors(t, map[string]error{
		"no counters":       changed(func(c *SlidingConfig) { c.Counters = 0 }),
		"many counters":     changed(func(c *SlidingConfig) { c.Counters = math.MaxInt }),
		"one bit":           changed(func(c *SlidingConfig) { c.CounterBits = 1 }),
		"wide counters":     changed(func(c *SlidingConfig) { c.CounterBits = maxCellBits + 1 }),
		"no functions":      changed(func(c *SlidingConfig) { c.D = 0 }),
		"many functions":    changed(func(c *SlidingConfig) { c.D = maxHashes + 1 }),
		"no window":         changed(func(c *SlidingConfig) { c.Window = 0 }),
		"long window":       changed(func(c *SlidingConfig) { c.Window = math.MaxInt }),
		"no element bits":   changed(func(c *SlidingConfig) { c.ElementBits = 0 }),
		"many element bits": changed(func(c *SlidingConfig) { c.ElementBits = 513 }),
	})
}
