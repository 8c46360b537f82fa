package rivals

import (
	"fmt"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/window"
)

// windowFilter is the product's packet filter, element by element.
type windowFilter struct {
	filter engine.PacketFilter
	seen   [1]uint64
	digest [1]digest.Digest
	time   [1]int64
}

// newWindowFilter returns the product's filter of the given memory, in bits.
func newWindowFilter(bits int, w window.Window, refresh bool) (*windowFilter, error) {
	filter, err := window.NewTimed(window.TimedConfig{Window: w, Memory: bits / 8, Refresh: refresh})
	if err != nil {
		return nil, fmt.Errorf("the product's filter: %w", err)
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

// Close gives the memory back, which lies outside of Go's.
func (p *windowFilter) Close() error { return p.filter.Close() }
