package asm

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/internal/cpu"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
	"github.com/flowdedup/flowdedup/asm/internal/splitmix"
)

// TestExactRowLevels compares verdicts, spills and memory for every batch length
// from 0 to 300, from empty to full rows, with guard pages around all buffers.
func TestExactRowLevels(t *testing.T) {
	for _, c := range []struct {
		name       string
		lines      int
		testAndSet func(lines [][8]uint64, seen []uint64, permuted, spill []uint32) int
	}{
		{"32", 2, TestAndSetExact32},
		{"32", 64, TestAndSetExact32},
		{"16", Exact16Lines, TestAndSetExact16},
		{"64", 2, exact64Words},
		{"64", 64, exact64Words},
	} {
		t.Run(c.name, func(t *testing.T) {
			kerneltest.ForLevels(t, func(t *testing.T) {
				for _, front := range []bool{false, true} {
					compareExact(t, c.lines, front, c.testAndSet)
				}
			})
		})
	}
}

func compareExact(t *testing.T, lines int, front bool, testAndSet func([][8]uint64, []uint64, []uint32, []uint32) int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(lines), 3))
	const most = 300
	filter, model := kerneltest.Guarded[[8]uint64](t, lines, front), make([][8]uint64, lines)
	memory, spills := kerneltest.Guarded[uint32](t, most, front), kerneltest.Guarded[uint32](t, most, front)
	words := kerneltest.Guarded[uint64](t, (most+63)/64, front)
	for n := range most + 1 {
		from, used := most-n, len(words)-(n+63)/64
		if front {
			from, used = 0, 0
		}
		permuted, spill, seen := memory[from:from+n], spills[from:from+n], words[used:used+(n+63)/64]
		fillWords(rng, permuted, n)
		want, wantSpill := slices.Clone(seen), make([]uint32, n)
		var wanted int
		got := testAndSet(filter, seen, permuted, spill)
		kerneltest.AtLevel(cpu.Generic, func() { wanted = testAndSet(model, want, permuted, wantSpill) })
		if got != wanted || !slices.Equal(seen, want) || !slices.Equal(spill[:got], wantSpill[:wanted]) {
			t.Fatalf("%d elements: verdicts or spills differ", n)
		}
		if n%16 == 0 && !slices.Equal(filter, model) {
			t.Fatalf("%d elements: memory differs", n)
		}
	}
	if !slices.Equal(filter, model) {
		t.Fatal("memory differs")
	}
}

// TestExact64Levels is TestExactRowLevels with guard pages around digests, and with halves
// that are 0.
func TestExact64Levels(t *testing.T) {
	const most, lines = 300, 64
	kerneltest.ForLevels(t, func(t *testing.T) {
		for _, front := range []bool{false, true} {
			rng := rand.New(rand.NewPCG(lines, 4))
			memory := kerneltest.Guarded[Digest](t, most, front)
			filter, model := make([][8]uint64, lines), make([][8]uint64, lines)
			for n := range most + 1 {
				digests := memory[most-n:]
				if front {
					digests = memory[:n]
				}
				for i := range digests {
					digests[i] = Digest{rng.Uint64() * rng.Uint64N(2), rng.Uint64()}
				}
				seen, want := make([]uint64, (n+63)/64), make([]uint64, (n+63)/64)
				spill, wantSpill := make([]uint32, n), make([]uint32, n)
				wanted := 0
				got := TestAndSetExact64(filter, seen, digests, spill)
				kerneltest.AtLevel(cpu.Generic, func() { wanted = TestAndSetExact64(model, want, digests, wantSpill) })
				if got != wanted || !slices.Equal(seen, want) || !slices.Equal(spill, wantSpill) || !slices.Equal(filter, model) {
					t.Fatalf("%d digests: verdicts, spills or memory differ", n)
				}
			}
		}
	})
}

// fillWords draws a batch of words: from everywhere, from few values, or from the
// ends of the range.
func fillWords(rng *rand.Rand, words []uint32, n int) {
	for i := range words {
		switch n % 3 {
		case 0:
			words[i] = rng.Uint32()
		case 1:
			words[i] = rng.Uint32N(100) << 20
		default:
			words[i] = -(rng.Uint32() & 1) ^ rng.Uint32N(100)
		}
	}
}

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
