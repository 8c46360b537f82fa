package rivals

import (
	"fmt"

	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/theory"
	"github.com/flowdedup/flowdedup/engine/window"
	"github.com/flowdedup/flowdedup/layout"
)

// method is a way to build a filter of at most the given memory, in bits, for a
// trace.
type method struct {
	name    string
	oneLine bool // an element touches one cache line
	build   func(bits int, t *trace) (Windowed, error)
	// predict gives the false positive rate by its closed form, for rates that are too
	// low to be measured. It is nil for methods that have none so low.
	predict func(bits int, t *trace) (float64, error)
}

// untimedMethod makes a method of filters that ignore time.
func untimedMethod[F paper.Filter](name string, build func(bits int) (F, error)) method {
	return method{name: name, build: func(bits int, _ *trace) (Windowed, error) {
		f, err := build(bits)
		return untimed{f}, err
	}}
}

// rows makes a method of rows of fingerprints in rowBits bits.
func rows(cells, fingerprintBits, rowBits int) method {
	m := untimedMethod(fmt.Sprintf("LRU rows %dx%d", cells, fingerprintBits), func(bits int) (paper.Filter, error) {
		return NewRows(RowsConfig{Rows: bits / rowBits, RowBits: rowBits, Cells: cells, FingerprintBits: fingerprintBits}), nil
	})
	m.oneLine = true
	m.predict = func(bits int, _ *trace) (float64, error) {
		return theory.Row{Rows: bits / rowBits, Cells: cells, FingerprintBits: fingerprintBits}.FPR()
	}
	return m
}

// stable makes a method of stable Bloom filters.
func stable(cellBits, k, p int) method {
	return untimedMethod(fmt.Sprintf("SBF d%d K%d P%d, anywhere", cellBits, k, p), func(bits int) (*paper.Stable, error) {
		return paper.NewStable(paper.StableConfig{Cells: bits / cellBits, CellBits: cellBits, K: k, P: p, Seed: 1})
	})
}

// timedRows makes a method of rows with time stamps in rowBits bits. Short stamps need
// nearly all of their values for the window; longer ones leave time to sweep.
func timedRows(cells, fingerprintBits, stampBits, rowBits int) method {
	ticks := map[int]int{3: 5, 4: 13, 8: 200, 16: 1000}[stampBits]
	return method{
		name:    fmt.Sprintf("timed rows %dx(%d+%d)", cells, fingerprintBits, stampBits),
		oneLine: true,
		build: func(bits int, t *trace) (Windowed, error) {
			return NewTimedRows(TimedRowsConfig{
				Rows: bits / rowBits, RowBits: rowBits, Cells: cells, FingerprintBits: fingerprintBits,
				StampBits: stampBits, Ticks: ticks, Window: t.window,
			}), nil
		},
		predict: func(bits int, t *trace) (float64, error) {
			return theory.TimedRowFPR(cells, fingerprintBits, t.distinct/float64(bits/rowBits))
		},
	}
}

// engineWindows are the engine's packet filters; of makes their window.
func engineWindows(refresh bool, of func(window int64) window.Window) []method {
	timed := engineRows("timed 6x85", layout.TimedCells, 40, func(bits int, w window.Window) (*windowFilter, error) {
		return newWindowFilter(window.NewTimed(window.TimedConfig{Window: w, Memory: bits / 8, Refresh: refresh}))
	}, of)
	coarse := engineRows("coarse 15x32", layout.CoarseCells, layout.CoarseFingerprintBits, func(bits int, w window.Window) (*windowFilter, error) {
		return newWindowFilter(window.NewCoarse(window.CoarseConfig{Window: w, Memory: bits / 8, Refresh: refresh}))
	}, of)
	return []method{
		timed, coarse, enginePartitioned(refresh, of),
		engineTimers(2, 1, refresh, of), engineTimers(3, 1, refresh, of), engineTimers(3, 2, refresh, of),
	}
}

// engineRows makes a method of rows of the engine.
func engineRows(name string, cells, fingerprintBits int, build func(bits int, w window.Window) (*windowFilter, error), of func(window int64) window.Window) method {
	return method{
		name:    "engine: " + name,
		oneLine: true,
		build:   func(bits int, t *trace) (Windowed, error) { return build(bits, of(t.window)) },
		predict: func(bits int, t *trace) (float64, error) {
			return theory.TimedRowFPR(cells, fingerprintBits, t.distinct/float64(bits/lineBits))
		},
	}
}

// enginePartitioned is the engine's age-partitioned filter, with the K that is best for the
// window's number of distinct elements.
func enginePartitioned(refresh bool, of func(window int64) window.Window) method {
	best := func(bits int, t *trace) (k int, fpr float64, err error) {
		fpr = 1
		for try := 2; try <= layout.MaxPartitionedK; try++ {
			rate, err := theory.AgePartitioned{K: try, L: layout.PartitionedSlices - try, SliceBits: 8}.LineFPR(t.distinct / float64(bits/lineBits))
			if err != nil {
				return 0, 0, err
			}
			if k == 0 || rate < fpr {
				k, fpr = try, rate
			}
		}
		return k, fpr, nil
	}
	return method{
		name:    "engine: apbf",
		oneLine: true,
		build: func(bits int, t *trace) (Windowed, error) {
			k, _, err := best(bits, t)
			if err != nil {
				return nil, err
			}
			return newWindowFilter(window.NewPartitioned(window.PartitionedConfig{Window: of(t.window), Memory: bits / 8, K: k, Refresh: refresh}))
		},
		predict: func(bits int, t *trace) (float64, error) {
			_, fpr, err := best(bits, t)
			return fpr, err
		},
	}
}

// engineTimers makes a method of the engine's timers of 8 bits.
func engineTimers(k, equal int, refresh bool, of func(window int64) window.Window) method {
	name := fmt.Sprintf("engine: timers K%d", k)
	if equal > 1 {
		name += fmt.Sprintf(", %d equal", equal)
	}
	return method{name: name, oneLine: true, build: func(bits int, t *trace) (Windowed, error) {
		return newWindowFilter(window.NewTimers(window.TimersConfig{Window: of(t.window), Memory: bits / 8, K: k, Equal: equal, Refresh: refresh}))
	}}
}

// decaying is the block decaying Bloom filter, whose window is one of records.
var decaying = method{name: "b_DBF 3-bit K4, anywhere", build: func(bits int, t *trace) (Windowed, error) {
	f, err := paper.NewBDBF(paper.BDBFConfig{Bits: bits, CellBits: 3, K: 4, Window: int(t.window)})
	return untimed{f}, err
}}

// agePartitioned makes a method of age-partitioned Bloom filters with the K and L that
// are best for the window's number of distinct elements, by the closed form.
func agePartitioned(oneLine bool) method {
	best := func(bits int, t *trace) (AgePartitionedConfig, error) {
		lines, size := split(bits, oneLine)
		k, l, err := bestAgePartitioned(size, t.distinct/float64(lines))
		return AgePartitionedConfig{Lines: lines, LineBits: size, K: k, L: l, Window: t.window}, err
	}
	return method{
		name:    "age-partitioned, " + placement(oneLine),
		oneLine: oneLine,
		build: func(bits int, t *trace) (Windowed, error) {
			c, err := best(bits, t)
			if err != nil {
				return nil, err
			}
			return NewAgePartitioned(c), nil
		},
		predict: func(bits int, t *trace) (float64, error) {
			c, err := best(bits, t)
			if err != nil {
				return 0, err
			}
			return agePartitionedFPR(c.K, c.L, c.LineBits, t.distinct/float64(c.Lines))
		},
	}
}

// jumping makes a method of jumping windows, in lines or anywhere.
func jumping(jumps, k int, oneLine bool) method {
	return method{
		name:    fmt.Sprintf("jumping J%d K%d, %s", jumps, k, placement(oneLine)),
		oneLine: oneLine,
		build: func(bits int, t *trace) (Windowed, error) {
			lines, size := split(bits, oneLine)
			return NewJumping(JumpingConfig{Lines: lines, LineBits: size, Jumps: jumps, K: k, Window: t.window}), nil
		},
		predict: func(bits int, t *trace) (float64, error) { return jumpingFPR(bits, jumps, k, oneLine, t) },
	}
}

// jumpingFPR bounds the rate of a jumping window by that of as many full sub-windows.
func jumpingFPR(bits, jumps, k int, oneLine bool, t *trace) (float64, error) {
	lines, size := split(bits, oneLine)
	part, elements := size/(jumps+1), t.distinct/float64(jumps)
	rate, err := theory.BloomFPRApprox(part, k, int(elements))
	if oneLine {
		rate, err = theory.BlockedBloomFPR(part, k, elements/float64(lines))
	}
	return float64(jumps+1) * rate, err
}

// agingLine is A2 in the two halves of each line, which swap by time: a jumping window of
// one jump.
var agingLine = method{
	name:    "A2, line",
	oneLine: true,
	build: func(bits int, t *trace) (Windowed, error) {
		k, err := theory.BloomOptimalK(bits/2, t.most)
		if err != nil {
			return nil, err
		}
		return NewJumping(JumpingConfig{Lines: bits / lineBits, LineBits: lineBits, Jumps: 1, K: min(k, 256), Window: t.window}), nil
	},
	predict: func(bits int, t *trace) (float64, error) {
		k, err := theory.BloomOptimalK(bits/2, t.most)
		if err != nil {
			return 0, err
		}
		return jumpingFPR(bits, 1, min(k, 256), true, t)
	},
}

// aging is A2 with a capacity for the most distinct elements of any window, so that it
// misses none of them.
var aging = method{
	name: "A2, anywhere",
	build: func(bits int, t *trace) (Windowed, error) {
		k, err := theory.BloomOptimalK(bits/2, t.most)
		if err != nil {
			return nil, err
		}
		f, err := paper.NewA2(bits, k, t.most)
		return untimed{f}, err
	},
	predict: func(bits int, t *trace) (float64, error) {
		k, err := theory.BloomOptimalK(bits/2, t.most)
		if err != nil {
			return 0, err
		}
		rate, err := theory.BloomFPRApprox(bits/2, k, t.most)
		return 2 * rate, err
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
