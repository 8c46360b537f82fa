package workload

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSampler compares draws with Zipf's law rank by rank: each count lies
// within six standard deviations (chance below 1e-8 a rank), at a fixed seed.
func TestSampler(t *testing.T) {
	const draws = 1 << 20
	for _, exponent := range []float64{0, 0.8, 1, 2} {
		for _, n := range []int{1, 2, 100} {
			s := newSampler(n, exponent)
			random := rand.NewPCG(5, 6)
			drawn := make([]int, n)
			for range draws {
				drawn[s.draw(random.Uint64())]++
			}
			total := 0.0
			for rank := range n {
				total += math.Pow(float64(rank+1), -exponent)
			}
			for rank, got := range drawn {
				p := math.Pow(float64(rank+1), -exponent) / total
				want, deviation := draws*p, math.Sqrt(draws*p*(1-p))
				if math.Abs(float64(got)-want) > 6*deviation+1 {
					t.Errorf("exponent %v, %d ranks: rank %d drawn %d times, want %.0f", exponent, n, rank, got, want)
				}
			}
		}
	}
}

// TestSamplerLargest builds the table whose sums are the largest.
func TestSamplerLargest(t *testing.T) {
	s := newSampler(MaxFlows, 0)
	for _, random := range []uint64{0, 1 << 63, math.MaxUint64} {
		if rank := s.draw(random); int(rank) >= MaxFlows {
			t.Errorf("rank %d of %d", rank, MaxFlows)
		}
	}
}

func TestPending(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var q pending
	var want []delayed
	for i := range 2000 {
		time := random.Int64N(300)
		q.add(time, packet{serial: uint64(i)})
		want = append(want, delayed{time: time, order: uint64(i), packet: packet{serial: uint64(i)}})
	}
	slices.SortStableFunc(want, func(a, b delayed) int { return cmp.Compare(a.time, b.time) })
	for i, expected := range want {
		if q.due(expected.time-1) || !q.due(expected.time) {
			t.Fatalf("frame %d is not due at its time", i)
		}
		if got := q.take(); got != expected {
			t.Fatalf("frame %d: got %+v, want %+v", i, got, expected)
		}
	}
	if q.due(math.MaxInt64) {
		t.Error("an empty heap has a frame due")
	}
}

// TestFlowsDiffer expects a five-tuple of its own for every flow number.
func TestFlowsDiffer(t *testing.T) {
	for _, flows := range []int{1, 3, 1000, 200_000} {
		c := Default()
		c.Flows = flows
		p := newPopulation(&c)
		seen := make(map[flow]bool, flows)
		for number := range flows {
			f := p.flow(uint32(number))
			if seen[f] {
				t.Fatalf("%d flows: number %d has been seen", flows, number)
			}
			seen[f] = true
		}
	}
}
