package distinct

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/bitset"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"math/rand/v2"
	"slices"
	"testing"
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

// Where memory ends, bounds hold in 95 of 100 cases at any moment: 0 of 1000 binomial variables of
// 300 trials with that chance have less than 264 hits (88 %; the probability is 1e-6).
func TestSampledBounds(t *testing.T) {
	t.Run("ExactV4", func(t *testing.T) { testSampledBounds(t, sampledV4, freshAddress) })
	t.Run("DigestRows", func(t *testing.T) { testSampledBounds(t, sampledDigests, freshDigest) })
}

func testSampledBounds[K comparable](t *testing.T, create func(testing.TB, int) sampledCounter[K], fresh func(*rand.Rand) func() K) {
	const trials = 300
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
	if hits < 264 || widest > 0.1 {
		t.Errorf("bounds hold in %d of %d cases, and are up to %.3f wide", hits, trials, widest)
	}
}

// What is told of elements does not depend on batches, an element that is new is never told as seen
// before it is sampled, and one that is told as new never is again.
func TestSampledVerdicts(t *testing.T) {
	t.Run("ExactV4", func(t *testing.T) { testSampledVerdicts(t, sampledV4, freshAddress) })
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
	told := map[K]bool{}
	for i, k := range keys {
		if want[i/64]>>(i%64)&1 != 0 {
			continue
		}
		if told[k] {
			t.Fatalf("element %d is new twice", i)
		}
		told[k] = true
	}
	if len(told) < 8000 || len(told) > 50_000 {
		t.Errorf("%d elements were told as new", len(told))
	}
}

// A counter that may grow again does so, and Needs tells how far.
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

// Counters that are saved and restored, also while they grow or are thinned, go on as one that was not.
func TestSampledSnapshot(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 15))
	whole, cut := newSavedIPv4(t), newSavedIPv4(t)
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
		for at := 0; at < len(digests) && (r.rows.Lines() < 2048 || !r.rows.Passing() || r.rows.Passed == 0); at += 100 {
			r.TestAndSet(make([]uint64, 2), digests[at:at+100])
		}
		if !r.rows.Passing() || r.rows.Passed == 0 {
			t.Fatalf("%s: no pass", name)
		}
		again := check.Restart(t, r, RestoreDigestRows)
		if !again.rows.Passing() || again.rows.Passed != r.rows.Passed || again.rows.Thinning != (name == "thinning") {
			t.Errorf("%s: %d lines were passed, want %d", name, again.rows.Passed, r.rows.Passed)
		}
		check.Restarts(t, r, again, RestoreDigestRows, digests)
	}
}
