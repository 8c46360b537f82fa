// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/bitset"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/layout"
)

// sampledCounter is a counter of exact rows that may take no more than 128 KiB.
type sampledCounter[K any] interface {
	engine.Counter[K]
	engine.Bounded
	check.Snapshotter
}

const sampledMemory = 128 << 10

func sampledV4(t testing.TB, trial int) sampledCounter[uint32] {
	e, err := NewIPv4Rows([16]byte{byte(trial), byte(trial >> 8), 1}, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	e.Limit(sampledMemory)
	return e
}

func sampledDigests(t testing.TB, _ int) sampledCounter[digest.Digest] {
	r := newDigestRows(t, 0)
	r.Limit(sampledMemory)
	return r
}

// repeated returns n elements, a third of which came before.
func repeated[K any](n int, rng *rand.Rand, fresh func() K) []K {
	keys := make([]K, n)
	for i := range keys {
		if keys[i] = fresh(); i > 0 && i%3 == 0 {
			keys[i] = keys[rng.IntN(i)]
		}
	}
	return keys
}

func freshAddress(rng *rand.Rand) func() uint32 { return rng.Uint32 }
func freshDigest(rng *rand.Rand) func() digest.Digest {
	return func() digest.Digest { return digest.Digest{rng.Uint64(), rng.Uint64()} }
}

// Where memory ends, bounds hold in 95 of 100 cases at any moment: a binomial variable of 120
// trials with that chance has less than 100 hits (83 %) with a probability of 1e-6.
func TestSampledBounds(t *testing.T) {
	t.Run("IPv4Rows", func(t *testing.T) { testSampledBounds(t, sampledV4, freshAddress) })
	t.Run("DigestRows", func(t *testing.T) { testSampledBounds(t, sampledDigests, freshDigest) })
}

func testSampledBounds[K comparable](t *testing.T, create func(testing.TB, int) sampledCounter[K], fresh func(*rand.Rand) func() K) {
	const trials = 120
	hits, widest := 0, 0.0
	for trial := range trials {
		rng := rand.New(rand.NewPCG(uint64(trial), 10))
		c, n := create(t, trial), 45_000+rng.IntN(45_000)
		keys, known := repeated(n, rng, fresh(rng)), map[K]bool{}
		seen := make([]uint64, n/64+1)
		c.TestAndSet(seen, keys)
		for _, k := range keys {
			known[k] = true
		}
		counts, want := c.Counts(), uint64(len(known))
		if counts.Low <= want && want <= counts.High {
			hits++
		}
		if counts.Low == counts.High || counts.Method != "sampled-rows" || counts.MemoryBytes > sampledMemory*5/4 {
			t.Fatalf("%+v of %d", counts, want)
		}
		widest = max(widest, float64(counts.High-counts.Low)/float64(want))
		c.Close()
	}
	if hits < 100 || widest > 0.1 {
		t.Errorf("bounds hold in %d of %d cases, and are up to %.3f wide", hits, trials, widest)
	}
}

// Verdicts do not depend on batches, a new element is never reported as seen before it is
// sampled, and an element reported as new never is again.
func TestSampledVerdicts(t *testing.T) {
	t.Run("IPv4Rows", func(t *testing.T) { testSampledVerdicts(t, sampledV4, freshAddress) })
	t.Run("DigestRows", func(t *testing.T) { testSampledVerdicts(t, sampledDigests, freshDigest) })
}

func testSampledVerdicts[K comparable](t *testing.T, create func(testing.TB, int) sampledCounter[K], fresh func(*rand.Rand) func() K) {
	const n = 100_000
	rng := rand.New(rand.NewPCG(11, 12))
	keys := repeated(n, rng, fresh(rng))
	var want []uint64
	for _, batch := range []int{n, 1, 700, 4096} {
		c, all := create(t, 0), make([]uint64, (n+63)/64)
		for at := 0; at < n; at += batch {
			part := keys[at:min(at+batch, n)]
			seen := make([]uint64, (len(part)+63)/64)
			c.TestAndSet(seen, part)
			bitset.Or(all, at, seen, len(part))
		}
		if want == nil {
			want = all
		}
		if !slices.Equal(all, want) {
			t.Fatalf("other verdicts in batches of %d", batch)
		}
	}
	reported := map[K]bool{}
	for i, k := range keys {
		if want[i/64]>>(i%64)&1 != 0 {
			continue
		}
		if reported[k] {
			t.Fatalf("element %d is new twice", i)
		}
		reported[k] = true
	}
	if len(reported) < 8000 || len(reported) > 50_000 {
		t.Errorf("%d elements were told as new", len(reported))
	}
}

// A counter that may grow again does so, and Needs returns the size that it needs.
func TestLimit(t *testing.T) {
	c := sampledDigests(t, 0)
	digests := check.Digests(13, 200_000)
	seen := make([]uint64, len(digests)/64+1)
	c.TestAndSet(seen, digests[:100_000])
	if now := c.Needs(0); now > sampledMemory*5/4 || c.Needs(1<<15) < 2*sampledMemory {
		t.Errorf("needs %d now, and %d for more", now, c.Needs(1<<15))
	}
	c.Limit(c.Needs(1 << 16))
	c.TestAndSet(seen, digests[100_000:])
	if now := c.Needs(0); now < 2*sampledMemory {
		t.Errorf("needs %d, may have more", now)
	}
}

// Counters that are saved and restored, also while they grow or are thinned, go on as one
// that was not.
func TestSampledSnapshot(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 15))
	whole, cut := newIPv4Rows(t, 0), newIPv4Rows(t, 0)
	whole.Limit(sampledMemory)
	cut.Limit(sampledMemory)
	check.Restarts(t, whole, cut, RestoreIPv4Rows, repeated(150_000, rng, freshAddress(rng)))
	if whole.level == 0 {
		t.Error("no sample")
	}
	rows := sampledDigests(t, 0).(*DigestRows)
	check.Restarts(t, rows, sampledDigests(t, 0).(*DigestRows), RestoreDigestRows, repeated(150_000, rng, freshDigest(rng)))
	if rows.level == 0 {
		t.Error("no sample")
	}
}

// Passes are under way at some of the moments at which TestSampledSnapshot saves.
func TestSnapshotWithinPass(t *testing.T) {
	for name, most := range map[string]int{"growing": 1 << 30, "thinning": sampledMemory} {
		r := newDigestRows(t, 0)
		r.Limit(most)
		digests := check.Digests(16, 60_000)
		for at := 0; at < len(digests) && (r.rows.Lines() < 2048 || !r.rows.Passing() || r.rows.Mark() == 0); at += 100 {
			r.TestAndSet(make([]uint64, 2), digests[at:at+100])
		}
		if !r.rows.Passing() || r.rows.Mark() == 0 {
			t.Fatalf("%s: no pass", name)
		}
		again := check.Restart(t, r, RestoreDigestRows)
		if !again.rows.Passing() || again.rows.Mark() != r.rows.Mark() || again.rows.Thinning != (name == "thinning") {
			t.Errorf("%s: the mark is %#x, want %#x", name, again.rows.Mark(), r.rows.Mark())
		}
		check.Restarts(t, r, again, RestoreDigestRows, digests)
	}
}

// TestResetOfAnySize resets counters between windows of all sizes: each has the verdicts, the counts and the words of a
// new counter, whatever the window before has left. Windows repeat elements; of some, many lie in few lines. After
// Reset all lines are empty.
func TestResetOfAnySize(t *testing.T) {
	digests := check.Digests(3, 12_000)
	restored := newDigestRows(t, 0)
	restored.TestAndSet(make([]uint64, 2), digests[:100])
	rows, v4 := []*DigestRows{newDigestRows(t, 0), check.Restart(t, restored, RestoreDigestRows)}, newIPv4Rows(t, 0)
	rows[1].Reset()
	for round, n := range []int{1, 7, 60, 100, 90, 110, 300, 60, 800, 2000, 3, 2500, 5, 80, 4000, 80, 12_000, 80} {
		for _, near := range []int{0, 20, 200} {
			window := slices.Clone(digests[:n])
			for i := range window[:min(near, n)] {
				window[i][0] = window[i][0]>>7 | uint64(round)<<60
			}
			window = append(window, window[:n/3]...)
			addrs := make([]uint32, len(window))
			for i, d := range window {
				addrs[i] = uint32(d[1])
			}
			for i, r := range rows {
				sameAsNew(t, fmt.Sprintf("digests, counter %d, %d, %d near", i, n, near), r, newDigestRows(t, 0), window)
			}
			sameAsNew(t, fmt.Sprintf("%d addresses", n), v4, newIPv4Rows(t, 0), addrs)
			for i, r := range rows {
				if !r.Reset() {
					rows[i] = newDigestRows(t, 0)
				}
				if i := slices.IndexFunc(rows[i].rows.Table.Arena.Lines(), func(l layout.Line) bool { return l != layout.Line{} }); i >= 0 {
					t.Fatalf("%d digests: line %d is not empty", n, i)
				}
			}
			if !v4.Reset() {
				v4 = newIPv4Rows(t, 0)
			}
		}
	}
}

// counted is a counter that lists its elements.
type counted[E any] interface {
	engine.Counter[E]
	Lister
}

// sameAsNew compares a counter with a new one, step by step.
func sameAsNew[E any](t *testing.T, name string, c, fresh counted[E], elements []E) {
	t.Helper()
	for at, n := 0, 1; at < len(elements); at, n = at+n, min(7*n, 900) {
		part := elements[at:min(at+n, len(elements))]
		got, want := make([]uint64, len(part)/64+1), make([]uint64, len(part)/64+1)
		c.TestAndSet(got, part)
		fresh.TestAndSet(want, part)
		if !slices.Equal(got, want) || c.Counts() != fresh.Counts() {
			t.Fatalf("%s: verdicts %x of those from %d on, %+v, want %x, %+v", name, got, at, c.Counts(), want, fresh.Counts())
		}
	}
	if words := slices.Collect(c.Contents().Words); !slices.Equal(words, slices.Collect(fresh.Contents().Words)) || uint64(len(words)) != c.Contents().Count {
		t.Fatalf("%s: %d words that differ", name, len(words))
	}
}

// TestSized checks that counters that start with MemoryFor's size hold the given number
// of elements without growing.
func TestSized(t *testing.T) {
	address := func(d digest.Digest) uint32 { return uint32(d[1]) }
	for _, n := range []int{0, 1, 1000, 5120, 5121, 200_000} {
		digests := check.Digests(91, n)
		addrs := make([]uint32, n)
		for i, d := range digests {
			addrs[i] = address(d)
		}
		seen := make([]uint64, n/64+1)

		small := newIPv4Rows(t, 0)
		e := newIPv4Rows(t, small.MemoryFor(uint64(n)))
		e.Populate()
		first := e.Counts().MemoryBytes
		e.TestAndSet(seen, addrs)
		if got := len(e.rows.Table.Arena.Lines()) * 64; got != first {
			t.Errorf("IPv4Rows of %d bytes grew to %d with %d addresses", first, got, n)
		}

		r := newDigestRows(t, newDigestRows(t, 0).MemoryFor(uint64(n)))
		r.Populate()
		first = r.Counts().MemoryBytes
		r.TestAndSet(seen, digests)
		if got := len(r.rows.Table.Arena.Lines()) * 64; got != first {
			t.Errorf("DigestRows of %d bytes grew to %d with %d digests", first, got, n)
		}

		l := newScalableBloom(t, ScalableBloomConfig{})
		l.TestAndSet(seen, digests[:n/2])
		next := newScalableBloom(t, ScalableBloomConfig{Memory: l.MemoryFor(uint64(n))})
		next.Populate()
		next.TestAndSet(seen, digests)
		if len(next.filters) != 1 {
			t.Errorf("ScalableBloom of %d bytes has %d parts with %d digests", next.filters[0].arena.Bytes(), len(next.filters), n)
		}
	}
}

// A counter of another secret's permutation is not restored under this one.
func TestRestoreIPv4RowsPermutation(t *testing.T) {
	e, err := NewIPv4Rows([16]byte{1}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := RestoreIPv4Rows(bytes.NewReader(check.Saved(t, e)), check.SavedConfig); !errors.Is(err, snapshot.ErrInvalid) {
		t.Errorf("%v", err)
	}
}

func TestIPv4RowsState(t *testing.T) {
	e := newIPv4Rows(t, 0)
	e.TestAndSet(make([]uint64, 64), aimed(2000))
	check.State(t, "overflow", e, "b25fc926c2c78cf0")
	addrs := make([]uint32, 40_000)
	for i := range addrs {
		addrs[i] = uint32(i) * 0x9e3779b1
	}
	e.Limit(64 << 10)
	seen := make([]uint64, len(addrs)/64+1)
	for at := 0; !e.rows.Thinning || e.level == 0; at += 512 {
		e.TestAndSet(seen, addrs[at:at+512])
	}
	check.State(t, "thinning", e, "f55ce4c2f42a382d")
}

func TestDigestRowsState(t *testing.T) {
	r := newDigestRows(t, 0)
	check.Feed(r, oneLine(3000), 100)
	check.State(t, "overflow", r, "7593ce45ad4c457a")
	digests := check.Digests(83, 100_000)
	for at := 0; !r.rows.Growing() || r.rows.Mark() == 0; at += 512 {
		check.Feed(r, digests[at:at+512], 512)
	}
	check.State(t, "growing", r, "42c67a27d424a3c6")
}

// BenchmarkPause has counters grow from nothing to 8 million random elements, and reports
// the longest single call and the one that 1 of 1000 exceed. Other work on the machine
// shows in the longest: take the least of several runs.
func BenchmarkPause(b *testing.B) {
	address := func(rng *rand.PCG) uint32 { return uint32(rng.Uint64()) }
	random := func(rng *rand.PCG) digest.Digest { return digest.Digest{rng.Uint64(), rng.Uint64()} }
	b.Run("counter=ExactV4", func(b *testing.B) {
		check.MeasurePause(b, func() engine.Counter[uint32] { return newIPv4Rows(b, 0) }, address)
	})
	b.Run("counter=DigestRows", func(b *testing.B) {
		check.MeasurePause(b, func() engine.Counter[digest.Digest] { return newDigestRows(b, 0) }, random)
	})
	b.Run("counter=Landmark", func(b *testing.B) {
		check.MeasurePause(b, func() engine.Counter[digest.Digest] { return newScalableBloom(b, ScalableBloomConfig{}) }, random)
	})
}
