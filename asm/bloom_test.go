package asm

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

// bloomModel is the filter as its description reads, one big set of bits and
// arithmetic without tricks.
type bloomModel struct {
	lines, rounds int
	set           map[[3]uint64]bool // line, word, bit
}

func (m *bloomModel) places(d Digest) (places [][3]uint64) {
	product := new(big.Int).Mul(new(big.Int).SetUint64(d[1]), big.NewInt(int64(m.lines)))
	line := product.Rsh(product, 64).Uint64()
	for j := range m.rounds {
		for w := range 8 {
			places = append(places, [3]uint64{line, uint64(w), (d[0] * salts[8*j+w]) >> 58})
		}
	}
	return places
}

func (m *bloomModel) test(d Digest) bool {
	for _, p := range m.places(d) {
		if !m.set[p] {
			return false
		}
	}
	return true
}

// testAndSet returns how many bits became 1; 0 means that the element was found.
func (m *bloomModel) testAndSet(d Digest) (added uint64) {
	for _, p := range m.places(d) {
		if !m.set[p] {
			m.set[p] = true
			added++
		}
	}
	return added
}

func bloomDigests(rng *rand.Rand, n int) []Digest {
	digests := make([]Digest, n)
	for i := range digests {
		if i > 0 && rng.IntN(3) == 0 {
			digests[i] = digests[rng.IntN(i)]
			continue
		}
		digests[i] = Digest{rng.Uint64(), rng.Uint64()}
	}
	return digests
}

func TestBloomLines(t *testing.T) { kerneltest.ForEveryLevel(t, bloomLines) }

func bloomLines(t *testing.T) {
	for _, lines := range []int{1, 3, 100} {
		for _, rounds := range []int{1, 2, 3, MaxBitRounds} {
			t.Run(fmt.Sprintf("lines=%d/rounds=%d", lines, rounds), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(11, uint64(rounds)))
				filter := make([][8]uint64, lines)
				model := &bloomModel{lines: lines, rounds: rounds, set: map[[3]uint64]bool{}}
				for _, n := range []int{0, 1, 2, 63, 64, 65, 127, 128, 129, 200} {
					checkBloom(t, filter, model, bloomDigests(rng, n), rng)
				}
			})
		}
	}
}

func checkBloom(t *testing.T, filter [][8]uint64, model *bloomModel, digests []Digest, rng *rand.Rand) {
	t.Helper()
	words := (len(digests) + 63) / 64
	before, seen := make([]uint64, words+1), make([]uint64, words+1)
	for i := range before {
		before[i] = rng.Uint64() & rng.Uint64() & rng.Uint64()
	}
	copy(seen, before)
	TestBits(filter, seen, digests, model.rounds)
	for i, d := range digests {
		want := before[i/64]>>(i%64)&1 != 0 || model.test(d)
		if got := seen[i/64]>>(i%64)&1 != 0; got != want {
			t.Fatalf("TestBits of %d: element %d found %v, want %v", len(digests), i, got, want)
		}
	}
	copy(seen, before)
	added := TestAndSetBits(filter, seen, digests, model.rounds)
	for i, d := range digests {
		masked := before[i/64]>>(i%64)&1 != 0
		want := masked
		if !masked {
			fresh := model.testAndSet(d)
			added -= fresh
			want = fresh == 0
		}
		if got := seen[i/64]>>(i%64)&1 != 0; got != want {
			t.Fatalf("TestAndSetBits of %d: element %d found %v, want %v", len(digests), i, got, want)
		}
	}
	if added != 0 {
		t.Fatalf("TestAndSetBits of %d: the number of new bits is off by %d", len(digests), int64(added))
	}
	if seen[words] != before[words] {
		t.Fatalf("seen is written beyond %d elements", len(digests))
	}
	if n := len(digests); n%64 != 0 && (seen[n/64]^before[n/64])>>(n%64) != 0 {
		t.Fatalf("bits above element %d changed", n)
	}
}

// The salts are part of what a filter is: the first output of SplitMix64 from 0
// is a published one.
func TestBloomSalts(t *testing.T) {
	if want := uint64(0xe220a8397b1dcdaf); salts[0] != want {
		t.Errorf("first salt %#x, want %#x", salts[0], want)
	}
	different := map[uint64]bool{}
	for _, salt := range salts[:8*MaxBitRounds] {
		different[salt] = true
	}
	if len(different) != 8*MaxBitRounds {
		t.Error("two salts are equal")
	}
}

func TestBloomPanics(t *testing.T) {
	for name, f := range map[string]func(){
		"no lines":   func() { TestBits(nil, nil, nil, 1) },
		"no rounds":  func() { TestBits(make([][8]uint64, 1), nil, nil, 0) },
		"9 rounds":   func() { TestAndSetBits(make([][8]uint64, 1), nil, nil, 9) },
		"short seen": func() { TestAndSetBits(make([][8]uint64, 1), make([]uint64, 1), make([]Digest, 65), 1) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}

func TestBloomDoesNotAllocate(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(41, 43))
		lines, digests, seen := make([][8]uint64, 100), bloomDigests(rng, 1000), make([]uint64, 16)
		if n := testing.AllocsPerRun(2, func() {
			TestBits(lines, seen, digests, 2)
			TestAndSetBits(lines, seen, digests, 2)
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}
