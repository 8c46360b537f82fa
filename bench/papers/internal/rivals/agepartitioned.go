package rivals

import (
	"fmt"
	"github.com/flowdedup/flowdedup/asm/digest"
	"math"
)

// AgePartitionedConfig is what an age-partitioned Bloom filter is made from.
type AgePartitionedConfig struct {
	Lines    int   // at least 1
	LineBits int   // at least K + L; a slice has floor(LineBits/(K+L)) bits of each line
	K        int   // slices that an element is set in, from 1 to 256
	L        int   // slices of past generations, from 1 to 256
	Window   int64 // at least 1, in the unit of the times
}

func (c AgePartitionedConfig) validate() error {
	if err := requireRange("K", c.K, 1, 256); err != nil {
		return err
	}
	if err := requireRange("L", c.L, 1, 256); err != nil {
		return err
	}
	if err := requireRange("LineBits", c.LineBits, c.K+c.L, maxBits); err != nil {
		return err
	}
	if err := requireRange("Lines", c.Lines, 1, maxBits/c.LineBits); err != nil {
		return err
	}
	return requireRange("Window", c.Window, 1, math.MaxInt64/4)
}

// AgePartitioned is the age-partitioned Bloom filter of Shtul, Baquero, Almeida,
// Age-Partitioned Bloom Filters, 2020: K + L slices with one hash function each, in
// the order of their age. An element is set in the K youngest, and reported when K
// neighbouring slices have its bits. At the end of each generation the oldest slice
// is cleared and becomes the youngest.
//
// Nothing is missed within L generations, which make the window here; what came up to
// one generation before it is still reported, apart from false positives.
//
// Readings taken: the method is written from memory of the article. A generation is a
// span of time, as for a window of time; the article also counts insertions. What
// is reported is set again, since the window slides.
type AgePartitioned struct {
	config     AgePartitionedConfig
	bits       bitset
	slice      uint64 // bits of a slice in a line
	generation int64  // length
	shifts     int64  // generations begun since time 0
	base       int    // the youngest slice
}

// NewAgePartitioned returns an empty filter. Errors wrap [paper.ErrParameter].
func NewAgePartitioned(c AgePartitionedConfig) (*AgePartitioned, error) {
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("age-partitioned Bloom filter: %w", err)
	}
	return &AgePartitioned{
		config:     c,
		bits:       newBitset(c.Lines * c.LineBits),
		slice:      uint64(c.LineBits / (c.K + c.L)),
		generation: (c.Window-1)/int64(c.L) + 1,
	}, nil
}

// TestAndSet implements [Windowed], in time proportional to K + L, and to the lines
// at the end of a generation.
func (a *AgePartitioned) TestAndSet(d digest.Digest, now int64) (seen bool) {
	a.shift(now)
	p, run := hashesOf(d, a.config.Lines), 0
	for age := 0; age < a.slices() && run < a.config.K; age++ {
		if run++; !a.bits.has(a.bit(p, age)) {
			run = 0
		}
	}
	for age := range a.config.K {
		a.bits.set(a.bit(p, age))
	}
	return run == a.config.K
}

func (a *AgePartitioned) slices() int { return a.config.K + a.config.L }

// physical returns where the slice of an age lies.
func (a *AgePartitioned) physical(age int) int { return (a.base + age) % a.slices() }

// bit returns the element's bit in the slice of an age. A slice keeps its hash function
// while it ages.
func (a *AgePartitioned) bit(p hashes, age int) uint64 {
	slice := a.physical(age)
	return a.start(p.line, slice) + p.at(slice, a.slice)
}

func (a *AgePartitioned) start(line uint64, slice int) uint64 {
	return line*uint64(a.config.LineBits) + uint64(slice)*a.slice
}

// shift begins the generations up to now. No more shifts than there are slices make a
// difference.
func (a *AgePartitioned) shift(now int64) {
	due := now / a.generation
	a.shifts = max(a.shifts, due-int64(a.slices()))
	for ; a.shifts < due; a.shifts++ {
		a.base = a.physical(a.slices() - 1)
		for line := range uint64(a.config.Lines) {
			a.bits.clearRange(a.start(line, a.base), a.slice)
		}
	}
}

// Bits implements [Windowed].
func (a *AgePartitioned) Bits() int { return a.config.Lines * a.config.LineBits }
