// SPDX-License-Identifier: Apache-2.0

package line

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
	"github.com/flowdedup/flowdedup/layout"
)

// bloomModel is the filter as its description reads, one big set of bits and
// arithmetic without tricks.
type bloomModel struct {
	lines, rounds int
	set           map[[3]uint64]bool // line, word, bit
}

func (m *bloomModel) places(d digest.Digest) (places [][3]uint64) {
	product := new(big.Int).Mul(new(big.Int).SetUint64(d[1]), big.NewInt(int64(m.lines)))
	line := product.Rsh(product, 64).Uint64()
	for j := range m.rounds {
		for w := range 8 {
			places = append(places, [3]uint64{line, uint64(w), (d[0] * salts[8*j+w]) >> 58})
		}
	}
	return places
}

func (m *bloomModel) test(d digest.Digest) bool {
	for _, p := range m.places(d) {
		if !m.set[p] {
			return false
		}
	}
	return true
}

// testAndSet returns how many bits became 1; 0 means that the element was found.
func (m *bloomModel) testAndSet(d digest.Digest) (added uint64) {
	for _, p := range m.places(d) {
		if !m.set[p] {
			m.set[p] = true
			added++
		}
	}
	return added
}

func bloomDigests(rng *rand.Rand, n int) []digest.Digest {
	digests := make([]digest.Digest, n)
	for i := range digests {
		if i > 0 && rng.IntN(3) == 0 {
			digests[i] = digests[rng.IntN(i)]
			continue
		}
		digests[i] = digest.Digest{rng.Uint64(), rng.Uint64()}
	}
	return digests
}

func TestBloomLines(t *testing.T) { kerneltest.ForEveryLevel(t, bloomLines) }

func bloomLines(t *testing.T) {
	for _, lines := range []int{1, 3, 100} {
		for _, rounds := range []int{1, 2, 3, layout.MaxBloomRounds} {
			t.Run(fmt.Sprintf("lines=%d/rounds=%d", lines, rounds), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(11, uint64(rounds)))
				filter := make([]layout.Line, lines)
				model := &bloomModel{lines: lines, rounds: rounds, set: map[[3]uint64]bool{}}
				for _, n := range []int{0, 1, 2, 63, 64, 65, 127, 128, 129, 200} {
					checkBloom(t, filter, model, bloomDigests(rng, n), rng)
				}
			})
		}
	}
}

func checkBloom(t *testing.T, filter []layout.Line, model *bloomModel, digests []digest.Digest, rng *rand.Rand) {
	t.Helper()
	words := (len(digests) + 63) / 64
	before, seen := make([]uint64, words+1), make([]uint64, words+1)
	for i := range before {
		before[i] = rng.Uint64() & rng.Uint64() & rng.Uint64()
	}
	copy(seen, before)
	TestBloom(filter, seen, digests, model.rounds)
	for i, d := range digests {
		want := before[i/64]>>(i%64)&1 != 0 || model.test(d)
		if got := seen[i/64]>>(i%64)&1 != 0; got != want {
			t.Fatalf("TestBits of %d: element %d found %v, want %v", len(digests), i, got, want)
		}
	}
	copy(seen, before)
	added := TestAndSetBloom(filter, seen, digests, model.rounds)
	for i, d := range digests {
		masked := before[i/64]>>(i%64)&1 != 0
		want := masked
		if !masked {
			fresh := model.testAndSet(d)
			added -= fresh
			want = fresh == 0
		}
		if got := seen[i/64]>>(i%64)&1 != 0; got != want {
			t.Fatalf("TestAndSetBloom of %d: element %d found %v, want %v", len(digests), i, got, want)
		}
	}
	if added != 0 {
		t.Fatalf("TestAndSetBloom of %d: the number of new bits is off by %d", len(digests), int64(added))
	}
	if seen[words] != before[words] {
		t.Fatalf("seen is written beyond %d elements", len(digests))
	}
	if n := len(digests); n%64 != 0 && (seen[n/64]^before[n/64])>>(n%64) != 0 {
		t.Fatalf("bits above element %d changed", n)
	}
}

// The salts are part of the format: the first output of SplitMix64 from 0 is a published
// one.
func TestBloomSalts(t *testing.T) {
	if want := uint64(0xe220a8397b1dcdaf); salts[0] != want {
		t.Errorf("first salt %#x, want %#x", salts[0], want)
	}
	different := map[uint64]bool{}
	for _, salt := range salts[:8*layout.MaxBloomRounds] {
		different[salt] = true
	}
	if len(different) != 8*layout.MaxBloomRounds {
		t.Error("two salts are equal")
	}
}

func TestBloomPanics(t *testing.T) {
	for name, f := range map[string]func(){
		"no lines":   func() { TestBloom(nil, nil, nil, 1) },
		"no rounds":  func() { TestBloom(make([]layout.Line, 1), nil, nil, 0) },
		"9 rounds":   func() { TestAndSetBloom(make([]layout.Line, 1), nil, nil, 9) },
		"short seen": func() { TestAndSetBloom(make([]layout.Line, 1), make([]uint64, 1), make([]digest.Digest, 65), 1) },
	} {
		t.Run(name, func(t *testing.T) {
			kerneltest.Panics(t, "", f)
		})
	}
}

func TestBloomDoesNotAllocate(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(41, 43))
		lines, digests, seen := make([]layout.Line, 100), bloomDigests(rng, 1000), make([]uint64, 16)
		if n := testing.AllocsPerRun(2, func() {
			TestBloom(lines, seen, digests, 2)
			TestAndSetBloom(lines, seen, digests, 2)
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

// TestBloomLevels compares verdicts, counts and memory for batches of lengths from 0
// to 300, with guard pages around all buffers.
func TestBloomLevels(t *testing.T) {
	kerneltest.ForLevels(t, func(t *testing.T) {
		for _, batch := range digestBatches {
			for rounds := 1; rounds <= layout.MaxBloomRounds; rounds++ {
				t.Run(fmt.Sprintf("%s/rounds=%d", batch.name, rounds), func(t *testing.T) {
					for _, front := range []bool{false, true} {
						rng := rand.New(rand.NewPCG(uint64(rounds), 1))
						test := levelTest{lines: 37, front: front, rng: rng, draw: batch.drawing(rng)}
						test.call = func(n int) levelCall {
							wipe := rng.IntN(20) == 0
							return func(lines, _ []layout.Line, seen []uint64, digests []digest.Digest) any {
								if wipe {
									clear(lines)
								}
								if n%3 == 0 {
									TestBloom(lines, seen, digests, rounds)
									return nil
								}
								return TestAndSetBloom(lines, seen, digests, rounds)
							}
						}
						test.run(t)
					}
				})
			}
		}
	})
}

func TestSpreadBits(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(5, 6))
		for range 1000 {
			x, room := rng.Uint64(), rng.Uint64()|rng.Uint64()>>rng.UintN(64)
			want, from := uint64(0), x
			for i := range 64 {
				if room>>i&1 != 0 {
					want |= from & 1 << i
					from >>= 1
				}
			}
			if got := spread(x, room); got != want {
				t.Fatalf("%x in %x: %x, want %x", x, room, got, want)
			}
		}
	})
}

// goldenBloomFile holds verdicts, counts and memory of TestAndSetBloom.
type goldenBloomFile struct {
	Comment         string
	Lines, Elements int
	Filters         []goldenBloom
}

type goldenBloom struct {
	Rounds       int
	Added        uint64
	Seen, Memory kerneltest.Hex
}

func TestGoldenBloom(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		g := goldenBloomFile{
			Comment: goldenElements + "nothing is seen before; seen and memory are little-endian words",
			Lines:   9, Elements: 1000,
		}
		digests := goldenDigests(g.Elements)
		for rounds := 1; rounds <= layout.MaxBloomRounds; rounds++ {
			lines, seen := make([]layout.Line, g.Lines), make([]uint64, (g.Elements+63)/64)
			added := TestAndSetBloom(lines, seen, digests, rounds)
			g.Filters = append(g.Filters, goldenBloom{rounds, added, kerneltest.Words(seen), goldenLines(lines)})
		}
		kerneltest.CheckGolden(t, "bits.json", g)
	})
}
