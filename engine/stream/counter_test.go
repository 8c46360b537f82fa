// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"github.com/flowdedup/flowdedup/engine/window"
)

// distinctOf counts digests exactly.
func distinctOf(digests []digest.Digest) uint64 {
	known := map[digest.Digest]bool{}
	for _, d := range digests {
		known[d] = true
	}
	return uint64(len(known))
}

// Bounds hold with memory for a few of the elements and for all of them, and rows that
// forget nothing are right.
func TestCounterBounds(t *testing.T) {
	digests := check.Repeating(61, 30_000)
	want := distinctOf(digests)
	seen := make([]uint64, len(digests)/64+1)
	for _, lines := range []int{10, 300, 20_000} {
		forStreams(t, lines, func(t *testing.T, c Config) {
			counter, err := NewCounter(c)
			if err != nil {
				t.Fatal(err)
			}
			defer counter.Close()
			counter.TestAndSet(seen, digests)
			got, s := counter.Counts(), counter.filter.Stats()
			if got.Low > want || got.High < want || got.Distinct < got.Low || got.Distinct > got.High {
				t.Errorf("%d lines: %+v, want %d", lines, got, want)
			}
			if got.FPR != s.FPR || got.MemoryBytes != s.MemoryBytes || got.Method != s.Method {
				t.Errorf("%d lines: %+v, the filter says %+v", lines, got, s)
			}
			if s.Evicted == 0 && s.FPRBound < 1e-8 && got.Distinct != want {
				t.Errorf("%d lines: %d, want %d", lines, got.Distinct, want)
			}
		})
	}
}

// TestCounterSized requests its present size, and keeps its content.
func TestCounterSized(t *testing.T) {
	c, err := NewCounter(Config{Method: "lru", Memory: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	digests, seen := check.Digests(92, 64), make([]uint64, 1)
	c.TestAndSet(seen, digests)
	c.Populate()
	c.TestAndSet(seen, digests)
	if seen[0] != ^uint64(0) || c.MemoryFor(1<<40) != c.Counts().MemoryBytes {
		t.Errorf("seen %x, memory for many %d, has %d", seen[0], c.MemoryFor(1<<40), c.Counts().MemoryBytes)
	}
}

// Rows keep the bound of other packet filters, and the other methods the result of New
// without a bound.
func TestPacketsBound(t *testing.T) {
	for _, method := range Methods() {
		f, err := NewPackets(Config{Method: method, Memory: 6400})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		stats, want := f.Stats(), mustStream(t, Config{Method: method, Memory: 6400}).Stats().FPRBound
		rows := HasRows(method)
		if rows && stats.PredictedFPR > engine.DefaultFPR || !rows && stats.PredictedFPR != want || stats.Method != method {
			t.Errorf("%s: %+v, by itself %g", method, stats, want)
		}
	}
}

func TestPackets(t *testing.T) {
	const ample = 4 << 20
	p := check.RandomPackets(21, 5000, check.Clocks(1000)["jumps"])
	exact, err := window.NewExact(window.ExactConfig{Window: window.Window{None: true}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := NewPackets(Config{Memory: ample})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := p.Verdicts(exact, 700)
	for i, isCopy := range p.Verdicts(f, 700) {
		if isCopy != want[i] {
			t.Fatalf("packet %d: copy %v, want %v", i, isCopy, want[i])
		}
	}
	if s := f.Stats(); s.EvictedLive != 0 || s.SuggestedMemory != 0 || s.MemoryBytes < ample {
		t.Errorf("%+v", s)
	}
}

func TestIsMethod(t *testing.T) {
	for _, method := range Methods() {
		if !IsMethod(method) {
			t.Errorf("%s is none", method)
		}
	}
	for _, method := range []string{"", "timed", "exact", "LRU"} {
		if IsMethod(method) {
			t.Errorf("%q is one", method)
		}
	}
}
