package stream

import (
	"math"
	"testing"
)

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
