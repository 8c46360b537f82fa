// SPDX-License-Identifier: Apache-2.0

package quotient

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
)

// TestPrintedRates makes the printed columns at 1/64 of the size: 262,144 distinct
// elements and 2.1 million duplicates, so half a percentage point is five standard
// deviations. It leaves out b_DBF, whose blocks this scale rounds and which has hardly
// any at these memories.
func TestPrintedRates(t *testing.T) {
	const scale = 64
	printed := result.Read(result.Section(text, "p3.table4")).Rows
	for i, ours := range measureColumns(0, printedColumns, scale, 7, 7) {
		fpr, fnr := printed[0].Cells[i].Printed, printed[1].Cells[i].Printed
		if math.Abs(ours.fpr-fpr) > 0.5 || math.Abs(ours.fnr-fnr) > 0.5 {
			t.Errorf("%s: %.2f/%.2f, the paper %.2f/%.2f", columns[i].name, ours.fpr, ours.fnr, fpr, fnr)
		}
	}
}

// TestGridTables fills both tables from a grid whose rates all differ. It checks the
// numbers copied from the paper, too: the sums of Table 2 equal the sums of Table 4 up to
// rounding.
func TestGridTables(t *testing.T) {
	var g grid
	for place := range len(alphabets) * len(memories) {
		var row []rates
		for column := range columns {
			row = append(row, rates{float64(10*place + column), 0.001})
		}
		g = append(g, row)
	}
	two, four := result.Read(result.Section(text, "p3.table2")), result.Read(result.Section(text, "p3.table4"))
	g.table2(result.Options{}, &two)
	g.table4(result.Options{}, &four)
	if len(two.Rows) != len(g) || len(four.Rows) != 2*len(g) {
		t.Fatalf("%d and %d rows", len(two.Rows), len(four.Rows))
	}
	for place := range g {
		for i, c := range columns {
			sum, fpr, fnr := two.Rows[place].Cells[i], four.Rows[2*place].Cells[i], four.Rows[2*place+1].Cells[i]
			if math.Abs(fpr.Printed+fnr.Printed-sum.Printed) > 0.025 {
				t.Errorf("%s, %s: %.2f and %.2f are %.2f", two.Rows[place].Name, c.name, fpr.Printed, fnr.Printed, sum.Printed)
			}
			if fpr.Ours != float64(10*place+i) || fnr.Ours != 0.001 || sum.Ours != fpr.Ours+0.001 || fpr.Printed != four.Rows[2*place].Cells[c.of].Printed {
				t.Errorf("%s, %s: %+v and %+v are %+v", two.Rows[place].Name, c.name, fpr, fnr, sum)
			}
		}
	}
	// The closed form, last but one in Table 2: QHT at 8e6 bits, 82.76 in print.
	if cell := two.Rows[0].Cells[10]; math.Abs(cell.Ours-82.76) > 0.05 {
		t.Errorf("closed form %v", cell.Ours)
	}
}

// TestDelayed: without the fault the filter misses nothing within the window. With it the
// filter reports at least as much, and everything while the running counter is zero.
func TestDelayed(t *testing.T) {
	for _, window := range []int{1, 7, 100, 375} {
		sound, faulty := newDelayed(12*window, window, false), newDelayed(12*window, window, true)
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
}

// TestAnyCell compares the cells with a plain model that has the same random starts.
func TestAnyCell(t *testing.T) {
	f, again := newAnyCell(200, 3), newAnyCell(200, 3)
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
}

// TestColumnsMemory checks the memory of the filters: the given size up to rounding, or a
// power of two of rows.
func TestColumnsMemory(t *testing.T) {
	for _, memory := range memories {
		for _, c := range columns {
			f := c.make(given{memory: memory, window: gridWindow, kicks: gridKicks})
			if bits := f.Bits(); bits > memory || bits < memory/8 {
				t.Errorf("%s: %d bits of %d", c.name, bits, memory)
			}
			f.TestAndSet(digest.Digest{1, 2})
		}
	}
}

// TestPerfectStates: Theorem 2.1 has 2^U states.
func TestPerfectStates(t *testing.T) {
	for universe, streams := range map[int]int{1: 2, 2: 7, 3: 40, 4: 341} {
		if all, states := perfectStates(universe); all != streams || states != 1<<universe {
			t.Errorf("universe of %d: %d streams, %d states", universe, all, states)
		}
	}
}

// TestAttack: with the public hash a second element of a group is reported, except for
// cells that other groups evict from; under a secret key as often as others' elements.
// The bound is five standard deviations.
func TestAttack(t *testing.T) {
	v := victims()[0]
	groups := v.collisions(newKeyed(publicKey))[:200]
	for key := byte(publicKey); key <= secretKey; key++ {
		rates := v.play(groups, newKeyed(key))
		forged, base := rates[0]/100, rates[len(rates)-1]/100
		if key == publicKey && forged < 0.95 || key == secretKey && math.Abs(forged-base) > 5*math.Sqrt(base/200) {
			t.Errorf("key %d: %.3f of forged elements reported, %.3f of others", key, forged, base)
		}
	}
}

// TestCrawl gives URLs that come at random to the filters: the rates are those of a grid's stream.
func TestCrawl(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	var urls, out strings.Builder
	const scale = 1000
	for range gridElements / scale {
		fmt.Fprintf(&urls, "https://example.org/%d\n", random.IntN(alphabets[0]/scale))
	}
	if err := Crawl(strings.NewReader(urls.String()), &out); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasPrefix(got, "150000 URLs, ") || strings.Count(got, "too few URLs") != 2 || !strings.Contains(got, "  21.") || !strings.Contains(got, "QQHTD") {
		t.Error(got)
	}
}
