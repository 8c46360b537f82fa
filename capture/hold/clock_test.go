// SPDX-License-Identifier: Apache-2.0

package hold

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/window"
)

// withWild puts runs of packets with times that next returns into a stream, each a new packet of no
// conversation: a run for about as many packets as every says. It returns where they are.
func withWild(rng *rand.Rand, all []sighted, every int, next func(now int64) []int64) (mixed []sighted, wild []bool) {
	g := traffic{rng: rng}
	for _, p := range all {
		if len(mixed) > 100 && rng.IntN(every) == 0 {
			for _, at := range next(p.time) {
				mixed, wild = append(mixed, sighted{digest: g.digest(), time: at, size: rng.IntN(100)}), append(wild, true)
			}
		}
		mixed, wild = append(mixed, p), append(wild, false)
	}
	return mixed, wild
}

// TestWildTimes has packets with wrong clocks between right packets: of the right packets the same
// stay as without, whatever the size of batches is.
func TestWildTimes(t *testing.T) {
	const hold, day = time.Millisecond, int64(24 * time.Hour)
	for name, next := range map[string]func(now int64) []int64{
		"far ahead":      func(now int64) []int64 { return []int64{now + day} },
		"in the past":    func(now int64) []int64 { return []int64{now - day} },
		"both":           func(now int64) []int64 { return []int64{now + day, now - day, 1 << 62, 0, 1} },
		"minutes":        func(now int64) []int64 { return []int64{now + 2*int64(calendar.Tolerance)} },
		"a long run":     func(now int64) []int64 { return slices.Repeat([]int64{now + day}, 40) },
		"a run of a day": func(now int64) []int64 { return slices.Repeat([]int64{now - day}, 40) },
	} {
		t.Run(name, func(t *testing.T) {
			g := traffic{rng: rand.New(rand.NewPCG(3, 4)), points: 3, conversations: 30, size: 200, loss: 0.2, delay: 600 * time.Microsecond}
			every := 50
			if len(next(0)) > calendar.Quorum {
				every = 500
			}
			all := g.stream(6000)
			cfg := Config{Flow: true, For: hold}
			kept := func(all []sighted, next func() int) []bool {
				drop := copies(t, all, window.ExactConfig{Window: window.Window{Duration: hold}})
				h := testHold(t, cfg, Stream{Window: hold})
				return (&heldRun{t: t, hold: h, all: all, drop: drop}).run(false, next)
			}
			want := kept(all, func() int { return len(all) })
			mixed, wild := withWild(g.rng, all, every, next)
			for i, cut := range []func() int{func() int { return 1 }, func() int { return g.rng.IntN(700) }, func() int { return len(mixed) }} {
				got := slices.Clone(kept(mixed, cut))
				honest := got[:0:0]
				for k := range got {
					if !wild[k] {
						honest = append(honest, got[k])
					}
				}
				if at := firstDifference(honest, want); at >= 0 || len(honest) == len(mixed) {
					t.Fatalf("cut %d: packet %d is kept: %v, or none of %d is wild", i, at, honest[at], len(mixed))
				}
			}
		})
	}
}

// TestSet lets packets leave soon after the clock was set, forward as by a pause or back,
// and where it is set again and again, or all times disagree, or outliers come as often as the
// time at which it stands still. A first sighting waits for a copy that never comes.
func TestSet(t *testing.T) {
	const hold, hour = time.Millisecond, int64(time.Hour)
	rng := rand.New(rand.NewPCG(5, 6))
	for name, c := range map[string]struct {
		next func(i int) int64 // the time of a packet after it
		most int               // that come until it is settled
	}{
		"sparse":       {func(i int) int64 { return hour * int64(i+1) }, calendar.Quorum},
		"pause":        {func(i int) int64 { return hour + int64(hold)/8*int64(i) }, 2*calendar.Quorum + partPackets},
		"set back":     {func(i int) int64 { return -hour + int64(hold)/8*int64(i) }, 2*calendar.Quorum + partPackets},
		"two clocks":   {func(i int) int64 { return hour * int64(i/(2*calendar.Quorum)%2) }, 3 * maxSets * calendar.Quorum},
		"all disagree": {func(int) int64 { return int64(rng.Uint64()) >> 2 }, 2 * partPackets},
		"stands still": {func(i int) int64 { return int64(i%2) * hour }, 2*maxSets*waryOutliers + 2*partPackets},
		"short pauses": {func(i int) int64 { return int64(time.Second) * int64(i+1) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			all, drop := pair(1, 1e18, 0)
			all, drop = all[:2], drop[:2]
			for i := range 3000 {
				home := all[0]
				home.time, home.digest[0] = 1e18+c.next(i), uint64(i+100)
				all, drop = append(all, home), append(drop, false)
			}
			r := &heldRun{t: t, hold: testHold(t, Config{Flow: true, For: hold}, Stream{}), all: all, drop: drop}
			settled, taken := 0, 0
			next := func() int {
				if taken++; settled == 0 && taken > 3 && r.hold.decided > 1 {
					settled = taken - 3
				}
				return 1
			}
			if r.run(false, next); settled == 0 || settled > c.most {
				t.Errorf("it is settled after %d packets, want one and at most %d", settled, c.most)
			}
		})
	}
}
