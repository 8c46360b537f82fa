package rivals

import (
	"math"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/theory"
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

// AgePartitionedConfig is what an age-partitioned Bloom filter is made from.
type AgePartitionedConfig struct {
	Lines    int   // at least 1
	LineBits int   // at least K + L; a slice has floor(LineBits/(K+L)) bits of each line
	K        int   // slices that an element is set in, from 1 to 256
	L        int   // slices of past generations, from 1 to 256
	Window   int64 // at least 1, in the unit of the times
}

// AgePartitioned is the age-partitioned Bloom filter of Shtul, Baquero, Almeida,
// Age-Partitioned Bloom Filters, 2020: K + L slices with one hash function each, in the
// order of their age. An element sets its bits in the K youngest, and is reported when K
// neighboring slices have its bits. At the end of each generation the oldest slice is
// cleared and becomes the youngest.
//
// It misses nothing within L generations, which are the window here. It still reports
// elements of up to one generation before, apart from false positives.
//
// Interpretation: the implementation is from memory of the article. A generation is a
// span of time; the article also counts insertions. Reported elements are set again,
// since the window slides.
type AgePartitioned struct {
	config     AgePartitionedConfig
	bits       bitset
	slice      uint64 // bits of a slice in a line
	generation int64  // length
	shifts     int64  // generations begun since time 0
	base       int    // the youngest slice
}

// NewAgePartitioned returns an empty filter.
func NewAgePartitioned(c AgePartitionedConfig) *AgePartitioned {
	return &AgePartitioned{
		config:     c,
		bits:       newBitset(c.Lines * c.LineBits),
		slice:      uint64(c.LineBits / (c.K + c.L)),
		generation: (c.Window-1)/int64(c.L) + 1,
	}
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

// shift begins the generations up to now. More shifts than slices change nothing.
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

// bestAgePartitioned returns the K up to 16 and L up to 40 with the lowest false
// positive rate for lines of size bits that hold load elements of a window on average.
func bestAgePartitioned(size int, load float64) (k, l int, err error) {
	lowest := math.Inf(1)
	for tryK := 1; tryK <= 16; tryK++ {
		for tryL := 1; tryL <= 40 && tryK+tryL <= size; tryL++ {
			rate, err := agePartitionedFPR(tryK, tryL, size, load)
			if err != nil {
				return 0, 0, err
			}
			if rate < lowest {
				lowest, k, l = rate, tryK, tryL
			}
		}
	}
	return k, l, nil
}

// agePartitionedFPR returns the false positive rate at the end of a generation. The
// number of elements in a full slice, those of K generations, is a Poisson variable, and
// the slices of a crowded line hold about equally many. Measured rates in lines are
// within a third of this. For large lines the approximation makes no difference.
func agePartitionedFPR(k, l, size int, load float64) (float64, error) {
	const (
		unit    = 1000 // of an element, since a line's generation may have less than one
		crowded = 1000
	)
	rate := func(slice float64) (float64, error) {
		return theory.AgePartitioned{
			K: k, L: l, SliceBits: unit * (size / (k + l)),
			Generation: int(unit * slice / float64(k)),
		}.FullFPR()
	}
	mean := load * float64(k) / float64(l)
	if mean > crowded {
		return rate(mean)
	}
	sum := 0.0
	for x := 1.0; x < mean+8*math.Sqrt(mean)+8; x++ {
		p, err := rate(x)
		if err != nil {
			return 0, err
		}
		factorial, _ := math.Lgamma(x + 1)
		sum += p * math.Exp(x*math.Log(mean)-mean-factorial)
	}
	return sum, nil
}
