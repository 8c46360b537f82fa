// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"github.com/flowdedup/flowdedup/layout"
)

// listed checks that contents are the given words, without words outside of the sample.
func listed(t *testing.T, at int, c Contents, want []uint64) {
	t.Helper()
	want = slices.DeleteFunc(slices.Clone(want), func(word uint64) bool { return word&(1<<c.Level-1) != 0 })
	slices.Sort(want)
	want = slices.Compact(want)
	if got := slices.Collect(c.Words); !slices.Equal(got, want) || c.Count != uint64(len(want)) {
		t.Fatalf("after %d elements, level %d: %d words, counted as %d, want %d", at, c.Level, len(got), c.Count, len(want))
	}
}

// TestContents lists counters at many places of their growth, and while they are thinned.
func TestContents(t *testing.T) {
	elements := 60_000
	if testing.Short() {
		elements = 20_000
	}
	for _, limit := range []int{0, 16 << 10} {
		key := [16]byte{1, 2, 3}
		v4, err := NewIPv4Rows(key, 0)
		rows, err2 := NewDigestRows(0)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		defer v4.Close()
		defer rows.Close()
		sketched := NewSketchedIPv4(key)
		if limit > 0 {
			v4.Limit(limit)
			rows.Limit(8 * limit)
		}
		var v4Words, rowWords []uint64
		rng := rand.New(rand.NewPCG(5, 6))
		var seen [4]uint64
		for at := 0; at < elements; {
			n := 1 + rng.IntN(256)
			addrs, digests, permuted := make([]uint32, n), make([]digest.Digest, n), make([]uint32, n)
			for i := range addrs {
				addrs[i], digests[i] = rng.Uint32()>>rng.UintN(2), digest.Digest{rng.Uint64() >> rng.UintN(2)}
				if rng.IntN(1000) == 0 {
					digests[i][0] = 0
				}
				rowWords = append(rowWords, max(1, digests[i][0]))
			}
			v4.permute.Permute(permuted, addrs)
			for _, word := range permuted {
				v4Words = append(v4Words, uint64(word))
			}
			v4.TestAndSet(seen[:], addrs)
			rows.TestAndSet(seen[:], digests)
			sketched.TestAndSet(seen[:], addrs)
			if at += n; rng.IntN(at/100+1) == 0 {
				listed(t, at, v4.Contents(), v4Words)
				listed(t, at, rows.Contents(), rowWords)
			}
		}
		listed(t, elements, v4.Contents(), v4Words)
		listed(t, elements, rows.Contents(), rowWords)
		if limit > 0 {
			if v4.Contents().Level == 0 || rows.Contents().Level == 0 {
				t.Error("the bounded counters were never thinned")
			}
			continue
		}
		filled := NewSketchedIPv4(key)
		filled.Fill(v4.Contents())
		if filled.sketch.Estimate() != sketched.sketch.Estimate() {
			t.Error("a sketch of the words differs from that of the addresses")
		}
	}
}

// TestReferenceContents lists the references.
func TestReferenceContents(t *testing.T) {
	addrs, digests := NewIPv4Map(), NewDigestMap()
	addrs.TestAndSet(make([]uint64, 1), []uint32{7, 1 << 31, 0, 7, 64, 63})
	listed(t, 4, addrs.Contents(), []uint64{0, 7, 63, 64, 1 << 31})
	digests.TestAndSet(make([]uint64, 1), []digest.Digest{{9, 1}, {0, 5}, {9, 2}})
	listed(t, 3, digests.Contents(), []uint64{1, 9})
}

// TestBitmapContents lists a line of a bitmap.
func TestBitmapContents(t *testing.T) {
	arena, err := layout.NewArena(layout.BitmapLines)
	if err != nil {
		t.Skipf("no memory for the bitmap: %v", err)
	}
	defer arena.Close()
	lines := arena.Lines()
	lines[5] = layout.Line{1 << 3, 0, 0, 0, 0, 0, 0, 1 << 63}
	if got := exactWords(nil, lines, 5); !slices.Equal(got, []uint64{5<<9 | 3, 5<<9 | 511}) {
		t.Errorf("words %d", got)
	}
}

// TestSketchedSnapshot restores sketches, and refuses damaged ones.
func TestSketchedSnapshot(t *testing.T) {
	s := NewSketchedIPv4(check.SavedSecret.AESKey(engine.UsePermutation))
	s.TestAndSet(make([]uint64, 1), []uint32{1, 2, 3})
	saved := check.Saved(t, s)
	again := NewSketchedIPv4([16]byte{})
	if err := again.Restore(bytes.NewReader(saved), check.SavedConfig); err != nil || again.Counts() != s.Counts() {
		t.Errorf("restored %v, %v", again.Counts(), err)
	}
	for _, cut := range []int{len(saved) - 1, len(saved) / 2} {
		if again.Restore(bytes.NewReader(saved[:cut]), check.SavedConfig) == nil {
			t.Errorf("restored from %d of %d bytes", cut, len(saved))
		}
	}
	saved[len(saved)-100] ^= 1
	if again.Restore(bytes.NewReader(saved), check.SavedConfig) == nil {
		t.Error("restored from a damaged snapshot")
	}
}
