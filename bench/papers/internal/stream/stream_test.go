package stream

import (
	"math"
	"testing"
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
	s := NewShuffled(n, distinct, 3)
	known := NewKnown(distinct)
	firsts, inHalf, sum := 0, 0, 0.0
	for i := range n {
		element, ok := s.Next()
		if !ok {
			t.Fatalf("ends after %d", i)
		}
		if !known.Add(element) {
			firsts++
			if i < n/2 {
				inHalf++
			}
		}
		sum += float64(element)
	}
	if _, ok := s.Next(); ok {
		t.Error("does not end")
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
	z := NewZipf(n, 1, 5)
	counts := make([]int, n)
	for range draws {
		counts[z.Next()]++
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

func TestScore(t *testing.T) {
	var s Score
	for _, verdict := range [][2]bool{{false, false}, {false, true}, {true, true}, {true, false}, {true, true}, {true, true}} {
		s.Add(verdict[0], verdict[1])
	}
	if s.FPR() != 0.5 || s.FNR() != 0.25 {
		t.Errorf("FPR %v, FNR %v, want 0.5 and 0.25", s.FPR(), s.FNR())
	}
	if (Score{}).FPR() != 0 {
		t.Error("an empty score has a rate")
	}
}

// TestCrawl holds the shares of new elements and of short lags against their
// definition. Bounds are 5 standard deviations.
func TestCrawl(t *testing.T) {
	const n = 400_000
	c := NewCrawl(n, 11)
	fresh := 0
	for i := range n {
		next := uint64(c.next)
		element, ok := c.Next()
		if !ok || element > next {
			t.Fatalf("record %d is %d (%v) when %d is new", i, element, ok, next)
		}
		if element == next {
			fresh++
		}
	}
	if _, ok := c.Next(); ok {
		t.Error("does not end")
	}
	if fresh != int(c.next) {
		t.Errorf("%d new elements, %d numbered", fresh, c.next)
	}
	requireShare(t, "new elements", fresh, n, crawlNew)
}

// TestCrawlLags draws lags late and early in the stream: early ones are those that
// reach into it.
func TestCrawlLags(t *testing.T) {
	const draws = 200_000
	c := NewCrawl(1, 12)
	for _, most := range []int{crawlUnit + 1, 100, crawlUnit << 12, 1 << 20, crawlUnit << 24, 1 << 30} {
		counts := make([]int, len(crawlLags))
		for range draws {
			lag := c.lag(most)
			if lag < crawlUnit || lag > most {
				t.Fatalf("lag %d, at most %d", lag, most)
			}
			for j, point := range crawlLags {
				if lag <= int(crawlUnit*math.Exp2(point.octave)) {
					counts[j]++
				}
			}
		}
		whole := crawlShare(float64(most) / crawlUnit)
		for j, point := range crawlLags {
			requireShare(t, "lags", counts[j], draws, min(1, point.share/whole))
		}
	}
}

func requireShare(t *testing.T, what string, count, of int, want float64) {
	t.Helper()
	got, bound := float64(count)/float64(of), 5*math.Sqrt(want*(1-want)/float64(of))
	if math.Abs(got-want) > bound {
		t.Errorf("%s: share %.5f, want %.5f within %.5f", what, got, want, bound)
	}
}
