// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/engine"
)

// CounterKind is a kind of counter of keys K that is exact on the streams.
type CounterKind[K comparable, F engine.Counter[K]] struct {
	New     func(memory int) (F, error)
	Key     func(uint64) K // a key of a random number
	Streams map[string][]K
}

// Test compares verdicts and counts with a map's, for streams in calls of many lengths, and
// for calls of every length. They allocate nothing once the counter knows the keys.
func (k CounterKind[K, F]) Test(t *testing.T) {
	random := make([]K, 60_000)
	for i, rng := 0, rand.New(rand.NewPCG(21, 22)); i < len(random); i++ {
		if random[i] = k.Key(rng.Uint64()); i%3 == 2 {
			random[i] = random[rng.IntN(i)]
		}
	}
	streams := map[string][]K{"random": random, "equal": make([]K, 5000), "nothing": nil}
	maps.Copy(streams, k.Streams)
	for name, keys := range streams {
		for _, batch := range []int{1, 7, 64, 500, 512, 1000, 4096} {
			t.Run(fmt.Sprintf("%s/batch=%d", name, batch), func(t *testing.T) {
				Verdicts(t, New(t, k.New, 0), map[K]bool{}, keys, batch)
			})
		}
	}
	c, known := New(t, k.New, 0), map[K]bool{}
	for n := range 301 {
		Verdicts(t, c, known, random[100*n:101*n], max(n, 1))
	}
	seen := make([]uint64, 16)
	c.TestAndSet(seen, random[:1000])
	if n := testing.AllocsPerRun(10, func() { c.TestAndSet(seen, random[:1000]) }); n != 0 {
		t.Errorf("%v allocations a call", n)
	}
	Panics(t, "seen", func() { c.TestAndSet(seen[:1], random[:65]) })
}

// Verdicts feeds keys in batches and compares verdicts with a map's.
func Verdicts[K comparable](t *testing.T, c engine.Counter[K], known map[K]bool, keys []K, batch int) {
	t.Helper()
	seen := make([]uint64, batch/64+2)
	for at := 0; at < len(keys); at += batch {
		part := keys[at:min(at+batch, len(keys))]
		for i := range seen {
			seen[i] = ^uint64(0)
		}
		c.TestAndSet(seen, part)
		for i, k := range part {
			if got := seen[i/64]>>(i%64)&1 != 0; got != known[k] {
				t.Fatalf("element %d (%v): seen %v, want %v", at+i, k, got, known[k])
			}
			known[k] = true
		}
		checkTail(t, seen, len(part))
	}
	if n := c.Counts().Distinct; n != uint64(len(known)) {
		t.Fatalf("%d distinct, want %d", n, len(known))
	}
}

// checkTail wants the rest of the words that n elements cover clear, and the words after
// those, which were all ones, untouched.
func checkTail(t *testing.T, seen []uint64, n int) {
	t.Helper()
	if n%64 != 0 && seen[n/64]>>(n%64) != 0 {
		t.Fatalf("batch of %d: bits above it are not cleared", n)
	}
	for _, word := range seen[(n+63)/64:] {
		if word != ^uint64(0) {
			t.Fatalf("batch of %d: words beyond it changed", n)
		}
	}
}

// savedCounter is a counter that can be saved.
type savedCounter[K any] interface {
	engine.Counter[K]
	Snapshotter
}

// SavedCounterKind is a kind of counter that can be saved.
type SavedCounterKind[K comparable, F savedCounter[K]] struct {
	CounterKind[K, F]
	Restore restorer[F]
	Hard    []K            // more keys of a line than it holds
	Copied  map[string]int // memory that counters may take which are copied while they grow
}

// Test checks the properties of all counters that can be saved.
func (k SavedCounterKind[K, F]) Test(t *testing.T) {
	k.CounterKind.Test(t)
	t.Run("damaged", func(t *testing.T) { Restore(t, k.working(t), k.Restore) })
	keys, seen := make([]K, 400_000), make([]uint64, 400_000/64+1)
	for i, rng := 0, rand.NewPCG(71, 0); i < len(keys); i++ {
		keys[i] = k.Key(rng.Uint64())
	}
	t.Run("cut", func(t *testing.T) {
		Restarts(t, New(t, k.New, 0), New(t, k.New, 0), k.Restore, slices.Concat(k.Hard, keys[:20_000], keys[:5000]))
	})
	for name, limit := range k.Copied {
		t.Run("copied/"+name, func(t *testing.T) {
			c := New(t, k.New, 0)
			any(c).(engine.Bounded).Limit(limit)
			Copies(t, c, len(keys)/4, len(keys), func(from, to int) { c.TestAndSet(seen, keys[from:to]) })
		})
	}
}

// working returns a small counter, after some work.
func (k SavedCounterKind[K, F]) working(t testing.TB) F {
	c := New(t, k.New, 0)
	c.TestAndSet(make([]uint64, len(k.Hard)/64+1), k.Hard)
	return c
}

// Fuzz reads snapshots of the kind.
func (k SavedCounterKind[K, F]) Fuzz(f *testing.F) {
	FuzzRestore(f, k.Restore, func(c F) {
		c.TestAndSet(make([]uint64, len(k.Hard)/64+1), k.Hard)
		c.Counts()
	}, k.working(f))
}
