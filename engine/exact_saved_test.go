package engine

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
)

// savedExactV4 returns a counter that can be restored.
func newSavedExactV4(t testing.TB) *ExactV4 {
	t.Helper()
	e, err := NewExactV4(savedSecret.AESKey(KeyBijection), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func TestExactV4Snapshot(t *testing.T) {
	rng := rand.New(rand.NewPCG(55, 55))
	addrs := aimed(3000)
	for range 20_000 {
		addrs = append(addrs, rng.Uint32N(15_000)*0x9e3779b1)
	}
	whole, cut := newSavedExactV4(t), newSavedExactV4(t)
	checkRestarts(t, whole, cut, RestoreExactV4, addrs)
	if whole.rows.table.spilled.bytes == 0 || len(whole.rows.table.arena.Lines()) == whole.first {
		t.Error("nothing spilled, or nothing grew: that tests nothing")
	}
}

func TestDigestRowsSnapshot(t *testing.T) {
	digests := append(oneLine(3000)[2:], landmarkDigests(57, 20_000)...)
	digests = append(digests, digests[:5000]...)
	whole, cut := newDigestRows(t, 0), newDigestRows(t, 0)
	checkRestarts(t, whole, cut, RestoreDigestRows, digests)
	if whole.rows.table.spilled.bytes == 0 || len(whole.rows.table.arena.Lines()) == whole.first {
		t.Error("nothing spilled, or nothing grew: that tests nothing")
	}
}

// A counter of another secret's permutation is not restored under this one.
func TestRestoreExactV4Permutation(t *testing.T) {
	e, err := NewExactV4([16]byte{1}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := RestoreExactV4(bytes.NewReader(saved(t, e)), savedConfig); !errors.Is(err, ErrSnapshot) {
		t.Errorf("%v", err)
	}
}

func TestExactV4Restore(t *testing.T) {
	e := newSavedExactV4(t)
	e.TestAndSet(make([]uint64, 64), aimed(2000))
	checkRestore(t, e, RestoreExactV4)
}

func TestDigestRowsRestore(t *testing.T) {
	r := newDigestRows(t, 0)
	feed(r, landmarkDigests(51, 3000), 100)
	checkRestore(t, r, RestoreDigestRows)
}

func FuzzRestoreExactV4(f *testing.F) {
	e := newSavedExactV4(f)
	e.TestAndSet(make([]uint64, 64), aimed(2000))
	fuzzRestore(f, RestoreExactV4, func(e *ExactV4) {
		e.TestAndSet(make([]uint64, 64), aimed(2000))
		e.Counts()
	}, e)
}

func FuzzRestoreDigestRows(f *testing.F) {
	r := newDigestRows(f, 0)
	feed(r, landmarkDigests(51, 3000), 100)
	fuzzRestore(f, RestoreDigestRows, func(r *DigestRows) {
		feed(r, repeating(15, 2000), 2000)
		r.Counts()
	}, r)
}

// TestExactCopy copies counters while they grow and are thinned: what comes out is what they
// held at the start.
func TestExactCopy(t *testing.T) {
	const n = 400_000
	digests := landmarkDigests(71, n)
	addrs := make([]uint32, n)
	for i := range digests {
		addrs[i] = uint32(digests[i][0])
	}
	seen := make([]uint64, n/64+1)
	exact := newSavedExactV4(t)
	t.Run("exact rows", func(t *testing.T) {
		checkCopies(t, exact, n/4, n, func(from, to int) { exact.TestAndSet(seen, addrs[from:to]) })
	})
	thinned := newDigestRows(t, 0)
	thinned.Limit(1 << 20)
	for name, r := range map[string]*DigestRows{
		"digest rows": newDigestRows(t, 0), "thinned": thinned,
	} {
		t.Run(name, func(t *testing.T) {
			checkCopies(t, r, n/4, n, func(from, to int) { r.TestAndSet(seen, digests[from:to]) })
		})
	}
}

func TestExactV4State(t *testing.T) {
	e := newSavedExactV4(t)
	e.TestAndSet(make([]uint64, 64), aimed(2000))
	checkState(t, "spilled", e, "d93b81887f96ee2d")
	addrs := make([]uint32, 40_000)
	for i := range addrs {
		addrs[i] = uint32(i) * 0x9e3779b1
	}
	e.Limit(64 << 10)
	seen := make([]uint64, len(addrs)/64+1)
	for at := 0; !e.rows.thinning || e.level == 0; at += 512 {
		e.TestAndSet(seen, addrs[at:at+512])
	}
	checkState(t, "thinning", e, "224d62e478e52c5b")
}

func TestDigestRowsState(t *testing.T) {
	r := newDigestRows(t, 0)
	feed(r, oneLine(3000), 100)
	checkState(t, "spilled", r, "4e612a86d4ae6550")
	digests := landmarkDigests(83, 100_000)
	for at := 0; !r.rows.growing() || r.rows.passed == 0; at += 512 {
		feed(r, digests[at:at+512], 512)
	}
	checkState(t, "growing", r, "a0c1472a4ff7a483")
}
