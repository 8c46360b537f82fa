// SPDX-License-Identifier: Apache-2.0

package counts

import (
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// many returns words that no other call returns.
func many(seed uint64, n int) []uint64 {
	rng := rand.New(rand.NewPCG(seed, 77))
	words := make([]uint64, n)
	for i := range words {
		words[i] = rng.Uint64() | 1
	}
	return words
}

// promise sends the first piece of a file that a site says to have.
func promise(s *Store, site string, size, start int64, data int) string {
	p := hubclient.CountsPart{ID: [32]byte{1}, Size: size, Start: start, Data: make([]byte, data)}
	return string(s.Take(site, p.Append(nil), now))
}

// TestPromise has a site announce files of all sizes, for windows of all times, and never
// send them: the files of other sites stay, and they go on.
func TestPromise(t *testing.T) {
	const limit = 100_000
	s, _ := open(t, t.TempDir(), limit)
	for n := range 3 {
		if err := send(s, "b", hour(n), countsOf(t, "b", hour(n), many(uint64(n), 1000))); err != nil {
			t.Fatal(err)
		}
	}
	had := s.Totals()
	for _, size := range []int64{1, limit / 2, limit/2 + 1, limit - 1, limit, limit + 1, math.MaxInt32, math.MaxInt64 - 1, math.MaxInt64} {
		for _, start := range []int64{math.MinInt64, math.MinInt64 + 1, -1 << 62, 0, hour(0), hour(1), hour(20), math.MaxInt64} {
			answer := promise(s, "a", size, start, int(min(size, 100)))
			if size > limit/2 && !strings.Contains(answer, "refused") {
				t.Errorf("%d bytes at %d: %s", size, start, answer)
			}
			if got := s.Totals(); got.Files != had.Files || got.Bytes != had.Bytes || got.Evicted != 0 || got.Coming > 1 {
				t.Fatalf("%d bytes at %d: %+v, had %+v", size, start, got, had)
			}
		}
	}
	if err := send(s, "b", hour(3), countsOf(t, "b", hour(3), many(3, 1000))); err != nil {
		t.Error(err)
	}
}

// TestExpires has an upload stand still: it is dropped, and its disk space is freed.
func TestExpires(t *testing.T) {
	folder := t.TempDir()
	log := &warnings{}
	s, err := Open(Config{Folder: folder, Limit: 1 << 20, Key: testKey, Log: log, Settle: time.Millisecond, Expire: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if answer := promise(s, "a", 1000, hour(1), 10); strings.Contains(answer, "refused") {
		t.Fatal(answer)
	}
	if !wait.For(func() bool { return s.Totals().Coming == 0 }) {
		t.Fatal("it never expires")
	}
	left, err := os.ReadDir(folder + "/" + incoming)
	if err != nil || len(left) != 0 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
	if !strings.Contains(log.all(), "counts of a: a file stood still at 10 of 1000 bytes") {
		t.Error(log.all())
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestShare has one of two sites send without end, valid files for ever newer windows: the
// other keeps its files, and evictions are counted and logged.
func TestShare(t *testing.T) {
	const limit = 100_000
	folder := t.TempDir()
	s, log := open(t, folder, limit)
	for n := range 3 {
		if err := send(s, "b", hour(n), countsOf(t, "b", hour(n), many(uint64(n), 1000))); err != nil {
			t.Fatal(err)
		}
	}
	settled(t, s)
	for n := range 60 {
		start := hour(n)
		if err := send(s, "a", start, countsOf(t, "a", start, many(uint64(100+n), 1000))); err != nil && !strings.Contains(err.Error(), "clock") {
			t.Fatal(n, err)
		}
		if got := s.Totals(); got.Bytes > limit {
			t.Fatalf("%+v", got)
		}
	}
	files := map[string]int{}
	for _, w := range s.windows {
		for _, f := range w.files {
			files[f.site]++
		}
	}
	if files["b"] != 3 || files["a"] == 0 || s.Totals().Evicted == 0 {
		t.Errorf("%v, %+v", files, s.Totals())
	}
	if !strings.Contains(log.all(), "removed for new ones") {
		t.Error("no warning: ", log.all())
	}
	settled(t, s)
	again, _ := open(t, folder, limit)
	if again.Totals().Bytes != s.Totals().Bytes || again.Totals().Files != s.Totals().Files {
		t.Errorf("opened again %+v, had %+v", again.Totals(), s.Totals())
	}
}

// TestManyWindows has one of two sites send files for ever newer windows that are short: the other
// keeps its files.
func TestManyWindows(t *testing.T) {
	const most = 20
	s, err := Open(Config{Folder: t.TempDir(), Limit: 1 << 20, Key: testKey, Log: &warnings{}, Settle: time.Millisecond, Windows: most})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		if err := send(s, "b", hour(n), countsOf(t, "b", hour(n), many(uint64(n), 10))); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 3 * most {
		start := hour(5) + int64(n)*int64(time.Second)
		if err := send(s, "a", start, windowOf(t, "a", start, start+int64(time.Second))); err != nil {
			t.Fatal(n, err)
		}
	}
	files := map[string]int{}
	for _, w := range s.windows {
		for _, f := range w.files {
			files[f.site]++
		}
	}
	if files["b"] != 3 || len(s.windows) != most {
		t.Errorf("%v in %d windows", files, len(s.windows))
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestLongWindow refuses a window whose length overflows, or that covers all others.
func TestLongWindow(t *testing.T) {
	s, _ := open(t, t.TempDir(), 1<<20)
	for _, end := range []int64{math.MaxInt64, hour(1) + 2*int64(longest)} {
		for _, start := range []int64{math.MinInt64 + 1, -1 << 62} {
			if err := send(s, "b", start, windowOf(t, "b", start, end)); err == nil || !strings.Contains(err.Error(), "longer than a year") {
				t.Errorf("%d to %d: %v", start, end, err)
			}
		}
	}
}
