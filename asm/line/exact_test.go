// SPDX-License-Identifier: Apache-2.0

package line

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
	"github.com/flowdedup/flowdedup/layout"
)

// exactKernels are the two row kernels with line counts of their ranges. A shift
// leaves only the low bits of random words different, so that lines overflow.
var exactKernels = []struct {
	name  string
	lines int
	cells int
	run   func(lines []layout.Line, seen []uint64, permuted, overflow []uint32) int
}{
	{"32/lines=2", 2, 16, TestAndSetExact32},
	{"32/lines=64", 64, 16, TestAndSetExact32},
	{"32/lines=65536", 1 << 16, 16, TestAndSetExact32},
	{"16/lines=131072", 1 << 17, 32, TestAndSetExact16},
	{"16/lines=1048576", 1 << 20, 32, TestAndSetExact16},
	{"64/lines=2", 2, 8, exact64Words},
	{"64/lines=64", 64, 8, exact64Words},
	{"64/lines=65536", 1 << 16, 8, exact64Words},
}

// exact64Words makes TestAndSetExact64 look up digests whose low halves begin with words.
func exact64Words(lines []layout.Line, seen []uint64, permuted, overflow []uint32) int {
	digests := make([]digest.Digest, len(permuted))
	for i, y := range permuted {
		digests[i] = digest.Digest{uint64(y)<<32 | 7, uint64(i)}
	}
	return TestAndSetExact64(lines, seen, digests, overflow)
}

// exactModel is the contract of exact rows, by the number of words in each line.
type exactModel struct {
	shift uint
	cells int
	held  map[uint32]bool
	load  map[uint32]int
}

func newExactModel(lines, cells int) *exactModel {
	m := &exactModel{cells: cells, held: map[uint32]bool{}, load: map[uint32]int{}}
	for m.shift = 32; lines > 1; lines /= 2 {
		m.shift--
	}
	return m
}

func (m *exactModel) testAndSet(y uint32) (seen, overflowed bool) {
	if m.held[y] {
		return true, false
	}
	if m.load[y>>m.shift] == m.cells {
		return false, true
	}
	m.held[y] = true
	m.load[y>>m.shift]++
	return false, false
}

// crowd returns words of few lines, with many repeats, the extremes among them.
func crowd(rng *rand.Rand, n int, shift uint) []uint32 {
	words := make([]uint32, n)
	for i := range words {
		switch rng.IntN(20) {
		case 0:
			words[i] = 0
		case 1:
			words[i] = 1<<32 - 1
		case 2:
			words[i] = 1<<shift - 1 // largest remainder of line 0
		default:
			words[i] = uint32(rng.IntN(3))<<shift | rng.Uint32N(min(60, uint32(1)<<shift))
		}
	}
	return words
}

func TestExactRows(t *testing.T) {
	for _, k := range exactKernels {
		t.Run(k.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(5, 6))
			lines := make([]layout.Line, k.lines)
			model := newExactModel(k.lines, k.cells)
			overflow := make([]uint32, 400)
			seen := make([]uint64, 8)
			for n := range 301 {
				words := crowd(rng, n, model.shift)
				for i := range seen {
					seen[i] = ^uint64(0)
				}
				overflowed := overflow[:k.run(lines, seen, words, overflow[:n])]
				checkExactRun(t, model, words, seen, overflowed)
			}
		})
	}
}

func checkExactRun(t *testing.T, model *exactModel, words []uint32, seen []uint64, overflowed []uint32) {
	t.Helper()
	for i, y := range words {
		wantSeen, wantOverflow := model.testAndSet(y)
		if got := seen[i/64]>>(i%64)&1 != 0; got != wantSeen {
			t.Fatalf("%d words, %d (%#x): seen %v, want %v", len(words), i, y, got, wantSeen)
		}
		got := len(overflowed) > 0 && overflowed[0] == uint32(i)
		if got {
			overflowed = overflowed[1:]
		}
		if got != wantOverflow {
			t.Fatalf("%d words, %d (%#x): overflowed %v, want %v", len(words), i, y, got, wantOverflow)
		}
	}
	if len(overflowed) != 0 {
		t.Fatalf("%d words: positions %v overflowed beside", len(words), overflowed)
	}
	for i := len(words); i < (len(words)+63)/64*64; i++ {
		if seen[i/64]>>(i%64)&1 != 0 {
			t.Fatalf("%d words: bit %d is not cleared", len(words), i)
		}
	}
	if full := (len(words) + 63) / 64; full < len(seen) && seen[full] != ^uint64(0) {
		t.Fatalf("%d words: seen is written beyond them", len(words))
	}
}

// Cells are filled in order, from the low end of the first element.
func TestExactRowsGolden(t *testing.T) {
	lines := make([]layout.Line, 4)
	TestAndSetExact32(lines, make([]uint64, 1), []uint32{1<<30 | 5, 1<<30 | 9, 1<<30 | 5, 1 << 30}, make([]uint32, 4))
	if want := [8]uint64{10<<32 | 6, 1}; lines[1] != want {
		t.Errorf("32-bit cells: %x, want %x", lines[1], want)
	}
	lines = make([]layout.Line, layout.Exact16Lines)
	TestAndSetExact16(lines, make([]uint64, 1), []uint32{1<<15 | 5, 1<<15 | 0x7fff, 1<<15 | 5, 1 << 15}, make([]uint32, 4))
	if want := [8]uint64{1<<32 | 0x8000<<16 | 6}; lines[1] != want {
		t.Errorf("16-bit cells: %x, want %x", lines[1], want)
	}
}

// The bitmap is 512 MiB, but few of its pages are ever touched. TestBitmap has guard
// pages around all buffers.
func TestBitmap(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		for _, front := range []bool{false, true} {
			rng := rand.New(rand.NewPCG(7, 8))
			lines := kerneltest.Guarded[[8]uint64](t, layout.BitmapLines, front)
			held := map[uint32]uint64{} // by words of the bitmap
			for n := range 301 {
				seen, words := kerneltest.Guarded[uint64](t, (n+63)/64, front), kerneltest.Guarded[uint32](t, n, front)
				copy(words, crowd(rng, n, 17))
				for i := range seen {
					seen[i] = ^uint64(0)
				}
				TestAndSetBitmap(lines, seen, words)
				for i, y := range words {
					if got := seen[i/64] >> (i % 64) & 1; got != held[y>>6]>>(y&63)&1 {
						t.Fatalf("%d words, %d (%#x): seen %v", n, i, y, got)
					}
					held[y>>6] |= 1 << (y & 63)
				}
				if n%64 != 0 && seen[n/64]>>(n%64) != 0 {
					t.Fatalf("%d words: bits above are not cleared", n)
				}
			}
			for at, word := range held {
				if got := lines[at/8][at%8]; got != word {
					t.Fatalf("word %#x is %#x, want %#x", at, got, word)
				}
			}
		}
	})
}

func TestExactPanics(t *testing.T) {
	line := func(n int) []layout.Line { return make([]layout.Line, n) }
	for name, f := range map[string]func(){
		"one line":        func() { TestAndSetExact32(line(1), nil, nil, nil) },
		"three lines":     func() { TestAndSetExact32(line(3), nil, nil, nil) },
		"few for 16 bits": func() { TestAndSetExact16(line(1<<16), nil, nil, nil) },
		"short seen":      func() { TestAndSetExact32(line(2), make([]uint64, 1), make([]uint32, 65), make([]uint32, 65)) },
		"short overflow":  func() { TestAndSetExact32(line(2), make([]uint64, 1), make([]uint32, 2), make([]uint32, 1)) },
		"small bitmap":    func() { TestAndSetBitmap(line(2), nil, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			kerneltest.Panics(t, "", f)
		})
	}
}

func FuzzExactRows(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\xff\xff\xff\xff\x00\x00\x00\x00"), uint8(3), uint8(1))
	f.Add(make([]byte, 400), uint8(0), uint8(2))
	f.Fuzz(func(t *testing.T, data []byte, which, keep uint8) {
		k := exactKernels[int(which)%len(exactKernels)]
		model := newExactModel(k.lines, k.cells)
		words := make([]uint32, min(len(data)/4, 1<<12))
		for i := range words {
			// Few different bits make few lines, and overflow.
			words[i] = binary.LittleEndian.Uint32(data[4*i:]) & (1<<(keep%33) - 1)
		}
		lines := make([]layout.Line, k.lines)
		seen := make([]uint64, len(words)/64+1)
		overflow := make([]uint32, len(words))
		n := k.run(lines, seen, words, overflow)
		checkExactRun(t, model, words, seen[:(len(words)+63)/64], overflow[:n])
	})
}

// TestExactRowLevels compares verdicts, overflows and memory for batches of lengths
// from 0 to 300, from empty to full rows, with guard pages around all buffers.
func TestExactRowLevels(t *testing.T) {
	for _, c := range []struct {
		name       string
		lines      int
		testAndSet func(lines []layout.Line, seen []uint64, permuted, overflow []uint32) int
	}{
		{"32", 2, TestAndSetExact32},
		{"32", 64, TestAndSetExact32},
		{"16", layout.Exact16Lines, TestAndSetExact16},
		{"64", 2, exact64Words},
		{"64", 64, exact64Words},
	} {
		t.Run(c.name, func(t *testing.T) {
			kerneltest.ForLevels(t, func(t *testing.T) {
				for _, front := range []bool{false, true} {
					words, overflows := guardedPart[uint32](t, mostElements, front), guardedPart[uint32](t, mostElements, front)
					test := levelTest{lines: c.lines, front: front, rng: rand.New(rand.NewPCG(uint64(c.lines), 3))}
					test.draw = func([]digest.Digest) {}
					test.call = func(n int) levelCall {
						permuted, overflow := words(n), overflows(n)
						fillWords(test.rng, permuted, n)
						return func(lines, _ []layout.Line, seen []uint64, _ []digest.Digest) any {
							return slices.Clone(overflow[:c.testAndSet(lines, seen, permuted, overflow)])
						}
					}
					test.run(t)
				}
			})
		})
	}
}

// TestExact64Levels is TestExactRowLevels with guard pages around digests, and with
// halves that are 0.
func TestExact64Levels(t *testing.T) {
	kerneltest.ForLevels(t, func(t *testing.T) {
		for _, front := range []bool{false, true} {
			overflows := guardedPart[uint32](t, mostElements, front)
			test := levelTest{lines: 64, front: front, rng: rand.New(rand.NewPCG(64, 4))}
			test.draw = digestKind{digest: func(rng *rand.Rand, _ []digest.Digest) digest.Digest {
				return digest.Digest{rng.Uint64() * rng.Uint64N(2), rng.Uint64()}
			}}.drawing(test.rng)
			test.call = func(n int) levelCall {
				overflow := overflows(n)
				return func(lines, _ []layout.Line, seen []uint64, digests []digest.Digest) any {
					return slices.Clone(overflow[:TestAndSetExact64(lines, seen, digests, overflow)])
				}
			}
			test.run(t)
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
func goldenStream() (digests []digest.Digest) {
	var state uint64
	for i := range uint64(5000) {
		d := digest.Digest{layout.SplitMix(&state), layout.SplitMix(&state)}
		if r := layout.SplitMix(&state); i > 0 && r&1 == 0 {
			d = digests[r>>1%i]
		}
		layout.SplitMix(&state) // skips a number that only other digests come from
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

// TestExactGolden has rows overflow: verdicts, overflows and memory of earlier versions
// and of all CPUs are the same.
func TestExactGolden(t *testing.T) {
	kinds := []struct {
		lines int
		keep  uint32 // the bits of a random word that make a word
		used  int    // lines that these words have
		want  string
	}{
		{2, 1<<31 | 0xff, 2, "237b9716fccfc8d5"},
		{1 << 16, 3<<16 | 0x3f, 4, "521bd595cb5fa94e"},
		{layout.Exact16Lines, 1<<17 - 1, 4, "6d7c95f65aaf2525"},
		{layout.BitmapLines, 1<<11 - 1, 4, "c568d24ebfda3a23"},
	}
	digests := goldenStream()
	words, overflow, seen := make([]uint32, len(digests)), make([]uint32, len(digests)), make([]uint64, (len(digests)+63)/64)
	memory := make([]layout.Line, layout.BitmapLines) // the most of all kinds
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		for _, k := range kinds {
			for i, d := range digests {
				words[i] = uint32(d[1]) & k.keep
			}
			lines := memory[:k.lines]
			clear(lines[:k.used])
			testAndSet, _ := exactKernel(k.lines)
			overflowed := overflow[:testAndSet(lines, seen, words, overflow)]
			if got := goldenSum(t, lines[:k.used], seen, overflowed); got != k.want {
				t.Errorf("%d lines: %q, want %q", k.lines, got, k.want)
			}
		}
	})
}
