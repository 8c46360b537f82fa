// SPDX-License-Identifier: Apache-2.0

package rivals

import (
	"fmt"
	"slices"

	"github.com/flowdedup/flowdedup/bench/papers/internal/forms"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	elements "github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/stream"
	"github.com/flowdedup/flowdedup/engine/theory"
	"github.com/flowdedup/flowdedup/engine/window"
	"github.com/flowdedup/flowdedup/layout"
)

// method is a way to build a filter of at most the given memory, in bits, for a
// trace.
type method struct {
	name    string
	oneLine bool // an element touches one cache line
	build   func(bits int, t *trace) windowed
	// predict gives the false positive rate by its closed form, for rates that are too
	// low to be measured. It is nil for methods without such low rates.
	predict func(bits int, t *trace) float64
}

// untimedMethod makes a method of filters that ignore time.
func untimedMethod[F paper.Filter](name string, build func(bits int) (F, error)) method {
	return method{name: name, build: func(bits int, _ *trace) windowed { return untimed{result.Must(build(bits))} }}
}

// stable makes a method of stable Bloom filters.
func stable(cellBits, k, p int) method {
	return untimedMethod(fmt.Sprintf("SBF d%d K%d P%d, anywhere", cellBits, k, p), func(bits int) (*paper.Stable, error) {
		return paper.NewStable(paper.StableConfig{Cells: bits / cellBits, CellBits: cellBits, K: k, P: p, Seed: 1})
	})
}

// rowRate predicts the rate of rows of fingerprints that hold the elements of the window.
func rowRate(cells, width, rowBits int) func(bits int, t *trace) float64 {
	return func(bits int, t *trace) float64 {
		return forms.TimedRowFPR(cells, width, t.distinct/float64(bits/rowBits))
	}
}

// stamped makes a method of rows with time stamps in rowBits bits. Short stamps need
// nearly all of their values for the window; longer ones leave time to sweep.
func stamped(cells, width, stampBits, rowBits int) method {
	ticks := map[int]int{3: 5, 4: 13, 8: 200, 16: 1000}[stampBits]
	return method{
		name:    fmt.Sprintf("timed rows %dx(%d+%d)", cells, width, stampBits),
		oneLine: true,
		build: func(bits int, t *trace) windowed {
			return newTimedRows(rowShape{cells, width, rowBits}, bits/rowBits, ticks, t.window)
		},
		predict: rowRate(cells, width, rowBits),
	}
}

// windowedQuotient makes a method of quotient hash tables with time stamps: QHT or QQHTD in a
// sliding window.
func windowedQuotient(name string, r rule, cells, width, stampBits int) method {
	m := stamped(cells, width, stampBits, lineBits)
	build := m.build
	m.name = fmt.Sprintf("%s %dx(%d+%d) with times", name, cells, width, stampBits)
	m.build = func(bits int, t *trace) windowed {
		rows := build(bits, t).(*timedRows)
		rows.rule = r
		return rows
	}
	return m
}

// engineStreams are the engine's methods, next to the reference with the same parameters
// where there is one.
func engineStreams() []method {
	return append([]method{
		engineStream("sbf K2 P5", stream.Config{Method: "sbf", K: 2, P: 5}),
		engineStream("bsbf K2", stream.Config{Method: "bsbf", K: 2}),
		engineStream("bsbfsd K2", stream.Config{Method: "bsbfsd", K: 2}),
		engineStream("rlbsbf K2", stream.Config{Method: "rlbsbf", K: 2}),
		engineStream("qht 8x8", stream.Config{Method: "qht", Shape: "8x8"}),
		engineStream("qht 32x16", stream.Config{Method: "qht", Shape: "32x16"}),
		engineStream("qqhtd 8x8", stream.Config{Method: "qqhtd", Shape: "8x8"}),
	}, engineLRU("8x8", "4x16", "32x16", "16x32", "8x64")...)
}

// engineLRU are the engine's rows of these shapes, with their rate.
func engineLRU(shapes ...string) (all []method) {
	for _, name := range shapes {
		m := engineStream("lru "+name, stream.Config{Method: "lru", Shape: name})
		m.predict = func(int, *trace) float64 {
			i := slices.IndexFunc(stream.Shapes(), func(s stream.Shape) bool { return s.Name == name })
			return stream.Shapes()[i].FPR()
		}
		all = append(all, m)
	}
	return all
}

func engineStream(name string, c stream.Config) method {
	m := untimedMethod("engine: "+name, func(bits int) (*elements.Engine, error) {
		c.Memory = bits / 8
		return elements.NewEngine(c)
	})
	m.oneLine = true
	return m
}

// engineWindows are the engine's packet filters; of makes their window.
func engineWindows(refresh bool, of func(window int64) window.Window) []method {
	timed := func(bits int, t *trace) windowed {
		return newWindowFilter(window.NewTimed(window.TimedConfig{Window: of(t.window), Memory: bits / 8, Refresh: refresh}))
	}
	coarse := func(fine bool) func(bits int, t *trace) windowed {
		return func(bits int, t *trace) windowed {
			return newWindowFilter(window.NewCoarse(window.CoarseConfig{Window: of(t.window), Fine: fine, Memory: bits / 8, Refresh: refresh}))
		}
	}
	return []method{
		{"engine: timed 6x85", true, timed, rowRate(layout.TimedCells, 40, lineBits)},
		{"engine: fine 12x40", true, coarse(true), rowRate(layout.FineCells, layout.FineFingerprintBits, lineBits)},
		{"engine: coarse 15x32", true, coarse(false), rowRate(layout.CoarseCells, layout.CoarseFingerprintBits, lineBits)},
		engineTimers("engine: timers K2", 2, 1, refresh, of),
		engineTimers("engine: timers K3", 3, 1, refresh, of),
		engineTimers("engine: timers K3, 2 equal", 3, 2, refresh, of),
	}
}

// engineTimers makes a method of the engine's timers of 8 bits.
func engineTimers(name string, k, equal int, refresh bool, of func(window int64) window.Window) method {
	return method{name: name, oneLine: true, build: func(bits int, t *trace) windowed {
		return newWindowFilter(window.NewTimers(window.TimersConfig{Window: of(t.window), Memory: bits / 8, K: k, Equal: equal, Refresh: refresh}))
	}}
}

// decaying is the block decaying Bloom filter, with a window of records.
var decaying = method{name: "b_DBF 3-bit K4, anywhere", build: func(bits int, t *trace) windowed {
	return untimed{result.Must(paper.NewBDBF(paper.BDBFConfig{Bits: bits, CellBits: 3, K: 4, Window: int(t.window)}))}
}}

// partitioned makes a method of age-partitioned Bloom filters with the K and L that are
// best for the window's number of distinct elements, by the closed form.
func partitioned(oneLine bool) method {
	best := func(bits int, t *trace) (lines, size, k, l int) {
		lines, size = split(bits, oneLine)
		k, l = bestAgePartitioned(size, t.distinct/float64(lines))
		return lines, size, k, l
	}
	return method{
		name:    "age-partitioned, " + placement(oneLine),
		oneLine: oneLine,
		build: func(bits int, t *trace) windowed {
			lines, size, k, l := best(bits, t)
			return newAgePartitioned(lines, size, k, l, t.window)
		},
		predict: func(bits int, t *trace) float64 {
			lines, size, k, l := best(bits, t)
			return agePartitionedFPR(k, l, size, t.distinct/float64(lines))
		},
	}
}

// jumpingMethod makes a method of jumping windows, in lines or anywhere, with k hash
// functions for a memory and trace.
func jumpingMethod(name string, jumps int, oneLine bool, k func(bits int, t *trace) int) method {
	return method{
		name:    name + ", " + placement(oneLine),
		oneLine: oneLine,
		build: func(bits int, t *trace) windowed {
			lines, size := split(bits, oneLine)
			return newJumping(lines, size, jumps, k(bits, t), t.window)
		},
		// The rate of as many full sub-windows bounds it.
		predict: func(bits int, t *trace) float64 {
			lines, size := split(bits, oneLine)
			part, load := size/(jumps+1), t.distinct/float64(jumps)
			if oneLine {
				return float64(jumps+1) * result.Must(theory.LineFilter{Cells: part, K: k(bits, t)}.FPR(load/float64(lines)))
			}
			return float64(jumps+1) * forms.BloomFPRApprox(part, k(bits, t), int(load))
		},
	}
}

func jumpingOf(jumps, k int, oneLine bool) method {
	return jumpingMethod(fmt.Sprintf("jumping J%d K%d", jumps, k), jumps, oneLine, func(int, *trace) int { return k })
}

// agingLine is A2 in the two halves of each line, which swap by time: a jumping window of
// one jump.
var agingLine = jumpingMethod("A2", 1, true, func(bits int, t *trace) int { return min(agingK(bits, t), 256) })

// agingK returns the best K of A2 with a capacity for the most distinct elements of any
// window, so that it misses no repeat in a window.
func agingK(bits int, t *trace) int { return forms.BloomOptimalK(bits/2, t.most) }

var aging = method{
	name: "A2, anywhere",
	build: func(bits int, t *trace) windowed {
		return untimed{result.Must(paper.NewA2(bits, agingK(bits, t), t.most))}
	},
	predict: func(bits int, t *trace) float64 {
		return 2 * forms.BloomFPRApprox(bits/2, agingK(bits, t), t.most)
	},
}

func placement(oneLine bool) string {
	if oneLine {
		return "line"
	}
	return "anywhere"
}

// split returns the lines that bits are cut to, and their size.
func split(bits int, oneLine bool) (lines, size int) {
	if oneLine {
		return bits / lineBits, lineBits
	}
	return 1, bits
}
