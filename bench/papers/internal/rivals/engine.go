package rivals

import (
	"fmt"

	"github.com/flowdedup/flowdedup/asm/digest"
	elements "github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/stream"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// windowFilter is the engine's packet filter, element by element.
type windowFilter struct {
	filter engine.PacketFilter
	seen   [1]uint64
	digest [1]digest.Digest
	time   [1]int64
}

// newWindowFilter returns a filter of the engine, element by element.
func newWindowFilter[F engine.PacketFilter](filter F, err error) (*windowFilter, error) {
	if err != nil {
		return nil, fmt.Errorf("the engine's filter: %w", err)
	}
	return &windowFilter{filter: filter}, nil
}

// TestAndSet implements [Windowed].
func (p *windowFilter) TestAndSet(d digest.Digest, now int64) (seen bool) {
	p.digest[0], p.time[0] = d, now
	p.filter.TestAndSet(p.seen[:], p.digest[:], p.time[:], nil)
	return p.seen[0] != 0
}

// Bits implements [Windowed].
func (p *windowFilter) Bits() int { return 8 * p.filter.Stats().MemoryBytes }

// Close frees the memory, which Go's collector does not manage.
func (p *windowFilter) Close() error { return p.filter.Close() }

// engineStreams are the engine's methods, for each the parameters of the reference
// beside it.
func engineStreams() []method {
	all := []method{
		engineStream("sbf K2 P5", stream.Config{Method: "sbf", K: 2, P: 5}),
		engineStream("bsbf K2", stream.Config{Method: "bsbf", K: 2}),
		engineStream("bsbfsd K2", stream.Config{Method: "bsbfsd", K: 2}),
		engineStream("rlbsbf K2", stream.Config{Method: "rlbsbf", K: 2}),
		engineStream("qht 8x8", stream.Config{Method: "qht", Shape: "8x8"}),
		engineStream("qqhtd 8x8", stream.Config{Method: "qqhtd", Shape: "8x8"}),
	}
	for _, shape := range []struct{ cells, width int }{{8, 8}, {4, 16}, {32, 16}, {16, 32}, {8, 64}} {
		name := fmt.Sprintf("%dx%d", shape.cells, shape.width)
		m := engineStream("lru "+name, stream.Config{Method: "lru", Shape: name})
		m.predict = func(bits int, _ *trace) (float64, error) {
			rowBits := shape.cells * shape.width
			return theory.Row{Rows: bits / rowBits, Cells: shape.cells, FingerprintBits: shape.width}.FPR()
		}
		all = append(all, m)
	}
	return all
}

func engineStream(name string, c stream.Config) method {
	return method{name: "engine: " + name, oneLine: true, build: func(bits int, _ *trace) (Windowed, error) {
		c.Memory = bits / 8
		f, err := elements.NewEngine(c)
		return untimed{f}, err
	}}
}
