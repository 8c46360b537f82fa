package paper

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/engine/theory"
)

// requireParameterErrors requires all errors to wrap [ErrParameter].
func requireParameterErrors(t *testing.T, errs map[string]error) {
	t.Helper()
	for name, err := range errs {
		if !errors.Is(err, ErrParameter) {
			t.Errorf("%s: error %v, want %v", name, err, ErrParameter)
		}
	}
}

func landmarkRate(t *testing.T, m, d, n int) float64 {
	t.Helper()
	rate, err := theory.LandmarkRate(m, d, n)
	if err != nil {
		t.Fatal(err)
	}
	return rate
}

func landmarkConfigs(bits, window int) []LandmarkConfig {
	var all []LandmarkConfig
	for _, d := range []int{1, 2, 3, 5, 8} {
		for _, partitioned := range []bool{false, true} {
			all = append(all, LandmarkConfig{Bits: bits, D: d, Window: window, Partitioned: partitioned})
		}
	}
	return all
}

// TestLandmarkBloomRate compares the errors of windows of distinct elements with the
// closed form, for both hash spaces. The number of errors lies within the bounds of a
// binomial of the mean chance (whose tails are wider, Hoeffding 1956) except for 2e-6 of
// all choices of ids, and 1 % for terms of the order of d/M.
func TestLandmarkBloomRate(t *testing.T) {
	const window, windows = 20_000, 3
	for _, c := range landmarkConfigs(0, window) {
		c.Bits = c.D * 28_854 // N/ln(2)
		l, err := NewLandmarkBloom(c)
		if err != nil {
			t.Fatal(err)
		}
		count := 0
		for id := range uint64(window * windows) {
			if l.TestAndSet(digestOf(id)) {
				count++
			}
		}
		rate := landmarkRate(t, c.Bits, c.D, window)
		low, _ := binomialInterval(window*windows, .99*rate, 1e-6)
		_, high := binomialInterval(window*windows, 1.01*rate, 1e-6)
		if count < low || count > high {
			t.Errorf("%+v: %d false positives, want %d to %d", c, count, low, high)
		}
	}
}

// TestLandmarkBloomModel compares every verdict with a map of what each function set,
// or all of them, since the landmark.
func TestLandmarkBloomModel(t *testing.T) {
	const bits, window = 64, 30
	for _, c := range landmarkConfigs(bits, window) {
		l, err := NewLandmarkBloom(c)
		if err != nil {
			t.Fatal(err)
		}
		space, pos := uint64(bits), make([]uint64, c.D)
		if c.Partitioned {
			space = uint64(bits / c.D)
		}
		var set map[[2]uint64]bool // hash space and position
		for at, id := range skewedStream(20*window, 500, 11) {
			if at%window == 0 {
				set = make(map[[2]uint64]bool)
			}
			positions(pos, digestOf(id), space)
			want := true
			for function, i := range pos {
				key := [2]uint64{0, i}
				if c.Partitioned {
					key[0] = uint64(function)
				}
				want = want && set[key]
				set[key] = true
			}
			if seen := l.TestAndSet(digestOf(id)); seen != want {
				t.Fatalf("%+v: element %d at %d: seen %v, want %v", c, id, at, seen, want)
			}
		}
	}
}

// TestLandmarkBloomMissesNothing runs a stream of half duplicates. Elements of the same
// window are found, and none right after a landmark.
func TestLandmarkBloomMissesNothing(t *testing.T) {
	const window = 500
	for _, c := range landmarkConfigs(3_001, window) {
		l, err := NewLandmarkBloom(c)
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(6, 0))
		var known map[uint64]bool
		for i := range 20 * window {
			if i%window == 0 {
				known = make(map[uint64]bool)
			}
			id := random.Uint64N(window / 2)
			seen := l.TestAndSet(digestOf(id))
			if known[id] && !seen {
				t.Fatalf("%+v: element %d at %d is missed", c, id, i)
			}
			if len(known) == 0 && seen {
				t.Fatalf("%+v: element %d is found at a landmark", c, id)
			}
			known[id] = true
		}
	}
}

func TestLandmarkBloomBits(t *testing.T) {
	for _, c := range []struct {
		config LandmarkConfig
		bits   int
	}{
		{LandmarkConfig{Bits: 100, D: 7, Window: 1}, 100},
		{LandmarkConfig{Bits: 100, D: 7, Window: 1, Partitioned: true}, 98},
	} {
		l, err := NewLandmarkBloom(c.config)
		if err != nil {
			t.Fatal(err)
		}
		if l.Bits() != c.bits {
			t.Errorf("%+v: %d bits, want %d", c.config, l.Bits(), c.bits)
		}
	}
}

func TestLandmarkConstructorErrors(t *testing.T) {
	changed := func(change func(*LandmarkConfig)) error {
		c := LandmarkConfig{Bits: 100, D: 3, Window: 50}
		change(&c)
		_, err := NewLandmarkBloom(c)
		return err
	}
	requireParameterErrors(t, map[string]error{
		"no bits":         changed(func(c *LandmarkConfig) { c.Bits = 0 }),
		"many bits":       changed(func(c *LandmarkConfig) { c.Bits = maxBits + 1 }),
		"bits below D":    changed(func(c *LandmarkConfig) { c.Bits, c.Partitioned = 2, true }),
		"no functions":    changed(func(c *LandmarkConfig) { c.D = 0 }),
		"many functions":  changed(func(c *LandmarkConfig) { c.D = maxHashes + 1 }),
		"no window":       changed(func(c *LandmarkConfig) { c.Window = 0 }),
		"negative window": changed(func(c *LandmarkConfig) { c.Window = -1 }),
	})
}
