// Package stable reproduces the tables and figures of "Approximately Detecting Duplicates
// for Streaming Data using Stable Bloom Filters" (Deng, Rafiei, SIGMOD 2006), section by
// section.
//
// The paper's web crawl is private. But its buffering column says how many other elements
// lie between repetitions, and the streams here are drawn from it; see [stream.Crawl].
// Everything else, such as the filters' rates, follows.
package stable

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/bench/chart"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// Experiment returns Table 2, Figures 1 to 4, the parameters that section 4.1 recommends,
// and what the text of sections 3 and 4 says.
func Experiment() result.Experiment {
	return result.New("p0", "Approximately Detecting Duplicates for Streaming Data using Stable Bloom Filters",
		result.Maker{Name: "p0.table2", Make: table2},
		result.Maker{Name: "p0.figure1", Make: figure1},
		result.Maker{Name: "p0.figure2", Make: figure2},
		result.Maker{Name: "p0.figure3", Make: figure3},
		result.Maker{Name: "p0.figure4", Make: figure4},
		result.Maker{Name: "p0.parameters", Make: parameters},
		result.Maker{Name: "p0.max", Make: bestMax},
		result.Maker{Name: "p0.frequency", Make: frequency},
		result.Maker{Name: "p0.cells", Make: apart},
		result.Maker{Name: "p0.time", Make: time},
		result.Maker{Name: "p0.bound", Make: bound})
}

// streamSeed and filterSeed are those of all streams and filters, unless a table has
// several.
const (
	streamSeed = 1
	filterSeed = 2
)

// setting is a largest cell value, of d bits, and a bound on false positives.
type setting struct {
	top, d int
	fps    float64
}

func (s setting) String() string { return fmt.Sprintf("Max %d, FPS %g %%", s.top, 100*s.fps) }

// model returns the filter of some bits with k hash functions that keeps the bound.
func (s setting) model(bits, k int) (theory.Stable, error) {
	p, err := theory.StableP(bits/s.d, k, s.top, s.fps)
	return theory.Stable{Cells: bits / s.d, K: k, P: p, Max: s.top}, err
}

// named names a filter without its memory.
func named(s theory.Stable) string { return fmt.Sprintf("Max %d, K %d, P %d", s.Max, s.K, s.P) }

// config returns the configuration of a model's filter, whose Max is 2^d - 1.
func config(s theory.Stable) paper.StableConfig {
	return paper.StableConfig{Cells: s.Cells, CellBits: bits.Len(uint(s.Max)), K: s.K, P: s.P, Seed: filterSeed}
}

// trace is a stream of elements, numbered 0, 1, ... by their first occurrence: an
// element came before if its number is below the count of different ones.
type trace []uint32

// batchSize is how many elements are hashed before they are tested.
const batchSize = 1 << 14

// run puts the stream through a filter. It calls report for each batch, with the number
// of its first element and the filter's reports.
func (t trace) run(ctx context.Context, f paper.Filter, report func(first int, seen []bool)) error {
	digests, seen := make([]digest.Digest, batchSize), make([]bool, batchSize)
	for first := 0; first < len(t); first += batchSize {
		if err := ctx.Err(); err != nil {
			return err
		}
		batch := t[first:min(first+batchSize, len(t))]
		for i, element := range batch {
			digests[i] = stream.Digest(uint64(element))
		}
		paper.TestAndSetAll(f, digests[:len(batch)], seen)
		report(first, seen[:len(batch)])
	}
	return nil
}

// score counts a filter's errors from element number from on.
func (t trace) score(ctx context.Context, f paper.Filter, from int) (score stream.Score, err error) {
	distinct := uint32(0)
	err = t.run(ctx, f, func(first int, seen []bool) {
		for i, element := range t[first : first+len(seen)] {
			if first+i >= from {
				score.Add(element < distinct, seen[i])
			}
			distinct = max(distinct, element+1)
		}
	})
	return score, err
}

// rates builds a filter and returns its score.
func (t trace) rates(ctx context.Context, c paper.StableConfig, from int) (stream.Score, error) {
	f, err := paper.NewStable(c)
	if err != nil {
		return stream.Score{}, err
	}
	return t.score(ctx, f, from)
}

// crawl returns n elements like the data set of 10 million.
func crawl(ctx context.Context, n int, seed uint64) (trace, error) {
	return stream.TenMillion(n).Draw(ctx, 1, seed)
}

// distinctTrace returns n different elements.
func distinctTrace(n int) trace {
	t := make(trace, n)
	for i := range t {
		t[i] = uint32(i)
	}
	return t
}

// zipfTrace returns n draws from universe elements by Zipf's law.
func zipfTrace(n, universe int, alpha float64, seed uint64) trace {
	zipf := stream.NewZipf(universe, alpha, seed)
	t, distinct := make(trace, n), uint32(0)
	numbers := make([]uint32, universe) // plus one; 0 for those that did not come yet
	for i := range t {
		number := &numbers[zipf.Next()]
		if *number == 0 {
			distinct++
			*number = distinct
		}
		t[i] = *number - 1
	}
	return t
}

// lagTrace returns n elements of which half, at random, repeat the one that came a lag
// before: shortest to longest elements, near ones as likely as far ones on a logarithmic
// scale. All others are new.
func lagTrace(n, shortest, longest int, seed uint64) trace {
	random := rand.New(rand.NewPCG(seed, 0))
	t, distinct := make(trace, n), uint32(0)
	for i := range t {
		lag := int(float64(shortest) * math.Pow(float64(longest)/float64(shortest), random.Float64()))
		if i >= lag && random.IntN(2) == 0 {
			t[i] = t[i-lag]
			continue
		}
		t[i] = distinct
		distinct++
	}
	return t
}

// missRate measures a filter's share of misses at one gap. It does not depend on whether
// the filter is stable yet: the element's cells start with Max.
func missRate(ctx context.Context, s theory.Stable, gap, n int) (float64, error) {
	score, err := lagTrace(n, gap+1, gap+1, streamSeed).rates(ctx, config(s), 0)
	return score.FNR(), err
}

// addLine adds a row of rates in percent, and a line of the first chart.
func addLine(out *result.Table, name string, xs, rates []float64, dashed bool) {
	out.Rows = append(out.Rows, result.Row{Name: name, Cells: cells(rates, 100, "%")})
	lines := &out.Charts[0].Chart.Lines
	*lines = append(*lines, chart.Line{Name: name, X: xs, Y: rates, Dashed: dashed})
}

// cells returns measured cells of values times factor.
func cells(values []float64, factor float64, unit string) []result.Cell {
	all := make([]result.Cell, len(values))
	for i, v := range values {
		all[i] = result.Measured(factor*v, unit)
	}
	return all
}

func newGrid(rows, columns int) [][]float64 {
	grid := make([][]float64, rows)
	for i := range grid {
		grid[i] = make([]float64, columns)
	}
	return grid
}

// headed returns a table with a column for each x, and a picture without lines.
func headed(t result.Table, column string, xs []float64, p result.Picture) result.Table {
	for _, x := range xs {
		t.Columns = append(t.Columns, fmt.Sprintf(column, int(x)))
	}
	t.Charts = []result.Picture{p}
	return t
}
