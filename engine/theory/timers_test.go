package theory

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// lastSetters is a plain simulation of timers: which element, from 1, set each last.
type lastSetters struct {
	timers []int
	pos    []int
	random *rand.Rand
}

func newLastSetters(m, k int, seed uint64) *lastSetters {
	return &lastSetters{make([]int, m), make([]int, k), rand.New(rand.NewPCG(seed, 0))}
}

// draw chooses the positions of a new element.
func (s *lastSetters) draw() {
	for j := range s.pos {
		s.pos[j] = s.random.IntN(len(s.timers))
	}
}

func (s *lastSetters) set(pos []int, element int) {
	for _, i := range pos {
		s.timers[i] = element
	}
}

// group returns the size of the largest group of equal positions, or 0 if one was never
// set.
func (s *lastSetters) group(pos []int) (largest int) {
	counts := map[int]int{}
	for _, i := range pos {
		if s.timers[i] == 0 {
			return 0
		}
		counts[s.timers[i]]++
		largest = max(largest, counts[s.timers[i]])
	}
	return largest
}

// The slack is for correlations in the order of K^2/m that the formula neglects, and
// for the elements that share a run's timers.
func TestEqualTimersFPRAgainstSimulation(t *testing.T) {
	const m, k, n, runs, queries = 500, 3, 400, 300, 1000
	var groups [k + 1]int
	for run := range runs {
		s := newLastSetters(m, k, uint64(run))
		for element := range n {
			s.draw()
			s.set(s.pos, element+1)
		}
		for range queries {
			s.draw()
			groups[s.group(s.pos)]++
		}
	}
	reported := 0
	for atLeast := k; atLeast >= 1; atLeast-- {
		reported += groups[atLeast]
		want := value[float64](t)(EqualTimers{m, k, atLeast}.FPR(n))
		plausible(t, fmt.Sprintf("FPR, %d equal", atLeast), reported, runs*queries, want, .03)
	}
}

func TestEqualTimersFNRAgainstSimulation(t *testing.T) {
	const m, k, newer, runs = 500, 4, 60, 40_000
	var groups [k + 1]int
	s := newLastSetters(m, k, 11)
	own := make([]int, k)
	for range runs {
		s.draw()
		copy(own, s.pos)
		s.set(own, 1)
		for element := range newer {
			s.draw()
			s.set(s.pos, element+2)
		}
		groups[s.group(own)]++
	}
	missed := 0
	for atLeast := 1; atLeast <= k; atLeast++ {
		missed += groups[atLeast-1]
		want := value[float64](t)(EqualTimers{m, k, atLeast}.FNR(newer))
		plausible(t, fmt.Sprintf("FNR, %d equal", atLeast), missed, runs, want, .02)
	}
}

func TestEqualTimersLimits(t *testing.T) {
	const m, k, n = 100_000, 8, 9_000
	off := value[float64](t)(EqualTimers{m, k, 1}.FPR(n))
	near(t, "k' = 1", off, value[float64](t)(BloomFPR(m, k, n)), .002)
	if fnr := value[float64](t)(EqualTimers{m, k, 1}.FNR(n)); fnr != 0 {
		t.Errorf("k' = 1 misses %g", fnr)
	}
	one := math.Pow(-math.Expm1(-float64(k)/m), k)
	near(t, "k' = k, one element", value[float64](t)(EqualTimers{m, k, k}.FPR(1)), one, .001)
	fpr, fnr := off, 0.0
	for atLeast := 2; atLeast <= k; atLeast++ {
		e := EqualTimers{m, k, atLeast}
		lower, higher := value[float64](t)(e.FPR(n)), value[float64](t)(e.FNR(n))
		if !(lower < fpr && lower > 0 && higher > fnr && higher < 1) {
			t.Errorf("%d equal: FPR %g after %g, FNR %g after %g", atLeast, lower, fpr, higher, fnr)
		}
		fpr, fnr = lower, higher
	}
	if fpr > n*one {
		t.Errorf("k' = k: FPR %g above that of %d lone elements, %g", fpr, n, n*one)
	}
	for _, e := range []EqualTimers{{1, 1, 1}, {1, 64, 64}, {1 << 30, 64, 1}} {
		fpr, fnr := value[float64](t)(e.FPR(3)), value[float64](t)(e.FNR(3))
		if !(fpr >= 0 && fpr <= 1 && fnr >= 0 && fnr <= 1) || math.IsNaN(fpr+fnr) {
			t.Errorf("%+v: FPR %g, FNR %g", e, fpr, fnr)
		}
	}
	if fpr := value[float64](t)(EqualTimers{9, 2, 1}.FPR(0)); fpr != 0 {
		t.Errorf("nothing held: FPR %g", fpr)
	}
}

// TestTimerContent runs the definition: an element that was delivered is held back for
// the events of a window. 6 standard deviations of the mean over runs are allowed.
func TestTimerContent(t *testing.T) {
	const window, runs = 50, 4000
	chances := []float64{.4, .3, .1, .1, .05, .03, .02, 0}
	random := rand.New(rand.NewPCG(17, 0))
	sum, squares := 0.0, 0.0
	for range runs {
		held := content(chances, window, random)
		sum += held
		squares += held * held
	}
	mean := sum / runs
	deviation := math.Sqrt((squares/runs - mean*mean) / runs)
	want := value[float64](t)(TimerContent(chances, window))
	if math.Abs(mean-want) > 6*deviation {
		t.Errorf("holds %.4f +- %.4f elements, formula %.4f", mean, deviation, want)
	}
	near(t, "certain element", value[float64](t)(TimerContent([]float64{1}, window)), 1, 1e-12)
}

// content returns how many elements are held in the steady state.
func content(chances []float64, window int, random *rand.Rand) (held float64) {
	deliveredAt := make([]int, len(chances))
	for i := range deliveredAt {
		deliveredAt[i] = -window
	}
	const events = 600
	for event := range events {
		if i := drawn(chances, random.Float64()); event-deliveredAt[i] >= window {
			deliveredAt[i] = event
		}
	}
	for _, at := range deliveredAt {
		if events-1-at < window && at >= 0 {
			held++
		}
	}
	return held
}

// drawn returns the element at which the sum of the chances exceeds u.
func drawn(chances []float64, u float64) int {
	for i, p := range chances {
		if u -= p; u < 0 {
			return i
		}
	}
	return 0 // what rounding leaves
}

func TestTimersDomain(t *testing.T) {
	good := EqualTimers{100, 4, 2}
	failure := func(_ any, err error) error { return err }
	requireDomainErrors(t, map[string]error{
		"window":  failure(TimerBits(0)),
		"timers":  failure(EqualTimers{0, 4, 2}.FPR(1)),
		"K":       failure(EqualTimers{100, 65, 2}.FPR(1)),
		"no K":    failure(EqualTimers{100, 0, 0}.FNR(1)),
		"equal":   failure(EqualTimers{100, 4, 0}.FNR(1)),
		"equal K": failure(EqualTimers{100, 4, 5}.FPR(1)),
		"n":       failure(good.FPR(-1)),
		"newer":   failure(good.FNR(-1)),
		"events":  failure(TimerContent([]float64{.5}, 0)),
		"chance":  failure(TimerContent([]float64{math.NaN()}, 5)),
	})
}
