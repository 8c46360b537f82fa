package workload

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

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
