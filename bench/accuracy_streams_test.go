package bench

import (
	"fmt"
	"math"
	"testing"

	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/stream"
)

// streamErrors takes a stream through a filter of so many lines.
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

// quotientErrors takes a stream through a published quotient hash table of the memory
// of so many lines.
func (s *accuracyStream) quotientErrors(t *testing.T, method string, lines, cells, width int) errorCounts {
	t.Helper()
	c := paper.QHTConfig{Bits: 512 * lines, CellBits: width, Cells: cells, Seed: 81}
	var f paper.Filter
	var err error
	if method == "qqhtd" {
		f, err = paper.NewQQHTD(c)
	} else {
		f, err = paper.NewQHT(c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s.referenceErrors(f)
}

// TestStreamRowsAgainstPublished holds rows in lines against the published tables
// of the same rows, which they are but for where a row lies: errors are as many, but
// for chance. And rows of more cells miss no more copies than those of one cell of the
// same width, at equal memory, except in queues, which keep copies several times.
func TestStreamRowsAgainstPublished(t *testing.T) {
	shapes := []struct {
		name         string
		cells, width int
	}{{"8x8", 8, 8}, {"4x16", 4, 16}, {"32x16", 32, 16}}
	for _, s := range accuracyStreams(100_000) {
		for _, load := range []float64{1.0 / 16, 1} {
			lines := s.lines(load)
			for _, method := range []string{"qht", "qqhtd"} {
				for _, shape := range shapes {
					t.Run(fmt.Sprintf("%s/%g/%s/%s", s.name, load, method, shape.name), func(t *testing.T) {
						got, _ := s.streamErrors(t, stream.Config{Method: method, Shape: shape.name}, lines)
						want := s.quotientErrors(t, method, lines, shape.cells, shape.width)
						checkAlike(t, "false positives", got.falsePositives, want.falsePositives)
						checkAlike(t, "misses", got.misses, want.misses)
						if method == "qht" {
							single := s.quotientErrors(t, method, lines, 1, shape.width)
							checkRate(t, "misses beside one cell a row", got.misses, single.misses, 0)
						}
					})
				}
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

// TestStreamLRU holds the rows whose least recently seen element leaves against
// those where a random one does, at equal memory: they miss fewer copies where copies
// come soon or some elements often, by a tenth at least, and no more on others.
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

// TestStreamBounds has small filters promise rates: no stream breaks them but by
// chance.
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
