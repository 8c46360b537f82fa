package rivals

import (
	"fmt"
	"slices"

	"github.com/flowdedup/flowdedup/asm/digest"
	elements "github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/stream"
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

// engineStreams are the engine's methods, with the parameters of the reference beside
// them where there is one.
func engineStreams() []method {
	return append([]method{
		engineStream("sbf K2 P5", stream.Config{Method: "sbf", K: 2, P: 5}),
		engineStream("bsbf K2", stream.Config{Method: "bsbf", K: 2}),
		engineStream("bsbfsd K2", stream.Config{Method: "bsbfsd", K: 2}),
		engineStream("rlbsbf K2", stream.Config{Method: "rlbsbf", K: 2}),
		engineStream("qht 8x8", stream.Config{Method: "qht", Shape: "8x8"}),
		engineStream("qht 32x16", stream.Config{Method: "qht", Shape: "32x16"}),
		engineStream("qqhtd 8x8", stream.Config{Method: "qqhtd", Shape: "8x8"}),
	}, engineLRU("8x8", "4x16", "32x16", "16x32", "8x64")...)
}

// engineLRU are the engine's rows of these shapes, with their rate.
func engineLRU(shapes ...string) []method {
	var all []method
	for _, name := range shapes {
		m := engineStream("lru "+name, stream.Config{Method: "lru", Shape: name})
		m.predict = func(bits int, _ *trace) (float64, error) {
			i := slices.IndexFunc(stream.Shapes(), func(s stream.Shape) bool { return s.Name == name })
			return stream.Shapes()[i].FPR(), nil
		}
		all = append(all, m)
	}
	return all
}

func engineStream(name string, c stream.Config) method {
	m := untimedMethod("engine: "+name, func(bits int) (*elements.Engine, error) {
		c.Memory = bits / 8
		return elements.NewEngine(c)
	})
	m.oneLine = true
	return m
}
