package asm

import "testing"

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
		{exactBitLines, 1<<11 - 1, 4, "c568d24ebfda3a23"},
	}
	digests, _, _ := goldenStream()
	words, spill, seen := make([]uint32, len(digests)), make([]uint32, len(digests)), make([]uint64, (len(digests)+63)/64)
	forEveryLevel(t, func(t *testing.T) {
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
