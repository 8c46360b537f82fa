package rivals

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/window"
)

// TestWindows checks filters that promise a window. They report all elements of the
// window and, with plenty of memory, none from more than one unit of time before it,
// whether times run evenly, in steps, or after pauses. If the window is not a whole
// number of units, the units that cover it count. An age-partitioned filter loses an
// element's bits one generation after the other, and may find the last one with bits of
// others.
func TestWindows(t *testing.T) {
	const size = 1000
	rowsOf := func(stampBits, ticks int) func() (Windowed, error) {
		return func() (Windowed, error) {
			return NewTimedRows(TimedRowsConfig{Rows: 37, RowBits: 1 << 15, Cells: 256, FingerprintBits: 48, StampBits: stampBits, Ticks: ticks, Window: size}), nil
		}
	}
	for name, c := range map[string]struct {
		open func() (Windowed, error)
		unit int64 // what may be reported this much after the window
	}{
		"age-partitioned, anywhere": {func() (Windowed, error) {
			return NewAgePartitioned(AgePartitionedConfig{Lines: 1, LineBits: 1 << 19, K: 9, L: 5, Window: size}), nil
		}, 9 * 200},
		"age-partitioned, lines": {func() (Windowed, error) {
			return NewAgePartitioned(AgePartitionedConfig{Lines: 512, LineBits: 1 << 11, K: 12, L: 3, Window: size}), nil
		}, 12 * 334},
		"jumping, anywhere": {func() (Windowed, error) {
			return NewJumping(JumpingConfig{Lines: 1, LineBits: 1 << 19, Jumps: 7, K: 10, Window: size}), nil
		}, 143},
		"jumping, lines": {func() (Windowed, error) {
			return NewJumping(JumpingConfig{Lines: 512, LineBits: 1 << 13, Jumps: 1, K: 12, Window: size}), nil
		}, size},
		"engine: timers": {func() (Windowed, error) {
			return newWindowFilter(window.NewTimers(window.TimersConfig{Window: window.Window{Duration: size}, Memory: 1 << 18, Refresh: true}))
		}, 9},
		"timed rows of 2 bits":  {rowsOf(2, 1), size},
		"timed rows of 3 bits":  {rowsOf(3, 5), 200},
		"timed rows of 4 bits":  {rowsOf(4, 7), 143},
		"timed rows of 8 bits":  {rowsOf(8, 253), 4},
		"timed rows of 16 bits": {rowsOf(16, 1000), 1},
		"engine: timed": {func() (Windowed, error) {
			return newWindowFilter(window.NewTimed(window.TimedConfig{Window: window.Window{Duration: size}, Memory: 1 << 18, Refresh: true}))
		}, 0},
		"engine: coarse": {func() (Windowed, error) {
			return newWindowFilter(window.NewCoarse(window.CoarseConfig{Window: window.Window{Duration: size}, Memory: 1 << 18, Refresh: true}))
		}, 8},
		"engine: apbf": {func() (Windowed, error) {
			return newWindowFilter(window.NewPartitioned(window.PartitionedConfig{Window: window.Window{Duration: size}, Memory: 1 << 18, K: 20, Refresh: true}))
		}, 21 * 25},
	} {
		for pace := range 4 {
			f, err := c.open()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			requireWindow(t, fmt.Sprintf("%s, pace %d", name, pace), f, pace, size, c.unit)
		}
	}
}

// requireWindow compares with the exact times.
func requireWindow(t *testing.T, name string, f Windowed, pace int, window, unit int64) {
	t.Helper()
	r, last, now := rand.New(rand.NewPCG(8, uint64(pace))), map[uint64]int64{}, int64(0)
	for range 3000 {
		switch now += r.Int64N(20); {
		case pace > 0 && r.IntN(200) == 0:
			now += window * r.Int64N(4)
		case pace > 1 && r.IntN(300) == 0:
			now += window * r.Int64N(300)
		case pace > 2 && r.IntN(400) == 0:
			now += 1<<40 + 1<<20 // not a multiple of 2^32 ticks, which look like none
		}
		id := r.Uint64N(300)
		seen := f.TestAndSet(stream.Digest(id), now)
		before, known := last[id]
		switch {
		case known && now-before <= window:
			if !seen {
				t.Fatalf("%s: missed after %d", name, now-before)
			}
		case seen && !known:
			t.Fatalf("%s: a new element is reported", name)
		case seen && now-before > window+unit:
			t.Fatalf("%s: reported after %d, window %d and unit %d", name, now-before, window, unit)
		}
		last[id] = now
	}
}
