package theory

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// agePartitionedSim draws independent slices with the load of the given time in a
// generation. It returns in how many trials K neighboring slices are set.
func agePartitionedSim(a AgePartitioned, inserted float64, trials int) int {
	r := rand.New(rand.NewPCG(15, uint64(a.K)))
	found := 0
	for range trials {
		run, longest := 0, 0
		for age := range a.K + a.L {
			elements := float64(a.K * a.Generation)
			if age < a.K {
				elements = inserted + float64(age*a.Generation)
			}
			if r.Float64() < -math.Expm1(elements*math.Log1p(-1/float64(a.SliceBits))) {
				run++
				longest = max(longest, run)
			} else {
				run = 0
			}
		}
		if longest >= a.K {
			found++
		}
	}
	return found
}

func TestAgePartitionedAgainstSimulation(t *testing.T) {
	const trials = 100000
	for _, a := range []AgePartitioned{
		{K: 1, L: 1, SliceBits: 100, Generation: 20},
		{K: 3, L: 5, SliceBits: 100, Generation: 25},
		{K: 8, L: 8, SliceBits: 1000, Generation: 150},
	} {
		found := agePartitionedSim(a, float64(a.Generation), trials)
		plausible(t, fmt.Sprintf("%+v", a), found, trials, value[float64](t)(a.FullFPR()), 0)
		mean := 0
		for part := range 10 {
			mean += agePartitionedSim(a, float64(a.Generation)*(float64(part)+.5)/10, trials/10)
		}
		plausible(t, fmt.Sprintf("mean %+v", a), mean, trials, value[float64](t)(a.FPR()), .002)
	}
}

func TestAgePartitionedLimits(t *testing.T) {
	// One slice of each kind: neither must have the bit.
	a := AgePartitioned{K: 1, L: 1, SliceBits: 10, Generation: 1}
	near(t, "K = L = 1", value[float64](t)(a.FullFPR()), 1-.9*.9, 1e-12)
	if p := value[float64](t)(AgePartitioned{K: 4, L: 9, SliceBits: 10}.FPR()); p != 0 {
		t.Errorf("FPR of an empty filter is %g", p)
	}
	if p := value[float64](t)(AgePartitioned{K: 4, L: 9, SliceBits: 1, Generation: 5}.FullFPR()); p != 1 {
		t.Errorf("FPR of a full filter is %g", p)
	}
}

func TestAgePartitionedErrors(t *testing.T) {
	err2 := func(_ float64, err error) error { return err }
	for name, err := range map[string]error{
		"K":          err2(AgePartitioned{0, 1, 1, 1}.FPR()),
		"L":          err2(AgePartitioned{1, 1025, 1, 1}.FPR()),
		"slice":      err2(AgePartitioned{1, 1, 0, 1}.FullFPR()),
		"generation": err2(AgePartitioned{1, 1, 1, -1}.FullFPR()),
	} {
		if !errors.Is(err, ErrDomain) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}
