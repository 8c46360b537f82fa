package rivals

import (
	"github.com/flowdedup/flowdedup/asm/digest"
)

// JumpingConfig is what a jumping window of Bloom filters is made from.
type JumpingConfig struct {
	Lines    int   // at least 1
	LineBits int   // at least Jumps + 1; a filter has floor(LineBits/(Jumps+1)) bits of each line
	Jumps    int   // J, from 1 to 256: the window moves on by Window/J at a time
	K        int   // hash functions, from 1 to 256
	Window   int64 // at least 1, in the unit of the times
}

// Jumping is a jumping window of Bloom filters (Metwally, Agrawal, El Abbadi, Duplicate
// Detection in Click Streams, 2005, section 5.2.4): a filter for each of J sub-windows
// and one for the running one. An element is reported if any filter has it, and is
// inserted into the running one. At the end of a sub-window the oldest is cleared and
// becomes the running one.
//
// It misses nothing within the window, and still reports elements of up to one sub-window
// before.
//
// Interpretation: filters are separate and queried one by one, while the article adds and
// subtracts counting filters, which takes more memory. All share their hash functions.
type Jumping struct {
	config  JumpingConfig
	bits    bitset
	filter  uint64 // bits of a filter in a line
	length  int64  // of a sub-window
	jumps   int64  // sub-windows begun since time 0
	running int
}

// NewJumping returns an empty filter.
func NewJumping(c JumpingConfig) *Jumping {
	return &Jumping{
		config: c,
		bits:   newBitset(c.Lines * c.LineBits),
		filter: uint64(c.LineBits / (c.Jumps + 1)),
		length: (c.Window-1)/int64(c.Jumps) + 1,
	}
}

// TestAndSet implements [Windowed], in time proportional to J K, and to the lines at
// the end of a sub-window.
func (j *Jumping) TestAndSet(d digest.Digest, now int64) (seen bool) {
	j.jump(now)
	p := hashesOf(d, j.config.Lines)
	for filter := 0; filter <= j.config.Jumps && !seen; filter++ {
		seen = j.holds(p, filter)
	}
	start := j.start(p.line, j.running)
	for i := range j.config.K {
		j.bits.set(start + p.at(i, j.filter))
	}
	return seen
}

func (j *Jumping) holds(p hashes, filter int) bool {
	start := j.start(p.line, filter)
	for i := range j.config.K {
		if !j.bits.has(start + p.at(i, j.filter)) {
			return false
		}
	}
	return true
}

func (j *Jumping) start(line uint64, filter int) uint64 {
	return line*uint64(j.config.LineBits) + uint64(filter)*j.filter
}

// jump begins the sub-windows up to now. More jumps than filters change nothing.
func (j *Jumping) jump(now int64) {
	due := now / j.length
	j.jumps = max(j.jumps, due-int64(j.config.Jumps)-1)
	for ; j.jumps < due; j.jumps++ {
		j.running = (j.running + 1) % (j.config.Jumps + 1)
		for line := range uint64(j.config.Lines) {
			j.bits.clearRange(j.start(line, j.running), j.filter)
		}
	}
}

// Bits implements [Windowed].
func (j *Jumping) Bits() int { return j.config.Lines * j.config.LineBits }
