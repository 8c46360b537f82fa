// SPDX-License-Identifier: Apache-2.0

// Package sizingtest makes streams, runs filters over them, and compares their rates with
// predictions, for the tests of package sizing and of the papers' models.
package sizingtest

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
)

// Stream is a stream whose repeats copy the element at a random lag.
type Stream struct {
	Elements []digest.Digest
	Gap      []int // of each element; 0 for a new one
}

// NewStream draws n elements with the given share of new ones. Others copy the element at a lag
// that is evenly spread over orders of magnitude up to longest.
func NewStream(n int, fresh, longest float64, seed uint64) Stream {
	random := rand.New(rand.NewPCG(seed, 1))
	s := Stream{Elements: make([]digest.Digest, n), Gap: make([]int, n)}
	last := map[digest.Digest]int{}
	for i := range s.Elements {
		lag := int(math.Exp(random.Float64() * math.Log(longest)))
		if i < lag || random.Float64() < fresh {
			s.Elements[i] = digest.Digest{random.Uint64(), random.Uint64()}
		} else {
			s.Elements[i] = s.Elements[i-lag]
			s.Gap[i] = i - last[s.Elements[i]]
		}
		last[s.Elements[i]] = i
	}
	return s
}

// Load measures the stream from the given element on: the share of new elements, and of the
// repeats those with a gap of 1, 2, ... elements.
func (s Stream) Load(from int) (fresh float64, gaps []float64) {
	count := map[int]float64{}
	longest := 0
	for _, g := range s.Gap[from:] {
		count[g]++
		longest = max(longest, g)
	}
	n := float64(len(s.Gap) - from)
	for g := 1; g <= longest; g++ {
		gaps = append(gaps, count[g]/(n-count[0]))
	}
	return count[0] / n, gaps
}

// Rates returns the error rates of a filter from the given element on.
func (s Stream) Rates(seen func(d digest.Digest) bool, from int) (fpr, fnr float64) {
	var wrong, fresh, missed, repeats float64
	for i, d := range s.Elements {
		seen := seen(d)
		switch {
		case i < from:
		case s.Gap[i] == 0:
			fresh++
			if seen {
				wrong++
			}
		default:
			repeats++
			if !seen {
				missed++
			}
		}
	}
	return wrong / fresh, missed / repeats
}

// Population draws n elements from the given number of equally likely ones.
func Population(n, members int, seed uint64) []digest.Digest {
	return drawn(n, members, rand.New(rand.NewPCG(seed, 2)), func(random *rand.Rand) int { return random.IntN(members) })
}

// Busy draws n elements from the given number of members, of which number k comes with a
// probability of nearly 1/k (Zipf).
func Busy(n, members int, seed uint64) []digest.Digest {
	return drawn(n, members, rand.New(rand.NewPCG(seed, 3)), func(random *rand.Rand) int { return int(math.Exp(random.Float64() * math.Log(float64(members)))) })
}

// drawn are n elements, each the member of a number.
func drawn(n, members int, random *rand.Rand, number func(*rand.Rand) int) []digest.Digest {
	all := make([]digest.Digest, members)
	for i := range all {
		all[i] = digest.Digest{random.Uint64(), random.Uint64()}
	}
	drawn := make([]digest.Digest, n)
	for i := range drawn {
		drawn[i] = all[number(random)]
	}
	return drawn
}

// PacketRates runs a packet filter over elements that come one in a nanosecond, and returns its rates
// from the given element on. A copy is an element whose latest kept occurrence, or with refresh
// whose latest one, lies within the window. An element is new if none like it came within the window,
// and up to blur before it.
func PacketRates(filter engine.PacketFilter, elements []digest.Digest, size, blur, from int, refresh bool) (fpr, fnr, news, copies float64) {
	seen, times := make([]uint64, (len(elements)+63)/64), make([]int64, len(elements))
	for i := range times {
		times[i] = int64(i)
	}
	filter.TestAndSet(seen, elements, times, nil)
	kept, last := map[digest.Digest]int{}, map[digest.Digest]int{}
	var wrong, missed float64
	for i, d := range elements {
		removed := seen[i/64]>>(i%64)&1 != 0
		before, found := last[d]
		at, wasKept := kept[d]
		last[d] = i
		if !removed || refresh {
			kept[d] = i
		}
		switch {
		case i < from:
		case wasKept && i-at <= size:
			copies++
			if !removed {
				missed++
			}
		case !found || i-before > size+blur:
			news++
			if removed {
				wrong++
			}
		}
	}
	return wrong / news, missed / copies, news, copies
}

// Near checks a prediction against the rate of n trials: 5 standard deviations (1 in 3.5
// million) plus the error of the model. A bound may be above the rate by any amount.
func Near(t *testing.T, what string, predicted, measured, off, n float64, bound bool) {
	t.Helper()
	slack := off*predicted + 5*math.Sqrt(predicted*(1-predicted)/n) + 1e-9
	if measured > predicted+slack || !bound && measured < predicted-slack {
		t.Errorf("%s: predicted %.4g, measured %.4g, %+.1f %%", what, predicted, measured, 100*(measured/predicted-1))
	}
}
