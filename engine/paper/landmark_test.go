package paper

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// With a single substring it is the exact solution.
func TestSingleSubstringIsExact(t *testing.T) {
	v, err := NewSubstrings(11, 11)
	if err != nil {
		t.Fatal(err)
	}
	if v.Bits() != 2048 {
		t.Errorf("%d bits, want 2048", v.Bits())
	}
	random, known := rand.New(rand.NewPCG(1, 0)), make(map[uint64]bool)
	for range 4000 {
		id := random.Uint64N(2048)
		// What lies above the ID's bits is no part of it.
		if seen := v.TestAndSet(digest.Digest{random.Uint64()<<11 | id, random.Uint64()}); seen != known[id] {
			t.Fatalf("element %d: seen %v", id, seen)
		}
		known[id] = true
	}
}

// TestSubstring compares with the digest's bits one by one.
func TestSubstring(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 0))
	d := digest.Digest{random.Uint64(), random.Uint64()}
	for length := 1; length <= 38; length++ {
		for from := 0; from+length <= 128; from++ {
			want := uint64(0)
			for i := range length {
				bit := from + i
				want |= d[bit/64] >> (bit % 64) & 1 << i
			}
			if got := substring(d, from, length); got != want {
				t.Fatalf("%d bits from %d: %x, want %x", length, from, got, want)
			}
		}
	}
}

// TestSubstringsModel compares with a map of all substrings that came.
func TestSubstringsModel(t *testing.T) {
	for _, c := range []struct{ idBits, length int }{{16, 16}, {16, 12}, {70, 10}, {128, 9}, {10, 1}} {
		s, err := NewSubstrings(c.idBits, c.length)
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(3, 0))
		came := make(map[[2]uint64]bool)
		positives := 0
		for range 3000 {
			d := digestOf(random.Uint64N(2000))
			want := true
			for from := 0; from+c.length <= c.idBits; from++ {
				key := [2]uint64{uint64(from), substring(d, from, c.length)}
				want = want && came[key]
				came[key] = true
			}
			if got := s.TestAndSet(d); got != want {
				t.Fatalf("%+v: seen %v, want %v", c, got, want)
			}
			if want {
				positives++
			}
		}
		if positives == 0 {
			t.Errorf("%+v: no duplicates in the test", c)
		}
	}
}

// TestSubstringsExample checks the paper's example: 17 vectors of 2^16 bits, 0.026 % of
// those of the exact solution.
func TestSubstringsExample(t *testing.T) {
	s, err := NewSubstrings(32, 16)
	if err != nil {
		t.Fatal(err)
	}
	if share := float64(s.Bits()) / (1 << 32); s.Bits() != 17<<16 || share < .000255 || share > .000265 {
		t.Errorf("%d bits, %.5f %% of the exact solution's", s.Bits(), 100*share)
	}
}

// TestSubstringsCollideTogether shows why the paper rejects the method: it has more false
// positives than as many independent functions with vectors of the same size. Their
// number stays below the closed form's upper bound with probability 1 - 1e-6.
func TestSubstringsCollideTogether(t *testing.T) {
	const idBits, length, n = 24, 12, 4096
	s, err := NewSubstrings(idBits, length)
	if err != nil {
		t.Fatal(err)
	}
	const d = idBits - length + 1
	l, err := NewLandmarkBloom(LandmarkConfig{Bits: d << length, D: d, Window: n, Partitioned: true})
	if err != nil {
		t.Fatal(err)
	}
	overlapping, independent := 0, 0
	for id := range uint64(n) {
		if s.TestAndSet(digestOf(id)) {
			overlapping++
		}
		if l.TestAndSet(digestOf(id)) {
			independent++
		}
	}
	_, high := binomialInterval(n, landmarkRate(t, d<<length, d, n), 1e-6)
	t.Logf("%d false positives, %d with independent functions, bound %d", overlapping, independent, high)
	if independent > high || overlapping <= high {
		t.Errorf("%d false positives, %d with independent functions, bound %d", overlapping, independent, high)
	}
}

func TestSubstringsConstructorErrors(t *testing.T) {
	failure := func(_ any, err error) error { return err }
	requireParameterErrors(t, map[string]error{
		"no substring":          failure(NewSubstrings(8, 0)),
		"substring of no ID":    failure(NewSubstrings(0, 1)),
		"ID beyond digest":      failure(NewSubstrings(129, 4)),
		"substring beyond ID":   failure(NewSubstrings(8, 9)),
		"substrings' memory":    failure(NewSubstrings(128, 32)),
		"substring of 128 bits": failure(NewSubstrings(128, 128)),
	})
}

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
