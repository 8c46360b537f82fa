// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/distinct"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/stream"
)

// streamErrors runs a stream through a filter of the given number of lines.
func (s *accuracyStream) streamErrors(t *testing.T, c stream.Config, lines int) (errorCounts, stream.Stats) {
	t.Helper()
	c.Memory = 64 * lines
	f, err := stream.New(c)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	seen := make([]uint64, (len(s.digests)+63)/64)
	f.TestAndSet(seen, s.digests)
	return s.errors(func(i int) bool { return seen[i/64]>>(i%64)&1 != 0 }), f.Stats()
}

// published makes a published quotient hash table with the memory of the given number of
// lines.
func published(t *testing.T, method string, lines, cells, width int) paper.Filter {
	t.Helper()
	c := paper.QHTConfig{Bits: 512 * lines, CellBits: width, Cells: cells, Seed: 81}
	var f paper.Filter
	var err error
	switch method {
	case "qht":
		f, err = paper.NewQHT(c)
	case "qhtd":
		f, err = paper.NewQHTD(c)
	case "qqht":
		f, err = paper.NewQQHT(c)
	case "qqhtd":
		f, err = paper.NewQQHTD(c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// quotientErrors runs a stream through one.
func (s *accuracyStream) quotientErrors(t *testing.T, method string, lines, cells, width int) errorCounts {
	t.Helper()
	return s.referenceErrors(published(t, method, lines, cells, width))
}

// TestStreamRowsAgainstPublished compares rows in lines with the published tables of the
// same rows. They differ only in where a row lies, so the numbers of errors are equal up
// to chance. At equal memory, rows of more cells miss no more copies than rows of one
// cell of the same width, except in queues, which store copies several times.
func TestStreamRowsAgainstPublished(t *testing.T) {
	shapes := []struct {
		name         string
		cells, width int
	}{{"8x8", 8, 8}, {"4x16", 4, 16}, {"32x16", 32, 16}}
	for _, s := range accuracyStreams(100_000) {
		for _, load := range []float64{1.0 / 16, 1} {
			lines := s.lines(load)
			for _, method := range []string{"qht", "qhtd", "qqht", "qqhtd"} {
				for _, shape := range shapes {
					t.Run(fmt.Sprintf("%s/%g/%s/%s", s.name, load, method, shape.name), func(t *testing.T) {
						got, _ := s.streamErrors(t, stream.Config{Method: method, Shape: shape.name}, lines)
						want := s.quotientErrors(t, method, lines, shape.cells, shape.width)
						checkAlike(t, "false positives", got.falsePositives, want.falsePositives)
						checkAlike(t, "misses", got.misses, want.misses)
						if method == "qht" || method == "qqht" {
							single := s.quotientErrors(t, method, lines, 1, shape.width)
							checkRate(t, "misses beside one cell a row", got.misses, single.misses, 0)
						}
					})
				}
			}
		}
	}
}

// TestQueuesArePublished compares each verdict of rows that are queues with the published
// tables, of elements that have the same fingerprint in both.
func TestQueuesArePublished(t *testing.T) {
	const lines, elements = 4, 200_000
	for _, shape := range []struct {
		name         string
		cells, width int
	}{{"8x8", 8, 8}, {"4x16", 4, 16}, {"32x16", 32, 16}} {
		values, random := uint64(1)<<shape.width-1, rand.New(rand.NewPCG(5, uint64(shape.cells)))
		s := accuracyStream{name: shape.name, digests: make([]digest.Digest, elements)}
		for i := range s.digests {
			fingerprint := 1 + random.Uint64N(min(values, 500))
			d := &s.digests[i]
			d[0], _ = bits.Div64(fingerprint-1, 1<<63, values) // the middle of those that have it
			d[0], d[1] = d[0]&^values|fingerprint, random.Uint64N(16)<<60
		}
		for _, method := range []string{"qqht", "qqhtd"} {
			f, err := stream.New(stream.Config{Method: method, Shape: shape.name, Memory: 64 * lines})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			seen := make([]uint64, (elements+63)/64)
			f.TestAndSet(seen, s.digests)
			reference, copies := published(t, method, lines, shape.cells, shape.width), 0
			for i, d := range s.digests {
				want := reference.TestAndSet(d)
				if got := seen[i/64]>>(i%64)&1 != 0; got != want {
					t.Fatalf("%s %s: element %d is seen %v, published %v", method, shape.name, i, got, want)
				}
				if want {
					copies++
				}
			}
			if copies < elements/1000 || copies > elements*999/1000 {
				t.Errorf("%s %s: the stream tests nothing: %d copies", method, shape.name, copies)
			}
		}
	}
}

// checkAlike reports an error if two Poisson counts differ by more than chance explains
// if their means are equal: five standard deviations, and five for small ones.
func checkAlike(t *testing.T, what string, got, want int) {
	t.Helper()
	if chance := 5 + 5*math.Sqrt(float64(got+want)); math.Abs(float64(got-want)) > chance {
		t.Errorf("%d %s, published %d: more than %.0f apart", got, what, want, chance)
	}
}

// TestStreamLRU compares rows that evict the least recently seen element with rows that
// evict a random one, at equal memory. The former miss fewer copies, by at least a tenth,
// where copies come soon or some elements come often, and no more on other streams.
func TestStreamLRU(t *testing.T) {
	gain := map[string]float64{"zipf": -0.1, "bursts": -0.1}
	for _, s := range accuracyStreams(100_000) {
		for _, shape := range []string{"8x8", "32x16"} {
			lines := s.lines(1.0 / 4)
			lru, _ := s.streamErrors(t, stream.Config{Method: "lru", Shape: shape}, lines)
			random, _ := s.streamErrors(t, stream.Config{Method: "qht", Shape: shape}, lines)
			t.Logf("%s, %s: lru misses %d, random %d", s.name, shape, lru.misses, random.misses)
			checkRate(t, s.name+" misses", lru.misses, random.misses, gain[s.name])
		}
	}
}

// TestStreamBounds checks that no stream breaks the rates that small filters promise, up
// to chance.
func TestStreamBounds(t *testing.T) {
	configs := []stream.Config{
		{Method: "lru", FPR: 0.04}, {Method: "qht", FPR: 0.001}, {Method: "qqhtd", FPR: 0.04},
		{Method: "sbf", FPR: 0.1}, {Method: "sbf", FPR: 0.01}, {Method: "sbf", FPR: 0.1, Max: 3},
		{Method: "sbf", FPR: 0.01, Max: 7}, {Method: "bsbf", FPR: 0.4}, {Method: "rlbsbf", FPR: 0.4}, {Method: "rsbf", FPR: 0.3},
	}
	for _, s := range accuracyStreams(100_000) {
		for _, c := range configs {
			got, stats := s.streamErrors(t, c, s.lines(1.0/64))
			most := c.FPR * float64(s.distinct)
			checkRate(t, fmt.Sprintf("%s %+v: false positives", s.name, c), got.falsePositives, int(most), 0)
			if stats.FPRBound > c.FPR || stats.FPR > stats.FPRBound || stats.FPR < stats.FPRBound/2 {
				t.Errorf("%s %+v: rate %v, bound %v", s.name, c, stats.FPR, stats.FPRBound)
			}
		}
	}
}

// forGrid runs a test with every stream and memory: from a 64th of ten bits for each
// distinct element to four times that.
func forGrid(t *testing.T, test func(t *testing.T, s *accuracyStream, load float64)) {
	t.Helper()
	for _, s := range accuracyStreams(150_000) {
		for _, load := range []float64{1. / 64, 1. / 4, 1, 4} {
			t.Run(fmt.Sprintf("%s/load=%g", s.name, load), func(t *testing.T) {
				t.Parallel()
				test(t, s, load)
			})
		}
	}
}

// TestStreamCells compares stable filters of counters in lines with the published filter
// of as many counters. False positives keep their bound with every stream. If memory is
// short, lines miss at most 5 % more at equal false positives, although with the same P
// they have more of both errors where some elements are very frequent. Otherwise few are
// missed, and with the same P at most a fifth more.
func TestStreamCells(t *testing.T) {
	forGrid(t, func(t *testing.T, s *accuracyStream, load float64) {
		for _, c := range []stream.Config{
			{Method: "sbf", Max: 3, K: 3, P: 30}, {Method: "sbf", Max: 7, K: 3, P: 45},
		} {
			got, stats := s.streamErrors(t, c, s.lines(load))
			cells := int(stats.Cells)
			most := stats.FPRBound * float64(s.distinct)
			checkRate(t, fmt.Sprintf("false positives of Max=%d", c.Max), got.falsePositives, int(most), 0)
			misses := fmt.Sprintf("misses of Max=%d", c.Max)
			switch {
			case load > 0.25:
				checkRate(t, misses, got.misses, s.publishedErrors(t, c, cells, c.P).misses, 0.2)
			case !testing.Short():
				checkRate(t, misses, got.misses, s.publishedMisses(t, c, cells, got.falsePositives), 0.05)
			}
		}
	})
}

// publishedErrors runs the stream through the published filter with the given number of
// counters, with another P.
func (s *accuracyStream) publishedErrors(t *testing.T, c stream.Config, cells, p int) errorCounts {
	t.Helper()
	f, err := paper.NewStable(paper.StableConfig{Cells: cells, CellBits: bits.Len(uint(c.Max)), K: c.K, P: p, Seed: 6})
	if err != nil {
		t.Fatal(err)
	}
	return s.referenceErrors(f)
}

// publishedMisses returns the published filter's misses at the given number of false
// positives, between the P that have more and fewer of them.
func (s *accuracyStream) publishedMisses(t *testing.T, c stream.Config, cells, falsePositives int) int {
	t.Helper()
	low, high := c.P/2, c.P+8
	more, less := s.publishedErrors(t, c, cells, low), s.publishedErrors(t, c, cells, high)
	if more.falsePositives <= falsePositives || less.falsePositives > falsePositives {
		t.Fatalf("%d false positives, with P from %d to %d the published filter has %d to %d",
			falsePositives, low, high, more.falsePositives, less.falsePositives)
	}
	for high-low > 1 {
		p := (low + high) / 2
		if e := s.publishedErrors(t, c, cells, p); e.falsePositives > falsePositives {
			low, more = p, e
		} else {
			high, less = p, e
		}
	}
	ratio := func(e errorCounts) float64 {
		return math.Log(float64(more.falsePositives) / float64(e.falsePositives))
	}
	share := ratio(errorCounts{falsePositives: falsePositives}) / ratio(less)
	return more.misses + int(share*float64(less.misses-more.misses))
}

// TestStreamRows checks that rows miss no more copies than the published tables of the
// same shape, since they evict the least recently seen element, not a random or the
// oldest one. False positives keep their bound. Cells wider than the tables' are compared
// with a table of as many cells.
func TestStreamRows(t *testing.T) {
	const widest = 16 // in the tables
	forGrid(t, func(t *testing.T, s *accuracyStream, load float64) {
		for _, shape := range stream.Shapes() {
			lines := s.lines(load)
			got, stats := s.streamErrors(t, stream.Config{Method: "lru", Shape: shape.Name}, lines)
			checkRate(t, shape.Name+" false positives", got.falsePositives, int(stats.FPRBound*float64(s.distinct)), 0)
			width := min(shape.CellBits(), widest)
			for _, method := range []string{"qht", "qqhtd"} {
				want := s.quotientErrors(t, method, lines*width/shape.CellBits(), shape.Cells(), width)
				checkRate(t, shape.Name+" misses beside "+method, got.misses, max(1, want.misses), 0) // of none there is no chance
			}
		}
	})
}

// TestLandmarkGrid checks that a growing filter misses nothing and keeps its bound. Its
// false positives follow the rate of lines with Poisson loads throughout its growth,
// within 5 % and chance.
func TestLandmarkGrid(t *testing.T) {
	forGrid(t, func(t *testing.T, s *accuracyStream, load float64) {
		for _, fpr := range []float64{0.1, 0.01} {
			f, err := distinct.NewScalableBloom(distinct.ScalableBloomConfig{FPR: fpr, Memory: 64 * s.lines(load)})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			seen := make([]uint64, (len(s.digests)+63)/64)
			f.TestAndSet(seen, s.digests)
			got, counts := s.errors(func(i int) bool { return seen[i/64]>>(i%64)&1 != 0 }), f.Counts()
			expected := float64(counts.Distinct - counts.Low)
			if off := math.Abs(float64(got.falsePositives) - expected); off > 0.05*expected+5*math.Sqrt(expected)+1 {
				t.Errorf("FPR %g: %d false positives, expected %.0f", fpr, got.falsePositives, expected)
			}
			checkRate(t, "false positives", got.falsePositives, int(fpr*float64(s.distinct)), 0)
			if got.misses > 0 || counts.FPR > fpr {
				t.Errorf("FPR %g: %d misses, rate %g", fpr, got.misses, counts.FPR)
			}
		}
	})
}
