package quotient

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"sync"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// given is what a filter is made for.
type given struct {
	memory int // bits
	window int // elements, for b_DBF
	seed   uint64
	kicks  int // fingerprints that an insertion into a cuckoo filter moves at most
}

// column is a filter of the paper's section 6.1, or the same without the faults of the
// measured filter.
type column struct {
	name   string
	kind   result.Kind
	of     int  // the printed column that it is compared with
	coarse bool // a smaller stream is enough
	make   func(given) (paper.Filter, error)
}

// columns are those of the paper's Tables 2 and 4, in their order, and then the same
// methods without the faults.
func columns() []column {
	return []column{
		{"SQF", result.Described, 0, false, func(g given) (paper.Filter, error) {
			return paper.NewSQF(paper.SQFConfig{Bits: g.memory, Cells: 1, Remainder: 2, Fingerprint: 1, Seed: g.seed})
		}},
		{"QHT/QQHT", result.Described, 1, false, func(g given) (paper.Filter, error) {
			return paper.NewQHT(paper.QHTConfig{Bits: g.memory, CellBits: 3, Cells: 1, Seed: g.seed})
		}},
		{"Cuckoo", result.Emulated, 2, false, func(g given) (paper.Filter, error) { return newCuckoo(g, cuckooMemory(g.memory)) }},
		{"SBF", result.Emulated, 3, false, func(g given) (paper.Filter, error) { return newAnyCell(g.memory, g.seed) }},
		{"A2", result.Emulated, 4, false, func(g given) (paper.Filter, error) { return newPrintedA2(g.memory) }},
		{"b_DBF", result.Emulated, 5, false, func(g given) (paper.Filter, error) { return newDelayed(g.memory, g.window, true) }},
		{"Cuckoo, all memory", result.Corrected, 2, true, func(g given) (paper.Filter, error) { return newCuckoo(g, g.memory) }},
		{"SBF, both cells", result.Corrected, 3, true, newStable},
		{"A2, 10 %", result.Corrected, 4, true, func(g given) (paper.Filter, error) { return paper.NewA2ForRate(g.memory, a2Target) }},
		{"b_DBF, no zero passes", result.Corrected, 5, false, func(g given) (paper.Filter, error) { return newDelayed(g.memory, g.window, false) }},
	}
}

// printedColumns are those that the paper prints.
func printedColumns() []column { return columns()[:6] }

const cuckooBits = 3

// cuckooMemory returns the bits of the rows in use when the number of rows is the largest
// power of two up to M/2^s: the authors' program divides by 2^s instead of s.
func cuckooMemory(memory int) int {
	return cuckooBits << (bits.Len(uint(memory>>cuckooBits)) - 1)
}

func newCuckoo(g given, memory int) (paper.Filter, error) {
	return paper.NewCuckoo(paper.CuckooConfig{Bits: memory, CellBits: cuckooBits, Cells: 1, Kicks: g.kicks, Seed: g.seed})
}

func newStable(g given) (paper.Filter, error) {
	cells := g.memory / stableBits
	p, err := theory.StableP(cells, stableHashes, stableMax, stableTarget)
	if err != nil {
		return nil, err
	}
	return paper.NewStable(paper.StableConfig{Cells: cells, CellBits: stableBits, K: stableHashes, P: p, Seed: g.seed})
}

const a2Target = 0.1

// newPrintedA2 returns the A2 filter of the printed columns. The number of hash functions
// is the natural logarithm of 1/f, rounded down, for a buffer's rate f. Half full buffers
// need the binary logarithm.
func newPrintedA2(memory int) (paper.Filter, error) {
	k := math.Floor(-math.Log(1 - math.Sqrt(1-a2Target)))
	capacity := float64(memory/2) / k * math.Ln2
	return paper.NewA2(memory, int(k), max(1, int(capacity)))
}

const (
	gridElements = 150_000_000
	gridWindow   = 6000 // b_DBF's
	gridKicks    = 4    // more change no rate, only the time
	// gridScale divides stream, alphabet, memory and window, which keeps the rates. A
	// larger one would round the blocks of b_DBF too much.
	gridScale = 16
	// coarseScale is that of corrected columns without blocks, which are beside no
	// printed number.
	coarseScale = 64
)

// gridCache holds the rates of Tables 2 and 4, so that they are measured once.
type gridCache struct {
	mutex sync.Mutex
	known map[bool]grid // by whether they are of full size
}

// grid has the rates for each artificial stream, memory and column.
type grid [][][]rates

func (c *gridCache) get(ctx context.Context, o result.Options) (grid, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if g, ok := c.known[o.Full]; ok {
		return g, nil
	}
	g, err := measureGrid(ctx, o)
	if err != nil {
		return nil, err
	}
	if c.known == nil {
		c.known = map[bool]grid{}
	}
	c.known[o.Full] = g
	return g, nil
}

func measureGrid(ctx context.Context, o result.Options) (grid, error) {
	streams, sizes, all := artificialStreams(), memories(), columns()
	g := make(grid, len(streams))
	for s := range g {
		g[s] = make([][]rates, len(sizes))
		for m := range g[s] {
			g[s][m] = make([]rates, len(all))
		}
	}
	err := result.Parallel(ctx, 2*len(streams)*len(sizes), o.Workers, func(task int) error {
		coarse, place := task%2 == 1, task/2
		scale := gridScale
		switch {
		case o.Full:
			scale = 1
		case coarse:
			scale = coarseScale
		}
		s, m := place/len(sizes), place%len(sizes)
		var chosen []column
		var at []int
		for i, c := range all {
			if c.coarse == coarse {
				chosen, at = append(chosen, c), append(at, i)
			}
		}
		u := uniform{gridElements / scale, streams[s].alphabet / scale, uint64(s) + 1}
		measured, err := measureColumns(ctx, u, chosen, given{
			memory: sizes[m] / scale, window: gridWindow / scale, kicks: gridKicks, seed: 1,
		})
		for i, r := range measured {
			g[s][m][at[i]] = r
		}
		return err
	})
	return g, err
}

func measureColumns(ctx context.Context, u uniform, columns []column, g given) ([]rates, error) {
	var filters []paper.Filter
	for _, c := range columns {
		f, err := c.make(g)
		if err != nil {
			return nil, err
		}
		filters = append(filters, f)
	}
	scores, err := u.measure(ctx, filters)
	if err != nil {
		return nil, err
	}
	measured := make([]rates, 0, len(scores))
	for _, s := range scores {
		measured = append(measured, percent(s))
	}
	return measured, nil
}

func (c *gridCache) table2(ctx context.Context, o result.Options) (result.Table, error) {
	g, err := c.get(ctx, o)
	if err != nil {
		return result.Table{}, err
	}
	table := result.Table{
		Title:   "Sum of the error rates on artificial streams",
		Setting: gridSetting(o) + " The two last columns are closed forms: SQF is there with as many rows as fit.",
		Corner:  "duplicates, bits",
		Columns: append(gridNames(), "QHT, closed form", "SQF, all memory"),
		Notes:   realNotes(),
	}
	for s, a := range artificialStreams() {
		for m, memory := range memories() {
			row := result.Row{Name: fmt.Sprintf("%s, %.0e", a.name, float64(memory))}
			for i, c := range columns() {
				row.Cells = append(row.Cells, c.cell(g[s][m][i].sum(), table2Sums()[s][m][c.of]))
			}
			for _, codes := range []int{7, 4} {
				closed, err := gridTheory(theory.Quotient{Rows: memory / 3, K: 1, S: codes}, a)
				if err != nil {
					return result.Table{}, err
				}
				row.Cells = append(row.Cells, result.Measured(closed.sum(), "%"))
			}
			table.Rows = append(table.Rows, row)
		}
	}
	return table, nil
}

func (c *gridCache) table4(ctx context.Context, o result.Options) (result.Table, error) {
	g, err := c.get(ctx, o)
	if err != nil {
		return result.Table{}, err
	}
	table := result.Table{
		Title:   "False positive and false negative rates on artificial streams",
		Setting: gridSetting(o),
		Corner:  "duplicates, bits, rate",
		Columns: append(gridNames(), "QHT, closed form"),
		Notes:   gridNotes(),
	}
	for s, a := range artificialStreams() {
		for m, memory := range memories() {
			closed, err := gridTheory(theory.Quotient{Rows: memory / 3, K: 1, S: 7}, a)
			if err != nil {
				return result.Table{}, err
			}
			ours, printed := append(g[s][m][:len(g[s][m]):len(g[s][m])], closed), a.cells[m]
			table.Rows = append(table.Rows,
				gridRow(a, memory, ", FPR", ours, printed, func(r rates) float64 { return r.fpr }),
				gridRow(a, memory, ", FNR", ours, printed, func(r rates) float64 { return r.fnr }))
		}
	}
	return table, nil
}

// gridRow returns the row of a stream and a memory, with what pick selects from the
// rates; the last of ours is the closed form.
func gridRow(a artificial, memory int, suffix string, ours, printed []rates, pick func(rates) float64) result.Row {
	row := result.Row{Name: fmt.Sprintf("%s, %.0e%s", a.name, float64(memory), suffix)}
	for i, c := range columns() {
		row.Cells = append(row.Cells, c.cell(pick(ours[i]), pick(printed[c.of])))
	}
	row.Cells = append(row.Cells, result.Measured(pick(ours[len(ours)-1]), "%"))
	return row
}

func (c column) cell(ours, printed float64) result.Cell {
	cell := result.Compared(ours, printed, "%")
	cell.Kind = c.kind
	return cell
}

// gridTheory returns the rates in percent of a quotient hash table's closed form, for the
// printed sizes.
func gridTheory(q theory.Quotient, a artificial) (rates, error) {
	fpr, fnr, err := q.StreamRates(theory.QHT, theory.UniformStream{Elements: gridElements, Universe: a.alphabet})
	return rates{100 * fpr, 100 * fnr}, err
}

func gridNames() []string {
	var names []string
	for _, c := range columns() {
		names = append(names, c.name)
	}
	return names
}
