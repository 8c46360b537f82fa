// SPDX-License-Identifier: Apache-2.0

package paper

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
)

// compare requires a filter's reports on a stream to equal a plain model's, and both
// reports to occur.
func compare(t *testing.T, name string, f Filter, ids []uint64, model func(d digest.Digest) bool) {
	t.Helper()
	positive := 0
	for i, id := range ids {
		want := model(digestOf(id))
		if seen := f.TestAndSet(digestOf(id)); seen != want {
			t.Fatalf("%s: element %d, the %d-th: seen %v, model %v", name, id, i+1, seen, want)
		}
		if want {
			positive++
		}
	}
	if positive == 0 || positive == len(ids) {
		t.Errorf("%s: all reports are the same", name)
	}
}

// placesOf returns where a filter of m bits has an element.
func placesOf(d digest.Digest, m, k int) []uint64 {
	pos := make([]uint64, k)
	positions(pos, d, uint64(m))
	return pos
}

// TestEpochs compares filters that find elements of the latest epochs, each of a given
// number of elements, with a map of the epoch that last set each place. So no element of
// these epochs is missed, and earlier ones are only found as false positives.
func TestEpochs(t *testing.T) {
	ids := skewed(5000, 1000, 6)
	check := func(c any, f Filter, places func(d digest.Digest) []uint64, epoch, kept int) {
		t.Helper()
		latest, at := map[uint64]int{}, 0
		compare(t, fmt.Sprintf("%T%+v", f, c), f, ids, func(d digest.Digest) (seen bool) {
			seen = true
			for _, i := range places(d) {
				last, came := latest[i]
				seen = seen && came && at/epoch-last < kept
				latest[i] = at / epoch
			}
			at++
			return seen
		})
	}
	shared := func(m, k int) func(d digest.Digest) []uint64 {
		return func(d digest.Digest) []uint64 { return placesOf(d, m, k) }
	}
	for _, c := range []LandmarkConfig{
		{Bits: 64, D: 3, Window: 30}, {Bits: 65, D: 1, Window: 1000}, {Bits: 3001, D: 17, Window: math.MaxInt},
	} {
		check(c, must[*Bloom](t)(NewLandmarkBloom(c)), shared(c.Bits, c.D), c.Window, 1)
		c.Partitioned = true
		check(c, must[*Bloom](t)(NewLandmarkBloom(c)), func(d digest.Digest) []uint64 {
			pos := placesOf(d, c.Bits/c.D, c.D)
			for function := range pos {
				pos[function] = pos[function]*uint64(c.D) + uint64(function)
			}
			return pos
		}, c.Window, 1)
	}
	// With a single substring it is the exact solution.
	for _, c := range [][2]int{{11, 11}, {16, 16}, {16, 12}, {70, 10}, {128, 9}, {10, 1}} {
		idBits, length := c[0], c[1]
		check(c, must[*Bloom](t)(NewSubstrings(idBits, length)), func(d digest.Digest) (all []uint64) {
			for from := 0; from+length <= idBits; from++ {
				all = append(all, uint64(from)<<32|substring(d, from, length))
			}
			return all
		}, math.MaxInt, 1)
	}
	// The width of counters does not change verdicts.
	for _, q := range []int{1, 2, 3, 4, 9} {
		for _, counterBits := range []int{1, 2, 4, 12} {
			c := JumpingConfig{Counters: 150, CounterBits: counterBits, D: 3, SubWindows: q, SubWindow: 11}
			check(c, must[*JumpingBloom](t)(NewJumpingBloom(c)), shared(c.Counters, c.D), c.SubWindow, q)
		}
	}
	for _, c := range []BDBFConfig{
		{Bits: 400, CellBits: 2, K: 2, Window: 50}, {Bits: 900, CellBits: 3, K: 4, Window: 100},
		{Bits: 901, CellBits: 4, K: 3, Window: 10}, {Bits: 3, CellBits: 3, K: 3, Window: 7},
	} {
		blocks := 1<<c.CellBits - 2
		epoch := (c.Window + blocks - 1) / blocks
		check(c, must[*BDBF](t)(NewBDBF(c)), shared(c.Bits/c.CellBits, c.K), epoch, blocks+1)
	}
	// Definition 2 gives the bits of the unsliced filter to sites.
	for _, c := range []SlicedConfig{{Bits: 5011, K: 1, Slices: 7}, {Bits: 5011, K: 4, Slices: 40}, {Bits: 5011, K: 9, Slices: 5011}} {
		f, pos := must[*Sliced](t)(NewVertical(c)), make([]uint64, c.K)
		check(c, f, func(d digest.Digest) []uint64 {
			layout.Positions(pos, d, uint64(f.Bits()))
			return pos
		}, math.MaxInt, 1)
	}
}

// TestSubstring compares with the digest's bits one by one.
func TestSubstring(t *testing.T) {
	d := digestOf(2)
	for from := range 128 {
		for length := 1; length <= min(38, 128-from); length++ {
			want := uint64(0)
			for i := range length {
				want |= d[(from+i)/64] >> ((from + i) % 64) & 1 << i
			}
			if got := substring(d, from, length); got != want {
				t.Fatalf("%d bits from %d: %x, want %x", length, from, got, want)
			}
		}
	}
}

// TestQHTModel compares all variants with a map from rows to fingerprints that uses the
// same random numbers: unordered, in the order in which they came, or sorted.
func TestQHTModel(t *testing.T) {
	variants := map[string]func(QHTConfig) (*QHT, error){
		"QHT": NewQHT, "QHTD": NewQHTD, "QQHT": NewQQHT, "QQHTD": NewQQHTD, "sorted": NewSemiSortedQHT,
	}
	for name, create := range variants {
		for _, size := range [][2]int{{1, 3}, {2, 3}, {4, 4}, {11, 8}} {
			c := QHTConfig{Bits: 3000, Cells: size[0], CellBits: size[1], Seed: 9}
			f := must[*QHT](t)(create(c))
			rows, random := map[uint64][]uint64{}, newRandom(c.Seed)
			compare(t, fmt.Sprint(name, size), f, uniform(20_000, 4000, 1), func(d digest.Digest) bool {
				at, fingerprint := f.Cell(d)
				row := rows[at]
				seen := slices.Contains(row, fingerprint)
				switch {
				case seen && !slices.Contains([]string{"QHTD", "QQHTD"}, name):
				case len(row) < c.Cells:
					row = append(row, fingerprint)
				case name[:2] == "QQ":
					row = append(slices.Clone(row[1:]), fingerprint)
				default:
					row[random.Uint64N(uint64(c.Cells))] = fingerprint
				}
				if name == "sorted" {
					slices.Sort(row)
				}
				rows[at] = row
				return seen
			})
		}
	}
}

// TestCuckooMissesNothing: as long as there are cells for all elements, kicks find them. Both
// rows of an element lead to each other.
func TestCuckooMissesNothing(t *testing.T) {
	for _, cells := range []int{2, 4} {
		f := must[*Cuckoo](t)(NewCuckoo(CuckooConfig{Bits: 16 << 12, CellBits: 16, Cells: cells, Kicks: 500}))
		countErrors(f, fresh(0, 3200), 0) // of 4096 cells
		for id := range uint64(3200) {
			row, fingerprint := f.table.rowOf(digestOf(id)), f.fingerprints.of(digestOf(id)[0])
			other := f.alternateRow(row, fingerprint)
			if !slices.Contains(f.table.read(row), fingerprint) &&
				!slices.Contains(f.table.read(other), fingerprint) {
				t.Fatalf("%d cells: element %d is lost", cells, id)
			}
			if other == row || f.alternateRow(other, fingerprint) != row {
				t.Fatalf("%d cells: rows %d and %d for fingerprint %d", cells, row, other, fingerprint)
			}
		}
	}
}

// TestStableModel compares with an array of numbers and the same random ones.
func TestStableModel(t *testing.T) {
	for _, c := range []StableConfig{
		{Cells: 20, CellBits: 2, K: 1, P: 20}, {Cells: 77, CellBits: 1, K: 3, P: 3}, {Cells: 200, CellBits: 1, K: 2, P: 4, Reach: 100},
		{Cells: 200, CellBits: 3, K: 2, P: 20}, {Cells: 150, CellBits: 5, K: 4, P: 70, Reach: 75},
	} {
		for _, c.Independent = range []bool{false, true} {
			f, random, model := must[*Stable](t)(NewStable(c)), newRandom(c.Seed), make([]int, c.Cells)
			reach := uint64(cmp.Or(c.Reach, c.Cells))
			compare(t, fmt.Sprintf("%+v", c), f, skewed(2000, 1000, 6), func(d digest.Digest) (seen bool) {
				pos := placesOf(d, c.Cells, c.K)
				seen = !slices.ContainsFunc(pos, func(i uint64) bool { return model[i] == 0 })
				decayed := map[uint64]bool{}
				for first := random.Uint64N(reach); len(decayed) < c.P; {
					decayed[first%uint64(c.Cells)] = true
					if first++; c.Independent && len(decayed) < c.P {
						first = random.Uint64N(reach)
					}
				}
				for i := range decayed {
					model[i] = max(0, model[i]-1)
				}
				for _, i := range pos {
					model[i] = 1<<c.CellBits - 1
				}
				return seen
			})
			zeros := 0
			for _, value := range model {
				zeros += 1 - min(value, 1)
			}
			if got := f.Zeros() * float64(c.Cells); math.Abs(got-float64(zeros)) > 1e-9 {
				t.Errorf("%+v: %g zeros, want %d", c, got, zeros)
			}
		}
	}
}

// TestBiasedModel compares with arrays of bits and the same random numbers. The reservoir
// of RSBF ends within the stream, or never.
func TestBiasedModel(t *testing.T) {
	const size = 200
	for name, create := range map[string]func(BiasedConfig) (*Biased, error){
		"RSBF .2": func(c BiasedConfig) (*Biased, error) { return NewRSBF(c, .2) },
		"RSBF 0":  func(c BiasedConfig) (*Biased, error) { return NewRSBF(c, 0) },
		"BSBF":    NewBSBF, "BSBFSD": NewBSBFSD, "RLBSBF": NewRLBSBF,
	} {
		for _, reach := range []int{0, size / 2} {
			c := BiasedConfig{Bits: 3*size + 2, K: 3, Seed: 8, Reach: reach}
			f, model, random := must[*Biased](t)(create(c)), [3][size]bool{}, newRandom(c.Seed)
			load := func(filter int) (ones uint64) {
				for _, set := range model[filter] {
					if set {
						ones++
					}
				}
				return ones
			}
			reset := func(filter int) { model[filter][random.Uint64N(uint64(cmp.Or(reach, size)))] = false }
			insert := func(pos []uint64) {
				if name == "BSBFSD" {
					reset(random.IntN(3))
				}
				for filter := range pos {
					if name != "BSBFSD" && (name != "RLBSBF" || random.Uint64N(size) < load(filter)) {
						reset(filter)
					}
				}
				for filter, i := range pos {
					model[filter][i] = true
				}
			}
			replace := func(pos []uint64) {
				for filter, i := range pos {
					if model[filter][i] {
						continue
					}
					for before := load(filter); load(filter) == before; {
						model[filter][random.Uint64N(size)] = false
					}
					model[filter][i] = true
				}
			}
			came := uint64(0)
			compare(t, fmt.Sprint(name, c), f, skewed(5000, 3000, 6), func(d digest.Digest) bool {
				if got := uint64(math.Round(f.Load() * 3 * size)); got != load(0)+load(1)+load(2) {
					t.Fatalf("%s: %d bits set after %d elements, want %d", name, got, came, load(0)+load(1)+load(2))
				}
				came++
				pos := placesOf(d, size, 3)
				seen := model[0][pos[0]] && model[1][pos[1]] && model[2][pos[2]]
				switch {
				case name == "RSBF .2" && came >= 5*size:
					if !seen {
						replace(pos)
					}
				case name[:4] == "RSBF" && came > size && random.Uint64N(came) >= size:
				case name[:4] == "RSBF" || !seen:
					insert(pos)
				}
				return seen
			})
		}
	}
}

// eachSortedRow calls visit for every ascending row of values below count.
func eachSortedRow(row []uint64, at int, least, count uint64, visit func()) {
	if at == len(row) {
		visit()
		return
	}
	for row[at] = least; row[at] < count; row[at]++ {
		eachSortedRow(row, at+1, row[at], count, visit)
	}
}

// TestSemiSort encodes every row of small sizes. The codes are distinct, exactly
// those below Codes, and decode to the row in any order. Four cells of 4 bits are the
// paper's example.
func TestSemiSort(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for size, bits := range map[[2]int]int{
		{1, 1}: 1, {1, 8}: 8, {2, 1}: 2, {2, 3}: 6, {3, 2}: 5, {4, 4}: 12,
		{3, 5}: 13, {6, 3}: 11, {64, 1}: 7, {9, 2}: 8, {1, 16}: 16,
	} {
		cells, cellBits := size[0], size[1]
		s := must[*SemiSort](t)(NewSemiSort(cells, cellBits))
		came := make([]bool, s.Codes())
		row, shuffled, decoded := make([]uint64, cells), make([]uint64, cells), make([]uint64, cells)
		eachSortedRow(row, 0, 0, 1<<cellBits, func() {
			copy(shuffled, row)
			random.Shuffle(cells, func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			code := s.encode(shuffled)
			if code >= s.Codes() || came[code] {
				t.Fatalf("%v: row %d has code %d, of %d", size, row, code, s.Codes())
			}
			came[code] = true
			s.decode(code, decoded)
			if !slices.Equal(decoded, row) {
				t.Fatalf("%v: row %d comes back as %d", size, row, decoded)
			}
		})
		if slices.Contains(came, false) || s.Bits() != bits {
			t.Errorf("%v: %d codes, not all of which are used, or %d bits", size, s.Codes(), s.Bits())
		}
	}
}
