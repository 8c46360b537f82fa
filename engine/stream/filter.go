// SPDX-License-Identifier: Apache-2.0

// Package stream finds the elements of an endless stream that came before, in constant
// memory:
//
//	filter, err := stream.New(stream.Config{Method: "lru", Memory: 1 << 20})
//	filter.TestAndSet(seen, digests) // bit i of seen: element i came before
//
// A Filter has rows of fingerprints, a stable Bloom filter or another method of
// the literature, in lines of 64 bytes. Packets is a Filter as an engine.PacketFilter,
// Counter a Filter as an engine.Counter. For windows see package window. Errors about
// configurations wrap engine.ErrConfig.
//
//	question                            file
//	methods, parameters and their ends  params.go, rates.go
//	a call, its kernel, statistics      filter.go, kernels.go
//	a filter as a counter, of packets   counter.go
//	copies verified by a second table   verified.go
//	snapshots                           saved.go
package stream

import (
	"cmp"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/bitset"
	"github.com/flowdedup/flowdedup/engine/internal/mem"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/layout"
)

// Config configures New. Fields that are zero stand for the defaults in their comments.
type Config struct {
	// Method is one of Methods; "" stands for "lru".
	Method string
	// Memory is the size of the lines, in bytes, rounded down to whole lines of 64; 0
	// stands for 256 MiB.
	Memory int
	// FPR bounds the probability that an element that never came is taken for seen,
	// however long the stream. New chooses the other parameters to keep it, and returns
	// an error if given parameters do not. 0 stands for 1e-4 with rows, for 0.01 with
	// "sbf", and for no bound with the others.
	FPR float64
	// Shape is the shape of the rows of the methods that HasRows reports, cells times
	// bits: "8x8", "4x16", "32x16", "16x32" or "8x64"; "" chooses by FPR.
	Shape string
	// K is the number of bits or cells of an element with the other methods, from 1 to 4,
	// or to 8 for "sbf" with Max above 1; 0 chooses.
	K int
	// P is the number of cells that "sbf" decrements for an element, from 1 to 64, or to
	// the cells of a line for Max above 1; 0 chooses by FPR.
	P int
	// Max is the value that "sbf" sets cells to: 1 (cells of one bit), 3 (two bits), 7 or
	// 15 (four bits); 0 stands for 1.
	Max int
	// Threshold is the p* of "rsbf", from 1e-6 to 1, rounded to millionths: from the
	// position on at which the chance of insertion would be this or less, all unseen
	// elements are inserted. 0 stands for 0.03.
	Threshold float64
}

// errParameter begins errors about parameters other than FPR and Memory.
var errParameter = engine.Impossible("parameter of a stream filter out of range")

// Filter is the filter of unbounded streams. It remembers recent elements in a fixed
// amount of memory, and forgets others for them. All that an element touches is in one
// line of 64 bytes.
//
//	lru     rows of fingerprints: the element that was not seen for longest leaves
//	qht     rows as quotient hash tables have them: a random element leaves
//	qqhtd   queues: every element comes in, copies too, and the oldest leaves
//	sbf     stable Bloom filter: new elements decrement cells of their line
//	rsbf    reservoir sampling based Bloom filter
//	bsbf    biased sampling based Bloom filter
//	bsbfsd  the same with single deletion
//	rlbsbf  the same with load balancing, by the load of the line's parts
//	qhtd    qht in which copies come in too
//	qqht    qqhtd without copies
//
// line.TestAndSetRows, line.TestAndSetStable and line.TestAndSetCells define each method.
// Verdicts depend only on the digests and their order, neither on how the stream is cut
// into calls nor on the machine. A Filter is not safe for concurrent use.
type Filter struct {
	params   parameters
	arena    *layout.Arena
	bytes    int
	kernel   methodKernel
	elements uint64 // elements so far; an element's number in the stream is from 1 on
	seen     uint64
	copying  *snapshot.LineCopy // of the arena
}

// New makes an empty filter. Errors wrap engine.ErrConfig, or come from layout.NewArena.
func New(c Config) (*Filter, error) {
	c.Memory = cmp.Or(c.Memory, mem.MaxDefault)
	p, err := chooseParameters(c)
	if err != nil {
		return nil, err
	}
	return newFilter(p)
}

// newFilter makes a filter of valid parameters.
func newFilter(p parameters) (*Filter, error) {
	arena, err := layout.NewArena(p.lines)
	if err != nil {
		return nil, err
	}
	k := p.newKernel()
	return &Filter{params: p, arena: arena, kernel: k, bytes: arena.Bytes() + k.bytes()}, nil
}

// TestAndSet sets bit i of seen if it takes d[i] for an element that came before, in an
// earlier call or earlier in d, and remembers elements as the method prescribes. It
// clears the other bits of the words that cover len(d) elements. It panics if seen is
// shorter than that, or after Close. It does not allocate.
func (s *Filter) TestAndSet(seen []uint64, d []digest.Digest) {
	bitset.Clear(seen, len(d))
	s.arena.CheckOpen("stream: Filter.TestAndSet")
	s.copying.Keep(d)
	s.kernel.testAndSet(s.arena.Lines(), seen, d, s.elements+1)
	for _, word := range seen[:(len(d)+63)/64] {
		s.seen += uint64(bits.OnesCount64(word))
	}
	s.elements += uint64(len(d))
}

// Populate has the system back all memory now. Otherwise it does so page by page, at the
// first use of each.
func (s *Filter) Populate() { s.arena.Populate(0, len(s.arena.Lines())) }

// Close returns the filter's memory. Stats still works. Further calls do nothing.
func (s *Filter) Close() error { return s.arena.Close() }

// Stats describes a Filter and its work so far.
type Stats struct {
	Method string
	// Elements is the number of elements, and Seen the number of them that were taken for
	// seen.
	Elements, Seen uint64
	// Evicted counts fingerprints that made room for another fingerprint in their row. It is 0
	// with filters of bits and cells.
	Evicted uint64
	// Cells is the number of the lines' cells, and Occupied the number of nonempty cells.
	Cells, Occupied uint64
	// Fill is Occupied over Cells.
	Fill float64
	// Load is the number of cells written for elements that were not seen, over Cells.
	// From about 1 on, memory is overwritten.
	Load float64
	// FPR estimates the probability that an element that never came is taken for seen,
	// now.
	FPR float64
	// FPRBound is an upper bound of FPR. With methods that keep no chosen rate it is the
	// limit of FPR on a long stream.
	FPRBound float64
	// MemoryBytes is the size of the lines and of the kernel's tables.
	MemoryBytes int
}

// Stats returns the statistics so far, in constant time: cells are counted as they
// change.
func (s *Filter) Stats() Stats {
	c := s.kernel.counts()
	cells := uint64(s.params.lines) * uint64(s.params.lineCells())
	fill := float64(c.occupied) / float64(cells)
	bound := s.params.bound()
	return Stats{
		Method:      methodTable[s.params.method].name,
		Elements:    s.elements,
		Seen:        s.seen,
		Evicted:     c.evicted,
		Cells:       cells,
		Occupied:    c.occupied,
		Fill:        fill,
		Load:        float64(s.elements-s.seen) * float64(s.params.k) / float64(cells),
		FPR:         min(bound, s.params.estimate(fill)),
		FPRBound:    bound,
		MemoryBytes: s.bytes,
	}
}
