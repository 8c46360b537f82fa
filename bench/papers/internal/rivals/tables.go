// SPDX-License-Identifier: Apache-2.0

package rivals

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/flowdedup/flowdedup/bench/papers/chart"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
	engine "github.com/flowdedup/flowdedup/engine/stream"
	"github.com/flowdedup/flowdedup/engine/window"
)

// unboundedMethods have no window and remember as much as they can. The engine's own come
// last.
func unboundedMethods() []method {
	biased := func(bits int) paper.BiasedConfig { return paper.BiasedConfig{Bits: bits, K: 2, Seed: 1} }
	quotient := func(bits int) paper.QHTConfig {
		return paper.QHTConfig{Bits: bits, CellBits: 8, Cells: 4, Seed: 1}
	}
	return append([]method{
		stable(1, 2, 4),
		stable(2, 4, 26),
		untimedMethod("BSBF k2", func(bits int) (*paper.Biased, error) { return paper.NewBSBF(biased(bits)) }),
		untimedMethod("BSBFSD k2", func(bits int) (*paper.Biased, error) { return paper.NewBSBFSD(biased(bits)) }),
		untimedMethod("RLBSBF k2", func(bits int) (*paper.Biased, error) { return paper.NewRLBSBF(biased(bits)) }),
		untimedMethod("QHT 4x8", func(bits int) (*paper.QHT, error) { return paper.NewQHT(quotient(bits)) }),
		untimedMethod("QQHTD 4x8", func(bits int) (*paper.QHT, error) { return paper.NewQQHTD(quotient(bits)) }),
		{
			name:    "LRU buffer of 64 bits", // of whole elements: without false positives
			build:   func(bits int, _ *trace) windowed { return untimed{result.Must(paper.NewLRU(bits, 64))} },
			predict: func(int, *trace) float64 { return 0 },
		},
		untimedMethod("A2 for 1 %", func(bits int) (*paper.A2, error) { return paper.NewA2ForRate(bits, 0.01) }),
	}, engineStreams()...)
}

// unboundedTable makes the table of a stream without a window.
func unboundedTable(stream func(n int) *trace) result.Maker {
	return func(o result.Options, t *result.Table) {
		n, sizes := o.Size(400_000, 10_000_000), []int{1 << 14, 1 << 18, 1 << 22, 1 << 26}
		t.Say(n)
		if !o.Full {
			sizes = sizes[:3]
		}
		g := grid{methods: unboundedMethods(), memory: sizes, trace: stream(n), labels: []string{"16 kbit", "256 kbit", "4 Mbit", "64 Mbit"}[:len(sizes)]}
		g.fill(o, t)
	}
}

//go:embed text.md
var text string

// Experiment returns the comparison with modern rivals.
func Experiment() result.Experiment {
	return result.New("rivals", text, map[string]result.Maker{
		"unbounded": unboundedTable(crawl), "zipf": unboundedTable(zipf), "uniform": unboundedTable(uniform),
		"sliding": slidingTable, "packets": packetTable,
	})
}

// slidingMethods are for sliding windows: an element that is seen again is remembered
// longer.
func slidingMethods() []method {
	rivals := append([]method{
		decaying,
		swampMethod,
		partitioned(true),
		partitioned(false),
		agingLine,
		aging,
		jumpingOf(4, 5, true),
		jumpingOf(4, 7, false),
		stamped(32, 12, 4, lineBits),
		stamped(32, 13, 3, lineBits),
		stamped(8, 12, 4, 128),
		stamped(21, 16, 8, lineBits),
		stamped(16, 24, 8, lineBits),
		stamped(8, 48, 16, lineBits),
		stable(3, 4, 72),
		windowedQuotient("QHT", randomCell, 32, 12, 4),
		windowedQuotient("QQHTD", oldestCell, 32, 12, 4),
		windowedQuotient("QHT", randomCell, 16, 24, 8),
		windowedQuotient("QQHTD", oldestCell, 16, 24, 8),
	}, quotientRows()...)
	engines := engineWindows(true, func(elements int64) window.Window { return window.Window{Packets: elements} })
	return slices.Concat(rivals, engineLRU("32x16"), engines)
}

func slidingTable(o result.Options, t *result.Table) {
	const window = 1 << 15 // misses depend on it: the longer the window, the more lags are short in comparison
	n := o.Size(400_000, 4_000_000)
	records := sliding(n, window)
	g := newGrid(records, slidingMethods(), 16, 24, 32, 48, 64, 96)
	g.fill(o, t)
	g.addLate(t, 3)
	t.Draw(1, g.byMemory()...)
	t.Say(n, window, records.distinct)
}

// packetMethods are methods that could detect copies of packets.
func packetMethods() []method {
	return append([]method{
		stamped(8, 48, 16, lineBits),
		stamped(16, 24, 8, lineBits),
		stamped(21, 16, 8, lineBits),
		stamped(32, 12, 4, lineBits),
		partitioned(true),
		partitioned(false),
		agingLine,
		aging,
		jumpingOf(4, 7, false),
		// No closed form: they report elements from before the window too.
		engineStream("lru 8x64", engine.Config{Method: "lru", Shape: "8x64"}),
		engineStream("lru 16x32", engine.Config{Method: "lru", Shape: "16x32"}),
		engineStream("lru 32x16", engine.Config{Method: "lru", Shape: "32x16"}),
	}, engineWindows(false, func(ns int64) window.Window { return window.Window{Duration: time.Duration(ns)} })...)
}

func packetTable(o result.Options, t *result.Table) {
	n, window := o.Size(400_000, 4_000_000), time.Duration(o.Size(5, 20))*time.Millisecond
	records := packets(n, int64(window))
	records.strict = true
	g := newGrid(records, packetMethods(), 32, 64, 96, 128, 192, 256, 512)
	g.fill(o, t)
	g.addLate(t, 3)
	t.Draw(1, g.missesByMemory()...)
	t.Say(len(records.elements), window, records.distinct, records.most)
}

// grid runs each method with each memory.
type grid struct {
	methods []method
	axis    []float64 // the memory sizes, in bits or in bits for each element of the window
	memory  []int     // bits
	trace   *trace
	labels  []string // of the memory sizes

	cells [][]cell // by method, then memory
}

// newGrid returns the grid of a sliding window, with memory in bits for each distinct
// element in it, rounded up to lines.
func newGrid(t *trace, methods []method, perElement ...float64) *grid {
	g := &grid{methods: methods, trace: t, axis: perElement}
	for _, bits := range perElement {
		g.memory = append(g.memory, (int(bits*t.distinct)/lineBits+1)*lineBits)
		g.labels = append(g.labels, fmt.Sprintf("%g bits", bits))
	}
	return g
}

// cell has the rates of a method with a memory.
type cell struct {
	verdicts
	// fpr is the measured rate or, where no event was counted, the predicted one or,
	// where there is none, the rate of one event.
	fpr float64
}

func (g *grid) run(o result.Options) {
	g.cells = result.Grid(o, len(g.methods), len(g.memory), func(i, j int) cell {
		m, bits := g.methods[i], g.memory[j]
		f := m.build(bits, g.trace)
		defer stream.Close(f)
		if f.Bits() > bits || bits < lineBits {
			panic(fmt.Sprintf("%s takes %d bits of %d", m.name, f.Bits(), bits))
		}
		return g.newCell(m, bits, g.trace.run(f))
	})
}

func (g *grid) newCell(m method, bits int, v verdicts) cell {
	switch {
	case v.FalsePositives > 0:
		return cell{v, v.FPR()}
	case m.predict != nil:
		return cell{v, m.predict(bits, g.trace)}
	}
	return cell{v, 1 / float64(max(v.Distinct, 1))}
}

// fill runs the methods. It adds their rates in percent and, above the other notes, the
// methods that no other beats with each memory. Their chart is the first.
func (g *grid) fill(o result.Options, t *result.Table) {
	g.run(o)
	for i, m := range g.methods {
		row := result.Row{Name: m.name}
		for j := range g.memory {
			row = row.And("%", 100*g.cells[i][j].FPR(), 100*g.cells[i][j].FNR())
		}
		t.Rows = append(t.Rows, row)
	}
	var fronts []string
	for j, label := range g.labels {
		t.Columns = append(t.Columns, label+" FPR", "FNR")
		fronts = append(fronts, fmt.Sprintf("Pareto front at %s, FPR/FNR in percent: %s. Among filters that touch one line for an element: %s.",
			label, g.best(j, false), g.best(j, true)))
		line := chart.Line{Name: label}
		for _, p := range g.front(j, false) {
			line.X, line.Y = append(line.X, p.fpr), append(line.Y, p.fnr)
		}
		t.Draw(0, line)
	}
	t.Notes = append(fronts, t.Notes...)
}

// addLate adds the share of elements reported too late, for memory j.
func (g *grid) addLate(t *result.Table, j int) {
	t.AddEach("late, "+g.labels[j], "%", func(row int) float64 { return 100 * g.cells[row][j].late.FPR() })
}

// byMemory draws the sum of both rates against the memory, for the methods that are on
// a front.
func (g *grid) byMemory() (lines []chart.Line) {
	drawn := map[int]bool{}
	for j := range g.memory {
		for _, p := range g.front(j, false) {
			drawn[p.method] = true
		}
	}
	for _, i := range slices.Sorted(maps.Keys(drawn)) {
		line := chart.Line{Name: g.methods[i].name, X: g.axis}
		for _, c := range g.cells[i] {
			line.Y = append(line.Y, c.fpr+c.FNR())
		}
		lines = append(lines, line)
	}
	return lines
}

// rareFPR is a rate of false positives that de-duplication may have: one packet in a
// million is lost.
const rareFPR = 1e-6

// missesByMemory draws the misses against the memory, for the methods with a rare enough
// rate of false positives at some memory. No miss is drawn as half a one.
func (g *grid) missesByMemory() (lines []chart.Line) {
	for i, m := range g.methods {
		line := chart.Line{Name: m.name}
		for j, c := range g.cells[i] {
			if c.fpr <= rareFPR {
				line.X = append(line.X, g.axis[j])
				line.Y = append(line.Y, max(c.FNR(), 0.5/float64(c.Duplicates)))
			}
		}
		if len(line.X) > 1 {
			lines = append(lines, line)
		}
	}
	return lines
}

// best names the methods that are on the front for a memory, with their rates.
func (g *grid) best(j int, oneLine bool) string {
	var names []string
	for _, p := range g.front(j, oneLine) {
		names = append(names, fmt.Sprintf("%s %.2g/%.2g", g.methods[p.method].name, 100*p.fpr, 100*p.fnr))
	}
	return strings.Join(names, "; ")
}

// front returns the methods on the Pareto front for a memory: of all, or only of methods
// that touch one line.
func (g *grid) front(j int, oneLine bool) []point {
	var all []point
	for i, m := range g.methods {
		if m.oneLine || !oneLine {
			all = append(all, point{i, g.cells[i][j].fpr, g.cells[i][j].FNR()})
		}
	}
	return pareto(all)
}

// point has the rates of a method.
type point struct {
	method   int
	fpr, fnr float64
}

// pareto returns the points on the Pareto front, in ascending order of the false positive
// rate: no other point is lower in one rate without being higher in the other.
func pareto(all []point) (front []point) {
	slices.SortStableFunc(all, func(a, b point) int {
		return cmp.Or(cmp.Compare(a.fpr, b.fpr), cmp.Compare(a.fnr, b.fnr))
	})
	for _, p := range all {
		if len(front) > 0 {
			last := front[len(front)-1]
			if p.fnr > last.fnr || p.fnr == last.fnr && p.fpr > last.fpr {
				continue
			}
		}
		front = append(front, p)
	}
	return front
}
