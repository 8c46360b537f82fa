// SPDX-License-Identifier: Apache-2.0

package window

import (
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A filter that is restored goes on as if nothing had happened.
func TestTimedSnapshot(t *testing.T) {
	for _, text := range []string{"1ms", "999999937ns", "n:70", "none"} {
		eachMode(t, func(t *testing.T, refresh, across bool) {
			cfg := TimedConfig{Window: mustWindow(t, text), Memory: 1600, Refresh: refresh, Across: across, FPR: 5e-11}
			s := check.RandomPackets(53, 6000, check.Clocks(100_000)["jumps"])
			whole, cut := newTimed(t, cfg), newTimed(t, cfg)
			want := s.Verdicts(whole, 1000)
			rng := rand.New(rand.NewPCG(54, 54))
			for at := 0; at < len(want); {
				to := min(at+rng.IntN(2000), len(want))
				part := s.Part(at, to)
				if !slices.Equal(part.Verdicts(cut, 300), want[at:to]) {
					t.Fatalf("%s: other verdicts from %d on", text, at)
				}
				at = to
				cut = check.Restart(t, cut, RestoreTimed)
			}
			if cut.Stats() != whole.Stats() {
				t.Errorf("%s: %+v, want %+v", text, cut.Stats(), whole.Stats())
			}
		})
	}
}

// smallTimed returns a small filter, after some work.
func smallTimed(t testing.TB) *Timed {
	f := newTimed(t, TimedConfig{Window: Window{Duration: time.Millisecond}, Memory: 6400})
	check.RandomPackets(52, 1000, check.Clocks(100_000)["in order"]).Verdicts(f, 100)
	return f
}

func TestTimedRestore(t *testing.T) { check.Restore(t, smallTimed(t), RestoreTimed) }

func FuzzRestoreTimed(f *testing.F) {
	check.FuzzRestore(f, RestoreTimed, func(t *Timed) {
		s := check.RandomPackets(15, 2000, check.Clocks(1000)["jumps"])
		t.TestAndSet(make([]uint64, len(s.Digests)/64+1), s.Digests, s.Times, s.Points)
		t.Stats()
	}, smallTimed(f))
}

// TestTimedCopy copies filters while they go on: what comes out is what they held at the
// start, to the last bit, whenever it is written.
func TestTimedCopy(t *testing.T) {
	const memory = 1<<20 + 64 // more than one part, and no whole words
	for name, cfg := range map[string]TimedConfig{
		"across":  {Window: Window{Duration: time.Second}, Memory: memory, Across: true},
		"growing": {Window: Window{Duration: time.Hour}, Memory: memory, Limit: 64 << 20},
		"count":   {Window: Window{Packets: 5000}, Memory: memory},
	} {
		t.Run(name, func(t *testing.T) { check.PacketCopies(t, newTimed(t, cfg)) })
	}
}

func TestTimedState(t *testing.T) {
	for _, c := range []struct {
		text, clock string
		limit       int
		want        string
	}{
		{"1ms", "in order", 0, "4be702f7f92061cf"},
		{"999999937ns", "jumps", 0, "6c59001ee80e43bf"},
		{"n:70", "in order", 0, "25227b4c3afed5fb"},
		{"none", "in order", 0, "3987d7d9f6ae7d2d"},
	} {
		f := newTimed(t, TimedConfig{Window: mustWindow(t, c.text), Memory: 6400, Across: c.limit == 0, Limit: c.limit})
		check.RandomPackets(82, 20_000, check.Clocks(100_000)[c.clock]).Verdicts(f, 1000)
		check.State(t, c.text, f, c.want)
	}
	f := newTimed(t, growing(t, "1s"))
	burstStream(60_000, int64(time.Second), int64(time.Second)/2500).Part(0, 20_000).Verdicts(f, 1000)
	if len(f.growth.older) == 0 {
		t.Error("no older lines")
	}
	check.State(t, "growing", f, "d4fa8951367c8923")
}
