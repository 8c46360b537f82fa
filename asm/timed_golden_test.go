package asm

import (
	"testing"

	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
	"github.com/flowdedup/flowdedup/asm/internal/splitmix"
)

// goldenTimes are the same ticks and points on every CPU: time walks, now and then steps
// back or is missing, and goes on in another era after half of the elements.
func goldenTimes(n int, p *TimedParams) (ticks []int64, points []uint32) {
	state, now := uint64(1), p.Origin
	for i := range n {
		step := int64(splitmix.Next(&state) % uint64(2+p.Window/4))
		if splitmix.Next(&state)%16 == 0 {
			step = -step
		}
		if now += step; i == n/2 {
			now += 1 << (p.TickBits - 1)
		}
		tick := now
		if splitmix.Next(&state)%64 == 0 {
			tick = NoTick
		}
		ticks, points = append(ticks, tick), append(points, uint32(splitmix.Next(&state)%200))
	}
	return ticks, points
}

// TestTimedGolden has every shape in all four modes: verdicts, memory and counts of earlier
// versions and of all CPUs are the same, as filters are kept in files and moved.
func TestTimedGolden(t *testing.T) {
	want := []string{
		"81334005bccd45e3", "61c0dcc528c2d761", "477cb59268ed6154", "0acea7b50585f2a9",
		"b523a1e779a5e509", "0667d0971c94a2c4", "6394db8d51839889",
	}
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		digests := goldenStream()
		for i, p := range timedShapes {
			ticks, points := goldenTimes(len(digests), &p)
			var words []any
			for mode := range 4 {
				lines, seen, c := make([][8]uint64, 80), make([]uint64, (len(digests)+63)/64), TimedCounts{}
				p.Refresh, p.Across = mode&1 != 0, mode&2 != 0
				TestAndSetTimed(lines, seen, digests, ticks, points, &p, &c)
				words = append(words, seen, lines, c)
			}
			if got := goldenSum(t, words...); got != want[i] {
				t.Errorf("%+v: %q, want %q", p, got, want[i])
			}
		}
	})
}
