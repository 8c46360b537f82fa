// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/engine/paper"
)

func TestPermutation(t *testing.T) {
	for _, n := range []uint64{1, 2, 3, 100, 4096, 4097, 100_003} {
		p := newPermutation(n, 7)
		known := NewKnown(int(n))
		for i := range n {
			if at := p.at(i); at >= n || known.Add(at) {
				t.Fatalf("n = %d: %d goes to %d, which is taken or too large", n, i, at)
			}
		}
	}
}

// TestShuffled checks that the order is as random as a shuffle's: first
// occurrences fall evenly, and so do gaps. The bounds are 5 standard deviations.
func TestShuffled(t *testing.T) {
	const n, distinct = 200_000, 120_000
	next := Shuffled(n, distinct, 3)
	known := NewKnown(distinct)
	firsts, inHalf, sum := 0, 0, 0.0
	for i := range n {
		element := next()
		if !known.Add(element) {
			firsts++
			if i < n/2 {
				inHalf++
			}
		}
		sum += float64(element)
	}
	if firsts != distinct {
		t.Errorf("%d distinct elements, want %d", firsts, distinct)
	}
	// An element with 1 + Poisson(mu) copies is absent from the first half with
	// probability e^(-mu/2)/2.
	mu := float64(n-distinct) / distinct
	want := distinct * (1 - math.Exp(-mu/2)/2)
	if math.Abs(float64(inHalf)-want) > 5*math.Sqrt(distinct)/2 {
		t.Errorf("%d first occurrences in the first half, want %.0f", inHalf, want)
	}
	mean, deviation := float64(distinct-1)/2, distinct/math.Sqrt(12)
	if math.Abs(sum/n-mean) > 5*deviation/math.Sqrt(n) {
		t.Errorf("mean element %.0f, want %.0f", sum/n, mean)
	}
}

func TestZipf(t *testing.T) {
	const n, draws = 1000, 200_000
	next := Zipf(n, 1, 5)
	counts := make([]int, n)
	for range draws {
		counts[next()]++
	}
	harmonic := 0.0
	for i := range n {
		harmonic += 1 / float64(i+1)
	}
	for _, i := range []int{0, 1, 9, 99} {
		p := 1 / float64(i+1) / harmonic
		if math.Abs(float64(counts[i])-draws*p) > 5*math.Sqrt(draws*p) {
			t.Errorf("element %d came %d times, want %.0f", i, counts[i], draws*p)
		}
	}
}

// TestScores compares filters that see a stream in parts, longer than a batch and shorter,
// with a plain loop.
func TestScores(t *testing.T) {
	const n = batchSize + 5000
	random := rand.New(rand.NewPCG(1, 2))
	elements := make([]uint64, n)
	for i := range elements {
		elements[i] = random.Uint64N(n)
	}
	source := List(elements).Source(n, 0)
	config := paper.StableConfig{Cells: 1 << 16, CellBits: 1, K: 2, P: 4, Seed: 1}
	f, _ := paper.NewStable(config)
	again, _ := paper.NewStable(config)
	var got, want Score
	for _, part := range []int{1, batchSize + 7, n - batchSize - 8} {
		got.Sum(source.Scores(part, f)[0])
	}
	known := map[uint64]bool{}
	for _, element := range elements {
		want.Add(known[element], again.TestAndSet(Digest(element)))
		known[element] = true
	}
	if got != want || got.FalsePositives == 0 || got.FalseNegatives == 0 {
		t.Errorf("counted %+v, want %+v", got, want)
	}
	if (Score{}).FPR() != 0 || math.Abs(got.FNR()-float64(got.FalseNegatives)/float64(got.Duplicates)) > 1e-12 {
		t.Errorf("FNR %v of %+v", got.FNR(), got)
	}
}

func TestNumbered(t *testing.T) {
	elements := []uint64{7, 7, 3, 9, 3, 7}
	got := Numbered(len(elements), List(elements))
	if want := []uint32{0, 0, 1, 2, 1, 0}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestCrawl measures the drawn stack distances with lists in which used elements move to
// the front. Shares may be 5 standard deviations of their counts off.
func TestCrawl(t *testing.T) {
	const scale, n = 64, 6_400_000
	c := TenMillion(n)
	elements := c.Draw(scale, 5)
	exponents := []float64{8, 12}
	fresh, near := uint32(0), make([]int, len(exponents))
	var list []uint32 // the latest elements, newest last
	for _, element := range elements {
		if element == fresh {
			fresh++
		} else if element > fresh {
			t.Fatalf("element %d comes when %d is new", element, fresh)
		}
		at := slices.Index(list, element)
		for i, exponent := range exponents {
			if at >= 0 && len(list)-at <= int(math.Exp2(exponent))/scale {
				near[i]++
			}
		}
		if at >= 0 {
			list = slices.Delete(list, at, at+1)
		}
		if list = append(list, element); len(list) > 64 {
			list = list[1:]
		}
	}
	requireShare(t, "new elements", int(fresh), len(elements), c.Distinct)
	for i, share := range []float64{0.343, 0.485} {
		requireShare(t, "short distances", near[i], len(elements)-int(fresh), share)
	}
}

func requireShare(t *testing.T, what string, count, of int, want float64) {
	t.Helper()
	got, bound := float64(count)/float64(of), 5*math.Sqrt(want*(1-want)/float64(of))
	if math.Abs(got-want) > bound {
		t.Errorf("%s: share %.5f, want %.5f within %.5f", what, got, want, bound)
	}
}

// TestRecency compares with a list in which used elements move to the front.
func TestRecency(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 63, 64, 65, 2000} {
		order := newRecency(n)
		var list []uint32
		for range n {
			var got, want uint32
			if len(list) == 0 || random.IntN(4) == 0 {
				got, want = order.add(), uint32(len(list))
			} else {
				distance := 1 + random.IntN(len(list))
				got, want = order.use(distance), list[distance-1]
				list = slices.Delete(list, distance-1, distance)
			}
			if got != want {
				t.Fatalf("n = %d: used %d, want %d", n, got, want)
			}
			list = slices.Insert(list, 0, want)
		}
	}
}
