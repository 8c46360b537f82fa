package quotient

import (
	"context"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
)

const (
	speedMemory   = 1_000_000
	speedElements = 1 << 18 // of a round
	speedRounds   = 6
	speedKicks    = 50 // as the authors' program
)

// table3 measures one filter at a time, since two would slow each other down.
func table3(ctx context.Context, _ result.Options) (result.Table, error) {
	columns := printedColumns()
	columns[1].name = "QHT"
	queued := column{name: "QQHTD", make: func(g given) (paper.Filter, error) {
		return paper.NewQQHTD(paper.QHTConfig{Bits: g.memory, CellBits: 3, Cells: 1})
	}}
	columns = append(columns[:2], append([]column{queued}, columns[2:]...)...)
	printed := []float64{0.423, 0.288, 0.330, 2.464, 1.578, 1.280, 2.565}
	times, err := speeds(ctx, columns)
	if err != nil {
		return result.Table{}, err
	}
	const qht = 1
	absolute, relative := result.Row{Name: "µs"}, result.Row{Name: "times QHT"}
	table := result.Table{
		Timed: true,
		Title: "Time of one element",
		Setting: "1,000,000 bits, uniform draws from an alphabet of 2^24; the best of six rounds of 2^18 elements, hashing included, on " +
			runtime.GOOS + "/" + runtime.GOARCH + ". The paper: 150,000,000 elements on a laptop with an Intel i7.",
		Corner: "time",
		Notes: []string{
			"Times are those of the machine and of plain reference filters; what can be compared is their ratio. Hashing is some nanoseconds here.",
			"With one cell a row QQHTD writes every element and QHT asks whether to, which the processor cannot foresee; so QQHTD is the faster one here.",
			"The cuckoo filter moves up to 50 fingerprints for nearly every element, as it is always full.",
		},
	}
	for i, c := range columns {
		table.Columns = append(table.Columns, c.name)
		absolute.Cells = append(absolute.Cells, result.Compared(times[i], printed[i], "µs"))
		relative.Cells = append(relative.Cells, result.Compared(times[i]/times[qht], printed[i]/printed[qht], ""))
	}
	table.Rows = []result.Row{absolute, relative}
	return table, nil
}

// speeds returns the time of an element in microseconds for each column. Rounds of the
// filters alternate, so that other load on the machine affects all of them.
func speeds(ctx context.Context, columns []column) ([]float64, error) {
	filters, times := make([]paper.Filter, len(columns)), make([]float64, len(columns))
	for i, c := range columns {
		f, err := c.make(given{memory: speedMemory, window: gridWindow, kicks: speedKicks, seed: 1})
		if err != nil {
			return nil, err
		}
		filters[i] = f
	}
	random := rand.New(rand.NewPCG(1, 3))
	elements := make([]uint64, speedElements)
	for round := range speedRounds {
		for i := range elements {
			elements[i] = random.Uint64N(1 << 24)
		}
		for i, f := range filters {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			begin := time.Now()
			for _, element := range elements {
				f.TestAndSet(stream.Digest(element))
			}
			elapsed := float64(time.Since(begin).Nanoseconds()) / 1e3 / speedElements
			if round == 0 || elapsed < times[i] {
				times[i] = elapsed
			}
		}
	}
	return times, nil
}
