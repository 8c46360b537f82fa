package stable

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// TestTraces checks that elements are numbered by their first occurrence, and that
// gaps are what they should be.
func TestTraces(t *testing.T) {
	repeating, err := newCrawlTrace(t.Context(), 20_000)
	if err != nil {
		t.Fatal(err)
	}
	for name, tr := range map[string]trace{
		"distinct": newDistinctTrace(1000), "crawl": repeating,
		"Zipf": newZipfTrace(20_000, 5000, 1, 3), "gap": newGapTrace(20_000, 7, 3),
	} {
		last := map[uint32]int{}
		for i, element := range tr {
			before, known := last[element]
			if !known && int(element) != len(last) {
				t.Fatalf("%s: element %d is new and called %d, want %d", name, i, element, len(last))
			}
			if name == "gap" && known && i-before != 8 {
				t.Fatalf("gap of %d, want 7", i-before-1)
			}
			last[element] = i
		}
	}
}

// TestScore compares with a plain loop over a map.
func TestScore(t *testing.T) {
	tr := newZipfTrace(3*batchSize+17, 50_000, 1, 3)
	const from = batchSize + 5
	model := theory.Stable{Cells: 20_000, K: 2, P: 4, Max: 1}
	f, err := build(model)
	if err != nil {
		t.Fatal(err)
	}
	got, err := tr.score(t.Context(), f, from)
	if err != nil {
		t.Fatal(err)
	}
	reports := make([]bool, 0, len(tr))
	if f, err = build(model); err != nil {
		t.Fatal(err)
	}
	if err := tr.run(t.Context(), f, func(_ int, seen []bool) { reports = append(reports, seen...) }); err != nil {
		t.Fatal(err)
	}
	want := got
	want.Distinct, want.FalsePositives, want.Duplicates, want.FalseNegatives = 0, 0, 0, 0
	known := map[uint32]bool{}
	for i, element := range tr {
		if i >= from {
			want.Add(known[element], reports[i])
		}
		known[element] = true
	}
	if got != want || got.FalsePositives == 0 || got.FalseNegatives == 0 {
		t.Errorf("counted %+v, want %+v", got, want)
	}
}

// TestCrawlStackDistances measures the drawn distances with buffers. They must miss
// what the paper's do. The larger ones are left out: for a good part of the stream
// there are fewer elements than they hold.
func TestCrawlStackDistances(t *testing.T) {
	const scale = 32
	set := datasets()[1]
	tr, err := set.crawl().draw(t.Context(), scale, 5)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range set.rows[:2] {
		f, err := paper.NewLRU(int(row.bits/int64(scale)), elementBits)
		if err != nil {
			t.Fatal(err)
		}
		score, err := tr.score(t.Context(), f, 0)
		if err != nil {
			t.Fatal(err)
		}
		// 5 standard deviations of the count are 0.6 %.
		if got := 100 * score.FNR(); math.Abs(got-row.bufferFNR) > 0.8 {
			t.Errorf("%d bits: buffer misses %.2f %%, want %.2f %%", row.bits, got, row.bufferFNR)
		}
		if share := float64(score.Distinct) / float64(len(tr)); math.Abs(share-set.distinct) > 0.005 {
			t.Errorf("%.4f distinct, want %.4f", share, set.distinct)
		}
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
