package stream

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/stream"
)

// Engine is a filter of unbounded streams of package engine, element by element.
type Engine struct {
	filter *stream.Filter
	bits   int
	seen   [1]uint64
	digest [1]digest.Digest
}

// NewEngine returns an empty filter.
func NewEngine(c stream.Config) (*Engine, error) {
	f, err := stream.New(c)
	return &Engine{filter: f, bits: 8 * c.Memory / 512 * 512}, err
}

// TestAndSet reports whether the element was seen before, and remembers it.
func (e *Engine) TestAndSet(d digest.Digest) (seen bool) {
	e.digest[0] = d
	e.filter.TestAndSet(e.seen[:], e.digest[:])
	return e.seen[0] != 0
}

// Bits returns the memory of the lines, without the tables of its workers.
func (e *Engine) Bits() int { return e.bits }

// Close frees the memory, which Go's collector does not manage.
func (e *Engine) Close() error { return e.filter.Close() }
