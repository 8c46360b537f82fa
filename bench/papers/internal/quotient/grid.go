package quotient

import (
	"context"
	"sync"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/engine/paper"
)

const (
	gridElements = 150_000_000
	gridWindow   = 6000 // b_DBF's
	gridKicks    = 4    // more change no rate, only the time
	// gridScale divides stream, alphabet, memory and window, which keeps the rates. A larger
	// one would round the blocks of b_DBF too much.
	gridScale = 16
	// coarseScale is that of corrected columns without blocks, which are beside no printed
	// number.
	coarseScale = 64
)

// gridCache holds the rates of Tables 2 and 4, so that they are measured once.
type gridCache struct {
	mutex sync.Mutex
	known map[bool]grid // by whether they are of full size
}

// grid has the rates for each artificial stream, memory and column: the printed ones, then
// the corrected ones.
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
	delayed, others := correctedColumns()
	sets := []struct {
		columns []column
		scale   int
	}{{append(printedColumns(), delayed...), gridScale}, {others, coarseScale}}
	streams, sizes := artificialStreams(), memories()
	parts := make([][]rates, len(streams)*len(sizes)*len(sets))
	err := result.Parallel(ctx, len(parts), o.Workers, func(task int) (err error) {
		set, place := sets[task%len(sets)], task/len(sets)
		if o.Full {
			set.scale = 1
		}
		s, m := place/len(sizes), place%len(sizes)
		u := uniform{gridElements / set.scale, streams[s].alphabet / set.scale, uint64(s) + 1}
		parts[task], err = measureColumns(ctx, u, set.columns, given{
			memory: sizes[m] / set.scale, window: gridWindow / set.scale, kicks: gridKicks, seed: 1,
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	g := make(grid, len(streams))
	for s := range g {
		for m := range sizes {
			at := (s*len(sizes) + m) * len(sets)
			g[s] = append(g[s], append(parts[at], parts[at+1]...))
		}
	}
	return g, nil
}

// gridColumns returns all columns of the grid.
func gridColumns() []column {
	delayed, others := correctedColumns()
	return append(append(printedColumns(), delayed...), others...)
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
