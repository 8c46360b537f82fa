package distinct

import (
	"bytes"
	"errors"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"github.com/flowdedup/flowdedup/engine/secret"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"math/rand/v2"
	"testing"
)

// savedIPv4 returns a counter that can be restored.
func newSavedIPv4(t testing.TB) *IPv4Rows {
	t.Helper()
	e, err := NewIPv4Rows(check.SavedSecret.AESKey(secret.Permutation), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func TestIPv4RowsSnapshot(t *testing.T) {
	rng := rand.New(rand.NewPCG(55, 55))
	addrs := aimed(3000)
	for range 20_000 {
		addrs = append(addrs, rng.Uint32N(15_000)*0x9e3779b1)
	}
	whole, cut := newSavedIPv4(t), newSavedIPv4(t)
	check.Restarts(t, whole, cut, RestoreIPv4Rows, addrs)
	if whole.rows.Table.Overflow.Bytes == 0 || len(whole.rows.Table.Arena.Lines()) == whole.first {
		t.Error("nothing spilled, or nothing grew: that tests nothing")
	}
}

func TestDigestRowsSnapshot(t *testing.T) {
	digests := append(oneLine(3000)[2:], check.Digests(57, 20_000)...)
	digests = append(digests, digests[:5000]...)
	whole, cut := newDigestRows(t, 0), newDigestRows(t, 0)
	check.Restarts(t, whole, cut, RestoreDigestRows, digests)
	if whole.rows.Table.Overflow.Bytes == 0 || len(whole.rows.Table.Arena.Lines()) == whole.first {
		t.Error("nothing spilled, or nothing grew: that tests nothing")
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

func TestIPv4RowsRestore(t *testing.T) {
	e := newSavedIPv4(t)
	e.TestAndSet(make([]uint64, 64), aimed(2000))
	check.Restore(t, e, RestoreIPv4Rows)
}

func TestDigestRowsRestore(t *testing.T) {
	r := newDigestRows(t, 0)
	check.Feed(r, check.Digests(51, 3000), 100)
	check.Restore(t, r, RestoreDigestRows)
}

func FuzzRestoreIPv4Rows(f *testing.F) {
	e := newSavedIPv4(f)
	e.TestAndSet(make([]uint64, 64), aimed(2000))
	check.FuzzRestore(f, RestoreIPv4Rows, func(e *IPv4Rows) {
		e.TestAndSet(make([]uint64, 64), aimed(2000))
		e.Counts()
	}, e)
}

func FuzzRestoreDigestRows(f *testing.F) {
	r := newDigestRows(f, 0)
	check.Feed(r, check.Digests(51, 3000), 100)
	check.FuzzRestore(f, RestoreDigestRows, func(r *DigestRows) {
		check.Feed(r, check.Repeating(15, 2000), 2000)
		r.Counts()
	}, r)
}

// TestExactCopy copies counters while they grow and are thinned: what comes out is what they
// held at the start.
func TestExactCopy(t *testing.T) {
	const n = 400_000
	digests := check.Digests(71, n)
	addrs := make([]uint32, n)
	for i := range digests {
		addrs[i] = uint32(digests[i][0])
	}
	seen := make([]uint64, n/64+1)
	exact := newSavedIPv4(t)
	t.Run("exact rows", func(t *testing.T) {
		check.Copies(t, exact, n/4, n, func(from, to int) { exact.TestAndSet(seen, addrs[from:to]) })
	})
	thinned := newDigestRows(t, 0)
	thinned.Limit(1 << 20)
	for name, r := range map[string]*DigestRows{
		"digest rows": newDigestRows(t, 0), "thinned": thinned,
	} {
		t.Run(name, func(t *testing.T) {
			check.Copies(t, r, n/4, n, func(from, to int) { r.TestAndSet(seen, digests[from:to]) })
		})
	}
}

func TestIPv4RowsState(t *testing.T) {
	e := newSavedIPv4(t)
	e.TestAndSet(make([]uint64, 64), aimed(2000))
	check.State(t, "spilled", e, "d93b81887f96ee2d")
	addrs := make([]uint32, 40_000)
	for i := range addrs {
		addrs[i] = uint32(i) * 0x9e3779b1
	}
	e.Limit(64 << 10)
	seen := make([]uint64, len(addrs)/64+1)
	for at := 0; !e.rows.Thinning || e.level == 0; at += 512 {
		e.TestAndSet(seen, addrs[at:at+512])
	}
	check.State(t, "thinning", e, "224d62e478e52c5b")
}

func TestDigestRowsState(t *testing.T) {
	r := newDigestRows(t, 0)
	check.Feed(r, oneLine(3000), 100)
	check.State(t, "spilled", r, "4e612a86d4ae6550")
	digests := check.Digests(83, 100_000)
	for at := 0; !r.rows.Growing() || r.rows.Passed == 0; at += 512 {
		check.Feed(r, digests[at:at+512], 512)
	}
	check.State(t, "growing", r, "a0c1472a4ff7a483")
}
