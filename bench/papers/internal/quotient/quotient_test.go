package quotient

import (
	"math"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// TestPrintedRates makes the printed columns at 1/64 of the size: 262,144 distinct
// elements and 2.1 million duplicates, so half a percentage point is five standard
// deviations. It leaves out b_DBF, whose blocks this scale rounds and which has hardly
// any at these memories.
func TestPrintedRates(t *testing.T) {
	const scale = 64
	printed := artificialStreams()[0]
	u := uniform{gridElements / scale, printed.alphabet / scale, 7}
	for m, memory := range memories()[:1] {
		ours, err := measureColumns(t.Context(), u, printedColumns(), given{
			memory: memory / scale, window: gridWindow / scale, kicks: gridKicks, seed: 7,
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range printedColumns() {
			want := printed.cells[m][i]
			if math.Abs(ours[i].fpr-want.fpr) > 0.5 || math.Abs(ours[i].fnr-want.fnr) > 0.5 {
				t.Errorf("%s, %d bits: %.2f/%.2f, the paper %.2f/%.2f", c.name, memory, ours[i].fpr, ours[i].fnr, want.fpr, want.fnr)
			}
		}
	}
}

// TestPrintedSums checks what was copied from the paper: the sums of Table 2 are those of
// Table 4 up to rounding.
func TestPrintedSums(t *testing.T) {
	for s, a := range artificialStreams() {
		for m := range memories() {
			for i, r := range a.cells[m] {
				if sum := table2Sums()[s][m][i]; math.Abs(r.sum()-sum) > 0.025 {
					t.Errorf("%s, memory %d, column %d: %.2f and %.2f", a.name, m, i, r.sum(), sum)
				}
			}
		}
	}
}

// fakeGrid returns a cache whose rates all differ: column c of place p has 10 p + c.
func fakeGrid() *gridCache {
	g, next := grid{}, 0.
	for range artificialStreams() {
		var stream [][]rates
		for range memories() {
			var row []rates
			for range columns() {
				next++
				row = append(row, rates{next, next / 1000})
			}
			stream = append(stream, row)
		}
		g = append(g, stream)
	}
	return &gridCache{known: map[bool]grid{false: g}}
}

func TestGridTables(t *testing.T) {
	cache := fakeGrid()
	table4, err := cache.table4(t.Context(), result.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	table2, err := cache.table2(t.Context(), result.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(table4.Rows) != 16 || len(table2.Rows) != 8 {
		t.Fatalf("%d and %d rows", len(table4.Rows), len(table2.Rows))
	}
	for _, table := range []result.Table{table2, table4} {
		for _, row := range table.Rows {
			if len(row.Cells) != len(table.Columns) {
				t.Errorf("%s: %d cells for %d columns", row.Name, len(row.Cells), len(table.Columns))
			}
			for i, cell := range row.Cells {
				if cell.HasPrinted() != (i < len(columns())) {
					t.Errorf("%s, %s: printed %v", row.Name, table.Columns[i], cell.Printed)
				}
			}
		}
	}
	// 39.79 %, 1e6 bits, SBF: the sixth of 8 places of 10 columns, the fourth of them.
	if cell := table4.Rows[10].Cells[3]; cell.Ours != 54 || cell.Printed != 26.47 {
		t.Errorf("cell %+v", cell)
	}
	if cell := table2.Rows[5].Cells[3]; cell.Ours != 54.054 || cell.Printed != 99.91 {
		t.Errorf("cell %+v", cell)
	}
	// The closed form, last but one in Table 2: QHT at 8e6 bits, 82.76 in print.
	if cell := table2.Rows[0].Cells[10]; math.Abs(cell.Ours-82.76) > 0.05 {
		t.Errorf("closed form %v", cell.Ours)
	}
}

// TestDelayed: without the fault the filter misses nothing within the window. With it the
// filter reports at least as much, and everything while the running counter is zero.
func TestDelayed(t *testing.T) {
	for _, window := range []int{1, 7, 100, 375} {
		sound, err := newDelayed(12*window, window, false)
		if err != nil {
			t.Fatal(err)
		}
		faulty, err := newDelayed(12*window, window, true)
		if err != nil {
			t.Fatal(err)
		}
		reported := 0
		for i := range 20_000 {
			d := stream.Digest(uint64(i % window)) // comes again after window elements
			if i/window%3 == 0 {
				d = stream.Digest(uint64(1<<30 + i)) // is new
			}
			zero := faulty.running == 0
			seen, passed := sound.TestAndSet(d), faulty.TestAndSet(d)
			if (seen || zero) && !passed {
				t.Fatalf("window %d, element %d: reported %v, but not with the fault", window, i, seen)
			}
			if !seen && i/window%3 == 2 {
				t.Fatalf("window %d: element %d is missed", window, i)
			}
			if seen && i/window%3 == 0 {
				reported++
			}
		}
		if reported > 20_000/6 {
			t.Errorf("window %d: %d of 6,667 new elements reported", window, reported)
		}
	}
	for _, memory := range []int{1, 1 << 24} {
		if _, err := newDelayed(memory, 10, false); err == nil {
			t.Errorf("no error for %d bits", memory)
		}
	}
}

// TestAnyCell compares the cells with a plain model that has the same random starts.
func TestAnyCell(t *testing.T) {
	f, err := newAnyCell(200, 3)
	if err != nil {
		t.Fatal(err)
	}
	again, err := newAnyCell(200, 3)
	if err != nil {
		t.Fatal(err)
	}
	model := make([]int, 100)
	for i := range uint64(5000) {
		d := stream.Digest(i * i % 997)
		cells := [2]uint64{f.position(d[0]), f.position(d[1])}
		want := model[cells[0]] > 0 || model[cells[1]] > 0
		start := again.random.IntN(len(model))
		for j := range f.decay {
			if at := (start + j) % len(model); model[at] > 0 {
				model[at]--
			}
		}
		model[cells[0]], model[cells[1]] = 3, 3
		if seen := f.TestAndSet(d); seen != want {
			t.Fatalf("element %d: %v, want %v", i, seen, want)
		}
	}
	if _, err := newAnyCell(2, 1); err == nil {
		t.Error("no error for a single cell")
	}
}

func TestMeanOver(t *testing.T) {
	square := func(m int) (float64, error) { return float64(m) * float64(m), nil }
	got, err := meanOver(512, 1024, square)
	if err != nil {
		t.Fatal(err)
	}
	want := 0.
	for m := 512.; m < 1024; m++ {
		want += m * m / 512
	}
	if math.Abs(got-want) > 1e-2*want {
		t.Errorf("mean %v, want %v", got, want)
	}
}

// TestColumnsMemory checks the memory of the filters: what was given up to rounding, or a
// power of two of rows.
func TestColumnsMemory(t *testing.T) {
	for _, memory := range memories() {
		for _, c := range columns() {
			f, err := c.make(given{memory: memory, window: gridWindow, kicks: gridKicks})
			if err != nil {
				t.Fatal(err)
			}
			if bits := f.Bits(); bits > memory || bits < memory/8 {
				t.Errorf("%s: %d bits of %d", c.name, bits, memory)
			}
			f.TestAndSet(digest.Digest{1, 2})
		}
	}
}

// TestMisses compares FN_m, summed over a stream, with the closed form, for one cell and
// many elements a row: there it is exact.
func TestMisses(t *testing.T) {
	q := theory.Quotient{Rows: 50, K: 1, S: 7}
	s := theory.UniformStream{Elements: 20_000, Universe: 5000}
	sum := 0.0
	for m := range s.Elements {
		fn, err := q.PrintedFN(s.Universe, m)
		if err != nil {
			t.Fatal(err)
		}
		sum += fn
	}
	_, fnr, err := q.StreamRates(theory.QHT, s)
	if err != nil {
		t.Fatal(err)
	}
	duplicates, err := s.Duplicates()
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(sum-fnr*duplicates) > 0.01*sum {
		t.Errorf("%.1f elements missed, want %.1f", sum, fnr*duplicates)
	}
}

// TestAttack: with the public hash a second element of a group is reported, but for cells that other groups evict from; under
// a secret key as often as those of others. The bound is five standard deviations.
func TestAttack(t *testing.T) {
	all, err := victims()
	if err != nil {
		t.Fatal(err)
	}
	v := all[0]
	groups := v.collisions(newKeyed(1))[:200]
	for i, hash := range []keyed{newKeyed(1), newKeyed(2)} {
		rates, err := v.play(t.Context(), groups, hash)
		if err != nil {
			t.Fatal(err)
		}
		forged, base := rates[0], rates[len(rates)-1]
		if i == 0 && forged < 0.95 || i == 1 && math.Abs(forged-base) > 5*math.Sqrt(base/200) {
			t.Errorf("key %d: %.3f of forged elements reported, %.3f of others", i+1, forged, base)
		}
	}
}
