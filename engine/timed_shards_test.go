package engine

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/layout"
)

// mustShareTimed makes a filter whose workers share even what is not worth it.
func mustShareTimed(t testing.TB, cfg TimedConfig) *Timed {
	t.Helper()
	f := newTimed(t, cfg)
	f.shards.least = 1
	return f
}

// Neither the number of workers nor the sizes of batches change verdicts, memory or
// statistics.
func TestTimedShards(t *testing.T) {
	for _, text := range []string{"1ms", "50ms", "n:700", "none"} {
		t.Run(text, func(t *testing.T) {
			s := randomPackets(12, shardRound+9000, clocks(100_000)["jumps"])
			eachMode(t, func(t *testing.T, refresh, across bool) {
				cfg := TimedConfig{Window: mustWindow(t, text), Memory: 300 * layout.LineSize, Refresh: refresh, Across: across}
				one := newTimed(t, cfg)
				want := s.verdicts(one, 1000)
				for _, workers := range []int{1, 2, 3, 8} {
					cfg.Workers = workers
					for _, batch := range []int{700, 5000, len(s.digests)} {
						f := mustShareTimed(t, cfg)
						if !slices.Equal(s.verdicts(f, batch), want) {
							t.Errorf("%d workers, batches of %d: other verdicts", workers, batch)
						}
						if !slices.Equal(f.arena.Lines(), one.arena.Lines()) {
							t.Errorf("%d workers, batches of %d: other memory", workers, batch)
						}
						if f.Stats() != one.Stats() {
							t.Errorf("%d workers, batches of %d: %+v, want %+v", workers, batch, f.Stats(), one.Stats())
						}
					}
				}
			})
		})
	}
}

// A filter goes on with other workers where a snapshot left it.
func TestTimedSnapshotShards(t *testing.T) {
	s := randomPackets(13, 20_000, clocks(100_000)["in order"])
	cfg := TimedConfig{Window: mustWindow(t, "1ms"), Memory: 300 * layout.LineSize, Workers: 3}
	one := newTimed(t, cfg)
	want := s.verdicts(one, 1000)
	f, rng := mustShareTimed(t, cfg), rand.New(rand.NewPCG(13, 13))
	for at := 0; at < len(s.digests); {
		to := min(at+1+rng.IntN(9000), len(s.digests))
		part := s.part(at, to)
		if !slices.Equal(part.verdicts(f, 2000), want[at:to]) {
			t.Fatalf("other verdicts from packet %d to %d", at, to)
		}
		at = to
		c := RestoreConfig{Secret: savedSecret, Label: savedLabel, Workers: 1 + rng.IntN(5)}
		again, err := RestoreTimed(bytes.NewReader(saved(t, f)), c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { again.Close() })
		f = again
		f.shards.least = 1
	}
	if f.Stats() != one.Stats() {
		t.Errorf("%+v, want %+v", f.Stats(), one.Stats())
	}
}

func TestTimedWorkers(t *testing.T) {
	for _, workers := range []int{-1, 11, MaxWorkers + 1} {
		_, err := NewTimed(TimedConfig{Window: mustWindow(t, "1ms"), Memory: 640, Workers: workers})
		if !errors.Is(err, ErrWorkers) {
			t.Errorf("%d workers: %v", workers, err)
		}
	}
}

// BenchmarkTimedShards takes packets of a steady clock.
func BenchmarkTimedShards(b *testing.B) {
	const n = 1 << 20
	p := randomPackets(14, n, clocks(1_000_000)["in order"])
	seen := make([]uint64, n/64)
	benchShards(b, "", n, func(b *testing.B, memory, workers int) func(at, batch int) {
		f := newTimed(b, TimedConfig{Window: mustWindow(b, "1ms"), Memory: memory, Workers: workers})
		return func(at, batch int) { f.TestAndSet(seen, p.digests[at:at+batch], p.times[at:at+batch], nil) }
	})
}
