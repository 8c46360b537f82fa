package paper

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// slicings are all ways to slice a filter into 12 sites, for K = 6.
var slicings = map[string]func(c SlicedConfig) (*Sliced, error){
	"horizontal": func(c SlicedConfig) (*Sliced, error) { c.Slices = 12; return NewHorizontal(c) },
	"vertical":   func(c SlicedConfig) (*Sliced, error) { c.Slices = 12; return NewVertical(c) },
	"split 2x3":  func(c SlicedConfig) (*Sliced, error) { c.Slices = 12; return NewSplit(c, 2) },
	"split 3x2":  func(c SlicedConfig) (*Sliced, error) { c.Slices = 12; return NewSplit(c, 3) },
	"h-v diced":  func(c SlicedConfig) (*Sliced, error) { c.Slices = 3; return NewHVDiced(c, 4) },
	"v-h diced":  func(c SlicedConfig) (*Sliced, error) { c.Slices = 4; return NewVHDiced(c, 3) },
}

func mustSlice(t *testing.T, f *Sliced, err error) *Sliced {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestVerticalIsUnsliced: Definition 2 gives the bits of the unsliced filter to sites, so
// every verdict is the same with all primitives.
func TestVerticalIsUnsliced(t *testing.T) {
	ids := biasedStream(12_000, 5_000, 11)
	for _, slices := range []int{1, 7, 40, 6_000} {
		for _, k := range []int{1, 4, 9} {
			for _, way := range []SlicedConfig{{}, {FirstTest: true}, {Pipelined: true}, {FirstTest: true, Pipelined: true}} {
				way.Bits, way.K, way.Slices = 30_011, k, slices
				f, err := NewVertical(way)
				mustSlice(t, f, err)
				whole := make([]bool, f.Bits())
				for i, id := range ids {
					d := digestOf(uint64(id))
					if got, want := f.TestAndSet(d), testAndSetWhole(whole, d, k); got != want {
						t.Fatalf("%d slices, %+v: element %d seen %v, unsliced %v", slices, way, i, got, want)
					}
				}
			}
		}
	}
}

// testAndSetWhole is the unsliced filter: one array and k hash functions.
func testAndSetWhole(whole []bool, d digest.Digest, k int) (seen bool) {
	pos := make([]uint64, k)
	independentPositions(pos, d, uint64(len(whole)))
	seen = true
	for _, i := range pos {
		seen = seen && whole[i]
	}
	for _, i := range pos {
		whole[i] = true
	}
	return seen
}

// TestPrimitivesAgree runs all primitives side by side with slices that fail as
// the stream goes on: what is sent differs, the verdicts do not.
func TestPrimitivesAgree(t *testing.T) {
	ids := biasedStream(6_000, 3_000, 12)
	for name, slice := range slicings {
		for _, atLeast := range []int{0, 3, 6} {
			var filters []*Sliced
			for way := range 4 {
				f, err := slice(SlicedConfig{Bits: 24_000, K: 6, AtLeast: atLeast, FirstTest: way&1 > 0, Pipelined: way&2 > 0})
				filters = append(filters, mustSlice(t, f, err))
			}
			for i, id := range ids {
				want := filters[0].TestAndSet(digestOf(uint64(id)))
				for way, f := range filters[1:] {
					if got := f.TestAndSet(digestOf(uint64(id))); got != want {
						t.Fatalf("%s, at least %d: element %d seen %v, by way %d %v", name, atLeast, i, want, way+1, got)
					}
				}
				if i%1_000 == 999 {
					for _, f := range filters {
						if err := f.Fail(i / 1_000); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
		}
	}
}

// TestSlicedMissesNothing: neither without failures, nor with failed slices whose
// elements count as duplicates.
func TestSlicedMissesNothing(t *testing.T) {
	ids := biasedStream(10_000, 4_000, 13)
	for name, slice := range slicings {
		for _, failures := range []int{0, 5} {
			f, err := slice(SlicedConfig{Bits: 40_000, K: 6})
			mustSlice(t, f, err)
			known := map[uint32]bool{}
			for i, id := range ids {
				if failures > 0 && i%2_000 == 1_000 {
					if err := f.Fail(i / 1_000); err != nil {
						t.Fatal(err)
					}
				}
				if seen := f.TestAndSet(digestOf(uint64(id))); known[id] && !seen {
					t.Fatalf("%s, %d failures: element %d is missed", name, failures, i)
				}
				known[id] = true
			}
		}
	}
}

// TestSlicedFalsePositives inserts distinct elements only, and compares with the closed
// forms for slices with random loads. The bounds are binomial, 1e-6 on each side.
func TestSlicedFalsePositives(t *testing.T) {
	const m, k, n = 120_000, 6, 20_000
	for name, c := range map[string]struct{ slices, k1 int }{
		"horizontal": {12, 1}, "vertical": {12, 6}, "split 2x3": {12, 2}, "split 3x2": {12, 3},
		"h-v diced": {3, 1}, "v-h diced": {12, 6},
	} {
		f, err := slicings[name](SlicedConfig{Bits: m, K: k})
		checkFalsePositives(t, name, mustSlice(t, f, err), theory.Sliced{Bits: m, K: k, Slices: c.slices}, c.k1, n)
	}
	// Slices of 120 bits, whose number of elements varies much.
	for _, k1 := range []int{1, 2, 6} {
		f, err := NewSplit(SlicedConfig{Bits: m, K: k, Slices: 1_000}, k1)
		checkFalsePositives(t, fmt.Sprintf("1000 slices, k1 = %d", k1),
			mustSlice(t, f, err), theory.Sliced{Bits: m, K: k, Slices: 1_000}, k1, n)
	}
}

func checkFalsePositives(t *testing.T, name string, f Filter, form theory.Sliced, k1, n int) {
	t.Helper()
	const step = 200 // the rate is all but linear over so few elements
	count, sum := 0, 0.0
	for i := range n {
		if f.TestAndSet(digestOf(uint64(i))) {
			count++
		}
		if i%step == step/2 {
			rate, err := form.SplitFPR(k1, i)
			if err != nil {
				t.Fatal(err)
			}
			sum += step * rate
		}
	}
	low, high := binomialInterval(n, sum/float64(n), 1e-6)
	if count < low || count > high {
		t.Errorf("%s: %d false positives, want %d to %d", name, count, low, high)
	}
}

func TestSlicedErrors(t *testing.T) {
	good := SlicedConfig{Bits: 100, K: 4, Slices: 5}
	with := func(change func(*SlicedConfig)) error {
		c := good
		change(&c)
		_, err := NewVertical(c)
		return err
	}
	failure := func(_ *Sliced, err error) error { return err }
	f, err := NewHorizontal(good)
	mustSlice(t, f, err)
	for name, err := range map[string]error{
		"no K":            with(func(c *SlicedConfig) { c.K = 0 }),
		"too many hashes": with(func(c *SlicedConfig) { c.K = maxHashes + 1 }),
		"bits":            with(func(c *SlicedConfig) { c.Bits = 4 }),
		"too many bits":   with(func(c *SlicedConfig) { c.Bits = maxBits + 1 }),
		"slices":          with(func(c *SlicedConfig) { c.Slices = 0 }),
		"too many slices": with(func(c *SlicedConfig) { c.Bits, c.Slices = maxBits, maxSlices+1 }),
		"AtLeast":         with(func(c *SlicedConfig) { c.AtLeast = 5 }),
		"below 0":         with(func(c *SlicedConfig) { c.AtLeast = -1 }),
		"k1":              failure(NewSplit(good, 3)),
		"no k1":           failure(NewSplit(good, 0)),
		"split without K": failure(NewSplit(SlicedConfig{Bits: 10, Slices: 1}, 1)),
		"inner":           failure(NewHVDiced(good, 0)),
		"inner bits":      failure(NewVHDiced(good, 21)),
		"inner overflow":  failure(NewVHDiced(good, math.MaxInt)),
		"fail":            f.Fail(5),
		"fail below 0":    f.Fail(-1),
	} {
		if !errors.Is(err, ErrParameter) {
			t.Errorf("%s: error %v, want %v", name, err, ErrParameter)
		}
	}
}

// TestFailuresAgainstClosedForms fills filters of 40 slices with distinct elements, makes
// 8 slices fail, and then gives old and new elements. A fifth of all bits is lost. The
// binomial bounds are 1e-6 on each side; the FPR comes from the closed form of the set
// bits at half of the new elements.
func TestFailuresAgainstClosedForms(t *testing.T) {
	const m, k, slices, failed, n, probes = 160_000, 8, 40, 8, 16_000, 8_000
	form := theory.Sliced{Bits: m, K: k, Slices: slices}
	for _, k1 := range []int{1, 2, 8} {
		for _, atLeast := range []int{0, 1, 3, 4, 5, 8} {
			f, err := NewSplit(SlicedConfig{Bits: m, K: k, Slices: slices, AtLeast: atLeast}, k1)
			mustSlice(t, f, err)
			for id := range n {
				f.TestAndSet(digestOf(uint64(id)))
			}
			for slice := range failed {
				if err := f.Fail(slice * slices / failed); err != nil {
					t.Fatal(err)
				}
			}
			missed := probes - countSeen(f, 0, probes)
			reported := countSeen(f, n, n+probes)
			p, err := form.SplitFPR(k1, n+probes/2)
			if err != nil {
				t.Fatal(err)
			}
			fpr, fnr, err := form.SplitHybrid(k1, failed, p, atLeast)
			if err != nil {
				t.Fatal(err)
			}
			if low, high := interval(probes, fnr); missed < low || missed > high {
				t.Errorf("k1 = %d, at least %d: %d missed, want %d to %d", k1, atLeast, missed, low, high)
			}
			if low, high := interval(probes, fpr); reported < low || reported > high {
				t.Errorf("k1 = %d, at least %d: %d reported, want %d to %d", k1, atLeast, reported, low, high)
			}
		}
	}
}

// interval returns the binomial interval for 1e-6 on each side, or all trials or none if
// p is 1 or 0.
func interval(trials int, p float64) (low, high int) {
	if p == 0 || p == 1 {
		only := int(math.Round(p * float64(trials)))
		return only, only
	}
	return binomialInterval(trials, p, 1e-6)
}

// countSeen gives a filter the ids from first to below end, and counts those reported
// as duplicates.
func countSeen(f Filter, first, end int) int {
	seen := 0
	for id := first; id < end; id++ {
		if f.TestAndSet(digestOf(uint64(id))) {
			seen++
		}
	}
	return seen
}

// TestCostInParallel gives a filter of 4 slices of 16 bits a new element, the same again,
// and another new one. A position takes 4 bits in a message, and an element has three.
// The slices that hold them are tested, and each answers.
func TestCostInParallel(t *testing.T) {
	for _, firstTest := range []bool{false, true} {
		f, err := NewVertical(SlicedConfig{Bits: 64, K: 3, Slices: 4, FirstTest: firstTest})
		mustSlice(t, f, err)
		var want Cost
		for i, id := range []uint64{1, 1, 2} {
			seen := f.TestAndSet(digestOf(id))
			if seen != (i == 1) {
				t.Fatalf("element %d seen %v", i, seen)
			}
			slices := map[int]bool{}
			for _, p := range f.addresses {
				slices[p.slice] = true
			}
			want.Events++
			want.Tests += len(slices)
			want.Answers += len(slices)
			want.PositionBits += 12
			if firstTest && !seen {
				want.Sets += len(slices)
				want.PositionBits += 12
			}
		}
		if f.Cost() != want {
			t.Errorf("first test %v: cost %+v, want %+v", firstTest, f.Cost(), want)
		}
	}
}

// TestCostOfPipelines takes an element whose three bits lie in three slices, so that
// all numbers follow by hand.
func TestCostOfPipelines(t *testing.T) {
	for _, c := range []struct {
		name      string
		firstTest bool
		want      Cost
	}{
		// A position takes 3 bits in its slice of 8, and 5 in the filter of 32. The
		// element has one bit in each of 3 slices: 3 requests with 1, 2 and 3 positions.
		{"test and set, new", false, Cost{Events: 1, Tests: 3, Answers: 1, PositionBits: 3*3 + 3*5}},
		{"first test, new", true, Cost{Events: 1, Tests: 1, Sets: 3, Answers: 1, PositionBits: (3 + 2*5) + (3*3 + 3*5)}},
	} {
		f, err := NewVertical(SlicedConfig{Bits: 32, K: 3, Slices: 4, FirstTest: c.firstTest, Pipelined: true})
		mustSlice(t, f, err)
		id := idInThreeSlices(f)
		if f.TestAndSet(digestOf(id)) || f.Cost() != c.want {
			t.Errorf("%s: cost %+v, want %+v", c.name, f.Cost(), c.want)
		}
		// The same again is a duplicate, and all are tested.
		again := c.want
		again.Events++
		again.Tests += 3
		again.Answers++
		again.PositionBits += 3*3 + 3*5
		if !f.TestAndSet(digestOf(id)) || f.Cost() != again {
			t.Errorf("%s, again: cost %+v, want %+v", c.name, f.Cost(), again)
		}
		if got := f.Cost().Messages(); got != again.Tests+again.Sets+2 || f.Cost().Accesses() != again.Tests+again.Sets {
			t.Errorf("%s: %d messages, %d accesses", c.name, got, f.Cost().Accesses())
		}
	}
}

// idInThreeSlices returns an id whose bits the filter has in three slices.
func idInThreeSlices(f *Sliced) uint64 {
	for id := uint64(0); ; id++ {
		independentPositions(f.pos, digestOf(id), uint64(f.Bits()))
		f.arrange(f.addresses, f.pos)
		if f.route(); len(f.hops) == 3 {
			return id
		}
	}
}

// TestFailedSlicesCostNothing: an element without a working slice is decided by its
// producer.
func TestFailedSlicesCostNothing(t *testing.T) {
	for _, pipelined := range []bool{false, true} {
		f, err := NewHorizontal(SlicedConfig{Bits: 64, K: 3, Slices: 1, FirstTest: true, Pipelined: pipelined, AtLeast: 1})
		mustSlice(t, f, err)
		if err := f.Fail(0); err != nil {
			t.Fatal(err)
		}
		if f.TestAndSet(digestOf(1)) || f.Cost() != (Cost{Events: 1}) {
			t.Errorf("pipelined %v: cost %+v", pipelined, f.Cost())
		}
	}
}

// TestPipelinedAccesses fills a filter with new elements and then counts the tests of
// further new ones, and of old ones.
func TestPipelinedAccesses(t *testing.T) {
	const m, k, n, more = 60_000, 6, 8_000, 1_000
	for _, slices := range []int{3, 20} {
		f, err := NewVertical(SlicedConfig{Bits: m, K: k, Slices: slices, FirstTest: true, Pipelined: true})
		mustSlice(t, f, err)
		for id := range n {
			f.TestAndSet(digestOf(uint64(id)))
		}
		form := theory.Sliced{Bits: m, K: k, Slices: slices}
		fpr, err := theory.BloomFPR(m, k, n+more/2)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name string
			from int
			set  float64
		}{{"new", n, math.Pow(fpr, 1./k)}, {"old", 0, 1}} {
			want, err := form.PipelinedAccesses(c.set)
			if err != nil {
				t.Fatal(err)
			}
			before, squares := f.Cost().Tests, 0.0
			for id := c.from; id < c.from+more; id++ {
				one := f.Cost().Tests
				f.TestAndSet(digestOf(uint64(id)))
				squares += math.Pow(float64(f.Cost().Tests-one)-want, 2)
			}
			got := float64(f.Cost().Tests-before) / more
			// Six standard deviations of the mean, as measured.
			if bound := 6 * math.Sqrt(squares) / more; math.Abs(got-want) > bound {
				t.Errorf("%d slices, %s: %.4f tests, want %.4f +- %.4f", slices, c.name, got, want, bound)
			}
		}
	}
}
