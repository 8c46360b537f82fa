// SPDX-License-Identifier: Apache-2.0

package sliding

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"github.com/flowdedup/flowdedup/layout"
)

// hotAndNew returns a stream in which half come again and again, and the others are new.
func hotAndNew(n int, window time.Duration) *slidingStream {
	rng := rand.New(rand.NewPCG(17, 18))
	s := &slidingStream{times: steady(n, window/time.Duration(n))}
	for i := range n {
		d := digest.Digest{rng.Uint64()}
		if i%2 == 0 {
			d = digest.Digest{0x9e3779b97f4a7c15 * uint64(1+rng.IntN(60))}
		}
		s.digests = append(s.digests, d)
	}
	return s
}

// Sliding counters that are saved and restored at random moments, while they grow, halve
// their sample or take all elements again, decide at the same places as one that was not:
// both know elements of the running step that need no look-up in the rows.
func TestSampledSnapshot(t *testing.T) {
	const window = time.Minute
	const busy = 60_000
	stream := hotAndNew(busy*11/10, window)
	for i := busy; i < len(stream.times); i++ {
		stream.times[i] += int64(i-busy) * int64(window) / 2000 // calm
	}
	for _, memory := range []int{1, 1 << 18, 1 << 20} {
		t.Run(fmt.Sprint(memory), func(t *testing.T) {
			cfg := Config{Window: window, Step: window / 10, Memory: memory}
			whole, cut := mustSliding(t, cfg), mustSliding(t, cfg)
			rng := rand.New(rand.NewPCG(19, 20))
			within := map[string]bool{}
			for at := 0; at < len(stream.digests); {
				to := min(at+rng.IntN(400), len(stream.digests))
				for _, s := range []*Rows{whole, cut} {
					s.TestAndSet(nil, stream.digests[at:to], stream.times[at:to])
				}
				within["growing"] = within["growing"] || cut.rows.Growing()
				within["thinning"] = within["thinning"] || cut.rows.Thinning
				within["sampled"] = within["sampled"] || cut.level > 0
				cut = check.Restart(t, cut, Restore)
				now := stream.times[max(0, to-1)]
				if got, want := cut.Count(now), whole.Count(now); got != want || cut.pending.position != whole.pending.position {
					t.Fatalf("%+v after %d elements, want %+v", got, to, want)
				}
				at = to
			}
			if memory < 1<<20 && (!within["thinning"] || !within["sampled"]) || memory > 1 && !within["growing"] {
				t.Errorf("saved within %v: that tests too little", within)
			}
		})
	}
}

// A counter that is restored goes on as if nothing had happened, wild clocks or not.
func TestSnapshot(t *testing.T) {
	for name, stream := range slidingStreams(8, 30_000, time.Minute) {
		for i := range stream.times {
			if i/10%20 == 7 {
				stream.times[i] += int64(time.Hour)
			}
		}
		for _, memory := range []int{0, 1} {
			cfg := Config{Window: time.Minute, Memory: memory}
			whole, cut := mustSliding(t, cfg), mustSliding(t, cfg)
			rng := rand.New(rand.NewPCG(54, 54))
			for at := 0; at < len(stream.digests); {
				to := min(at+rng.IntN(8000), len(stream.digests))
				whole.TestAndSet(nil, stream.digests[at:to], stream.times[at:to])
				cut.TestAndSet(nil, stream.digests[at:to], stream.times[at:to])
				cut = check.Restart(t, cut, Restore)
				now := stream.times[to-1]
				if got, want := cut.Count(now), whole.Count(now); got != want {
					t.Fatalf("%s: %+v after %d elements, want %+v", name, got, to, want)
				}
				at = to
			}
		}
	}
}

// smallSliding returns a small counter, after some work.
func smallSliding(t testing.TB) *Rows {
	s := mustSliding(t, Config{Window: time.Second})
	digests := check.Digests(51, 3000)
	s.TestAndSet(nil, digests, steady(len(digests), time.Millisecond))
	return s
}

func TestRestore(t *testing.T) { check.Restore(t, smallSliding(t), Restore) }

func FuzzRestoreSliding(f *testing.F) {
	check.FuzzRestore(f, Restore, func(s *Rows) {
		digests := check.Repeating(15, 2000)
		s.Count(slidingBegin)
		s.TestAndSet(nil, digests, steady(len(digests), time.Millisecond))
		s.Count(slidingBegin)
	}, smallSliding(f))
}

// TestCopy copies counters while they grow, are thinned and swept: the copy equals their
// content at the start.
func TestCopy(t *testing.T) {
	const n = 400_000
	digests, times := check.Digests(71, n), steady(n, 20*time.Microsecond)
	seen := make([]uint64, n/64+1)
	for name, cfg := range map[string]Config{
		"all": {Window: 2 * time.Second}, "sampled": {Window: 20 * time.Second, Memory: 1 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			s := mustSliding(t, cfg)
			check.Copies(t, s, n/4, n, func(from, to int) { s.TestAndSet(seen, digests[from:to], times[from:to]) })
		})
	}
}

func TestState(t *testing.T) {
	digests := check.Digests(85, 60_000)
	times := steady(len(digests), 20*time.Microsecond)
	s := mustSliding(t, Config{Window: time.Second, Memory: 2048 * layout.LineSize})
	at := 0
	for ; !s.rows.Growing(); at += 512 {
		s.TestAndSet(nil, digests[at:at+512], times[at:])
	}
	check.State(t, "growing", s, "ea2cd8657d9d7fb3")
	for ; !s.rows.Thinning; at += 512 {
		s.TestAndSet(nil, digests[at:at+512], times[at:])
	}
	check.State(t, "thinning", s, "10bf5d23808d2622")
	s.TestAndSet(nil, digests[:3], []int64{times[0] - 1e12, times[0] - 1e12, times[0] - 1e12})
	check.State(t, "held", s, "70cac49ba3d5a6b2")
}
