package stream

import (
	"cmp"
	"errors"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/internal/bitset"
	"github.com/flowdedup/flowdedup/engine/internal/mem"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/layout"
)

// Config configures New. Fields that are zero take what their
// comment says.
type Config struct {
	// Method is one of Methods; "" stands for "lru".
	Method string
	// Memory is what the lines may take, in bytes, rounded down to whole lines
	// of 64; 0 stands for 256 MiB.
	Memory int
	// FPR bounds the probability that an element that never came is taken for
	// seen, for ever: the other parameters are chosen so that it holds, and an
	// error says so if those that are given do not keep it. 0 stands for 1e-4 with
	// rows and 0.01 with "sbf", and asks for no bound from the others.
	FPR float64
	// Shape is the shape of the rows of "lru", "qht" and "qqhtd", cells times
	// bits: "8x8", "4x16", "32x16", "16x32" or "8x64"; "" chooses by FPR.
	Shape string
	// K is the number of bits or cells of an element with the other methods, from 1
	// to 4, or 8 for "sbf" with Max above 1; 0 chooses.
	K int
	// P is how many cells "sbf" decrements for an element, 1 to 64, or for Max
	// above 1 up to the cells of a line; 0 chooses by FPR.
	P int
	// Max is what "sbf" sets cells to: 1 (cells of one bit), 3 (two bits), 7 or 15
	// (four bits); 0 stands for 1.
	Max int
}

// ErrParameter is what errors about parameters of a Filter wrap, unless they wrap
// ErrFPR or ErrMemory.
var ErrParameter = errors.New("parameter of a stream filter out of range")

// Filter is the filter of unbounded streams: it remembers recent elements in a fixed
// amount of memory, and forgets others for them. All that an element touches lies
// in one line of 64 bytes.
//
//	lru     rows of fingerprints, the one that was not seen for longest leaves
//	qht     rows as quotient hash tables have them: a random one leaves
//	qqhtd   the queued ones: every element comes in, copies too, the oldest leaves
//	sbf     stable Bloom filter: new elements decrement cells of their line
//	rsbf    reservoir sampling based Bloom filter
//	bsbf    biased sampling based Bloom filter
//	bsbfsd  the same with single deletion
//	rlbsbf  the same with load balancing, by the load of the line's parts
//
// The comments of line.TestAndSetRows, line.TestAndSetStable and line.TestAndSetCells
// say exactly what each does. Verdicts depend on the digests and their order
// alone: neither on how the stream is cut into calls, nor on the machine. A Filter
// serves one goroutine at a time.
type Filter struct {
	params   parameters
	arena    *layout.Arena
	bytes    int
	kernel   methodKernel
	elements uint64 // so far; an element's number in the stream is from 1 on
	seen     uint64
	copying  *snapshot.LineCopy // of the arena
}

// New makes an empty filter. Errors wrap ErrParameter, ErrFPR, ErrMemory or what
// layout.NewArena says.
func New(c Config) (*Filter, error) {
	c.Memory = cmp.Or(c.Memory, mem.MaxDefault)
	p, err := chooseParameters(c)
	if err != nil {
		return nil, err
	}
	return newFilter(p)
}

// newFilter makes the filter of parameters that are known to be right.
func newFilter(p parameters) (*Filter, error) {
	arena, err := layout.NewArena(p.lines)
	if err != nil {
		return nil, err
	}
	k := p.newKernel()
	return &Filter{params: p, arena: arena, kernel: k, bytes: arena.Bytes() + k.bytes()}, nil
}

// TestAndSet sets bit i of seen if d[i] is taken for an element that came before, in an
// earlier call or earlier in d, clears the bits of the others in the words that
// cover len(d) elements, and remembers what the method wants to. It panics if seen
// is shorter than that, or after Close. It does not allocate.
func (s *Filter) TestAndSet(seen []uint64, d []digest.Digest) {
	bitset.Clear(seen, len(d))
	mem.CheckOpen("stream: Filter.TestAndSet", s.arena)
	s.copying.Keep(d)
	s.kernel.testAndSet(s.arena.Lines(), seen, d, s.elements+1)
	for _, word := range seen[:(len(d)+63)/64] {
		s.seen += uint64(bits.OnesCount64(word))
	}
	s.elements += uint64(len(d))
}

// Populate has the system hand over all memory now, which it otherwise does a page
// at a time when they are first used.
func (s *Filter) Populate() { s.arena.Populate(0, len(s.arena.Lines())) }

// Close gives the filter's memory back; Stats still works. Further calls do nothing.
func (s *Filter) Close() error { return s.arena.Close() }

// Stats describes a Filter and its work so far.
type Stats struct {
	Method string
	// Elements is how many came, and Seen how many of them were taken for seen.
	Elements, Seen uint64
	// Evicted counts fingerprints that were pushed out of their row by another one.
	// Filters of bits and cells do not know: 0.
	Evicted uint64
	// Cells is how many cells the lines have, and Occupied how many are not empty.
	Cells, Occupied uint64
	// Fill is Occupied over Cells.
	Fill float64
	// Load is how many cells were written for elements that were not seen, over
	// Cells. Memory is written over from about 1 on.
	Load float64
	// FPR estimates the probability that an element that never came is taken for
	// seen, now.
	FPR float64
	// FPRBound is what FPR never exceeds, or comes to on a long stream with methods
	// that keep no chosen rate.
	FPRBound float64
	// MemoryBytes is the size of the lines and of the kernel's tables.
	MemoryBytes int
}

// Stats returns what the filter did so far. It takes constant time: cells are counted
// as they change.
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
