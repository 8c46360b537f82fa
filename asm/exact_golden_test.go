package asm

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"testing"

	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
	"github.com/flowdedup/flowdedup/asm/internal/splitmix"
)

// goldenStream is the same stream of elements on every CPU: half of them come again.
func goldenStream() (digests []Digest) {
	var state uint64
	for i := range uint64(5000) {
		d := Digest{splitmix.Next(&state), splitmix.Next(&state)}
		if r := splitmix.Next(&state); i > 0 && r&1 == 0 {
			d = digests[r>>1%i]
		}
		splitmix.Next(&state) // leaves out a number that others than these digests came of
		digests = append(digests, d)
	}
	return digests
}

// goldenSum returns the start of a hash of words.
func goldenSum(t *testing.T, words ...any) string {
	t.Helper()
	h := sha256.New()
	for _, w := range words {
		if err := binary.Write(h, binary.LittleEndian, w); err != nil {
			t.Fatal(err)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// TestExactGolden has rows overflow: verdicts, spills and memory of earlier versions and of
// all CPUs are the same.
func TestExactGolden(t *testing.T) {
	kinds := []struct {
		lines int
		keep  uint32 // the bits of a random word that make a word
		used  int    // lines that these words have
		want  string
	}{
		{2, 1<<31 | 0xff, 2, "237b9716fccfc8d5"},
		{1 << 16, 3<<16 | 0x3f, 4, "521bd595cb5fa94e"},
		{Exact16Lines, 1<<17 - 1, 4, "6d7c95f65aaf2525"},
		{bitmapLines, 1<<11 - 1, 4, "c568d24ebfda3a23"},
	}
	digests := goldenStream()
	words, spill, seen := make([]uint32, len(digests)), make([]uint32, len(digests)), make([]uint64, (len(digests)+63)/64)
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		for _, k := range kinds {
			for i, d := range digests {
				words[i] = uint32(d[1]) & k.keep
			}
			lines := make([][8]uint64, k.lines)
			testAndSet, _ := exactKernel(k.lines)
			spilled := spill[:testAndSet(lines, seen, words, spill)]
			if got := goldenSum(t, lines[:k.used], seen, spilled); got != k.want {
				t.Errorf("%d lines: %q, want %q", k.lines, got, k.want)
			}
		}
	})
}
