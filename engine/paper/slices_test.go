package paper

import (
	"math"
	"testing"

	"github.com/flowdedup/flowdedup/engine/theory"
)

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

// TestLoads: every test is one slice's load, and skewed streams are spread over
// vertical slices more evenly, as the closed form says.
func TestLoads(t *testing.T) {
	const slices, events, distinct = 20, 40_000, 2_000
	squares := 0.0
	for i := 1; i <= distinct; i++ {
		squares += math.Pow(math.Log1p(1/float64(i))/math.Log(distinct+1), 2)
	}
	for k1, make := range map[int]func(SlicedConfig) (*Sliced, error){1: NewHorizontal, 4: NewVertical} {
		const runs = 8
		mean := 0.0
		for run := range runs {
			f, err := make(SlicedConfig{Bits: 40_000, K: 4, Slices: slices})
			mustSlice(t, f, err)
			random := newRandom(uint64(run))
			for range events {
				// Id i has the share of 1/x between i and i+1, up to distinct.
				id := uint64(math.Exp(random.Float64() * math.Log(distinct+1)))
				f.TestAndSet(digestOf(id + uint64(run)<<32))
			}
			total := 0
			for _, load := range f.Loads() {
				total += load
			}
			if total != f.Cost().Tests {
				t.Fatalf("loads add up to %d, tests are %d", total, f.Cost().Tests)
			}
			fairness, err := theory.Fairness(f.Loads())
			if err != nil {
				t.Fatal(err)
			}
			mean += fairness / runs
		}
		want, err := theory.SplitFairness(slices, k1, squares)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(mean-want) > .08 {
			t.Errorf("k1 = %d: fairness %.3f, want about %.3f", k1, mean, want)
		}
	}
}
