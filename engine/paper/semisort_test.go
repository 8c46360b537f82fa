package paper

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

func newSemiSort(t *testing.T, cells, cellBits int) *SemiSort {
	t.Helper()
	s, err := NewSemiSort(cells, cellBits)
	if err != nil {
		t.Fatal(err)
	}
	return s
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

// TestSemiSortRoundTrip encodes every row of small sizes. The codes are distinct, exactly
// those below Codes, and decode to the row in any order.
func TestSemiSortRoundTrip(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for _, size := range [][2]int{{1, 1}, {1, 8}, {2, 1}, {2, 3}, {3, 2}, {4, 4}, {3, 5}, {6, 3}, {64, 1}, {9, 2}} {
		cells, cellBits := size[0], size[1]
		s := newSemiSort(t, cells, cellBits)
		came := make([]bool, s.Codes())
		row, shuffled, decoded := make([]uint64, cells), make([]uint64, cells), make([]uint64, cells)
		eachSortedRow(row, 0, 0, 1<<cellBits, func() {
			copy(shuffled, row)
			random.Shuffle(cells, func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			code, err := s.Encode(shuffled)
			if err != nil {
				t.Fatal(err)
			}
			if code >= s.Codes() || came[code] {
				t.Fatalf("%d cells of %d bits: row %d has code %d, of %d", cells, cellBits, row, code, s.Codes())
			}
			came[code] = true
			if err := s.Decode(code, decoded); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(decoded, row) {
				t.Fatalf("%d cells of %d bits: row %d comes back as %d", cells, cellBits, row, decoded)
			}
		})
		if slices.Contains(came, false) {
			t.Errorf("%d cells of %d bits: a code is not used", cells, cellBits)
		}
	}
}

// Rows of large sizes, random and the extreme ones.
func TestSemiSortLargeRows(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	for _, size := range [][2]int{{4, 16}, {11, 8}, {16, 6}, {33, 5}, {7, 10}} {
		s := newSemiSort(t, size[0], size[1])
		row, decoded := make([]uint64, size[0]), make([]uint64, size[0])
		for round := range 2000 {
			for i := range row {
				row[i] = random.Uint64N(1 << size[1])
			}
			if round < 2 { // all zeros, all ones
				for i := range row {
					row[i] = uint64(round) * (1<<size[1] - 1)
				}
			}
			code, err := s.Encode(row)
			if err != nil {
				t.Fatal(err)
			}
			if round < 2 && code != uint64(round)*(s.Codes()-1) {
				t.Errorf("%v: extreme row %d has code %d", size, row, code)
			}
			if err := s.Decode(code, decoded); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(row, decoded) {
				t.Fatalf("%v: row %d comes back as %d", size, row, decoded)
			}
		}
	}
}

// The paper's example, and the largest rows of some widths.
func TestSemiSortSizes(t *testing.T) {
	for _, c := range []struct {
		cells, cellBits int
		codes           uint64
		bits, saved     int
	}{{4, 4, 3876, 12, 4}, {1, 16, 65536, 16, 0}, {1, 1, 2, 1, 0}, {2, 3, 36, 6, 0}, {64, 1, 65, 7, 57}} {
		s := newSemiSort(t, c.cells, c.cellBits)
		if s.Codes() != c.codes || s.Bits() != c.bits || s.Saved() != c.saved {
			t.Errorf("%d cells of %d bits: %d codes, %d bits, %d saved", c.cells, c.cellBits, s.Codes(), s.Bits(), s.Saved())
		}
	}
	for cellBits, most := range map[int]int{16: 4, 8: 11} {
		newSemiSort(t, most, cellBits)
		if _, err := NewSemiSort(most+1, cellBits); !errors.Is(err, ErrParameter) {
			t.Errorf("%d cells of %d bits: error %v", most+1, cellBits, err)
		}
	}
}

func TestSemiSortErrors(t *testing.T) {
	s := newSemiSort(t, 4, 4)
	encode := func(row ...uint64) error { _, err := s.Encode(row); return err }
	create := func(cells, cellBits int) error { _, err := NewSemiSort(cells, cellBits); return err }
	table := func(c QHTConfig) error { _, err := NewSemiSortedQHT(c); return err }
	for name, err := range map[string]error{
		"no cells":          create(0, 4),
		"cells":             create(65, 1),
		"no cell bits":      create(1, 0),
		"cell bits":         create(1, 17),
		"short row":         encode(1, 2, 3),
		"long row":          encode(1, 2, 3, 4, 5),
		"fingerprint":       encode(1, 2, 3, 16),
		"code":              s.Decode(3876, make([]uint64, 4)),
		"decode short row":  s.Decode(1, nil),
		"table cells":       table(QHTConfig{Bits: 100, CellBits: 2, Cells: 4}),
		"table no row":      table(QHTConfig{Bits: 11, CellBits: 4, Cells: 4}),
		"table empty cells": table(QHTConfig{Bits: 100, CellBits: 4, Cells: 4, Empty: 3}),
		"table too wide":    table(QHTConfig{Bits: 1 << 20, CellBits: 16, Cells: 5}),
	} {
		if !errors.Is(err, ErrParameter) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// semiSortedPair returns a QHT and a semi-sorted one with as many rows.
func semiSortedPair(t *testing.T, rows int, c QHTConfig) (*QHT, *SemiSortedQHT) {
	t.Helper()
	c.Bits = rows * c.Cells * c.CellBits
	plain := qhtMust[*QHT](t)(NewQHT(c))
	c.Bits = rows * newSemiSort(t, c.Cells, c.CellBits).Bits()
	sorted := qhtMust[*SemiSortedQHT](t)(NewSemiSortedQHT(c))
	if plain.table.rows != int(sorted.rows) || sorted.Bits() != c.Bits {
		t.Fatalf("%+v: %d rows and %d rows of %d bits", c, plain.table.rows, sorted.rows, sorted.Bits())
	}
	return plain, sorted
}

// TestSemiSortedQHTVerdicts: up to the first full row, and always for rows of one cell,
// the verdicts are those of a QHT, for EmptyShared too.
func TestSemiSortedQHTVerdicts(t *testing.T) {
	for empty := EmptyRehashed; empty <= EmptyShared; empty++ {
		for _, c := range []struct{ cells, cellBits, rows, elements int }{
			{4, 4, 4000, 2000}, {11, 8, 500, 1500}, {1, 3, 100, 20_000}, {1, 16, 100, 20_000},
		} {
			plain, sorted := semiSortedPair(t, c.rows, QHTConfig{CellBits: c.cellBits, Cells: c.cells, Empty: empty, Seed: 3})
			for id := range uint64(c.elements) {
				d := digestOf(id * id % 4093)
				_, full := plain.table.find(plain.table.row(d[1]), 0)
				if c.cells > 1 && !full {
					break // the row is full: it may evict another fingerprint
				}
				if want, seen := plain.TestAndSet(d), sorted.TestAndSet(d); seen != want {
					t.Fatalf("%+v, option %d, element %d: %v, want %v", c, empty, id, seen, want)
				}
			}
		}
	}
}

// TestSemiSortedQHTAgainstSlices compares with a map from rows to sorted fingerprints
// that uses the same random numbers.
func TestSemiSortedQHTAgainstSlices(t *testing.T) {
	for _, size := range [][2]int{{2, 3}, {4, 4}, {11, 8}, {16, 6}} {
		const rows = 50
		_, sorted := semiSortedPair(t, rows, QHTConfig{CellBits: size[1], Cells: size[0], Seed: 9})
		model, random := make([][]uint64, rows), newRandom(9)
		for id := range uint64(20_000) {
			d := digestOf(id * id % 4093)
			row, fingerprint := &model[scale(d[1], rows)], sorted.fingerprints.of(d[0])
			want := slices.Contains(*row, fingerprint)
			switch {
			case want:
			case len(*row) < size[0]:
				*row = append(*row, fingerprint)
			default:
				(*row)[random.Uint64N(uint64(size[0]))] = fingerprint
			}
			slices.Sort(*row)
			if seen := sorted.TestAndSet(d); seen != want {
				t.Fatalf("%v: element %d: %v, want %v", size, id, seen, want)
			}
		}
	}
}

// With as many rows the rates over five streams are those of a QHT: of some 185,000
// distinct elements and 15,000 duplicates. The bounds are five standard deviations of the
// difference.
func TestSemiSortedQHTRates(t *testing.T) {
	rates := qhtRun(t, 5, 40_000, 1<<18, func(seed uint64) []Filter {
		plain, sorted := semiSortedPair(t, 1000, QHTConfig{CellBits: 4, Cells: 4, Seed: seed})
		return []Filter{plain, sorted}
	})
	qhtClose(t, "FPR", rates[1].fpr, rates[0].fpr, 0.029)
	qhtClose(t, "FNR", rates[1].fnr, rates[0].fnr, 0.049)
}
