package quotient

import (
	"math"
	"math/bits"

	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// given is what a filter is made for.
type given struct {
	memory int // bits
	window int // elements, for b_DBF
	seed   uint64
	kicks  int // fingerprints that an insertion into a cuckoo filter moves at most
}

// column is a filter of the paper's section 6.1, or one without the faults that its
// measured filters had.
type column struct {
	name string
	make func(given) (paper.Filter, error)
}

// printedColumns are those of the paper's Tables 2 and 4, in their order.
func printedColumns() []column {
	return []column{
		{"SQF", func(g given) (paper.Filter, error) {
			return paper.NewSQF(paper.SQFConfig{Bits: g.memory, Cells: 1, Remainder: 2, Fingerprint: 1, Seed: g.seed})
		}},
		{"QHT/QQHTD", func(g given) (paper.Filter, error) {
			return paper.NewQHT(paper.QHTConfig{Bits: g.memory, CellBits: 3, Cells: 1, Seed: g.seed})
		}},
		{"Cuckoo", func(g given) (paper.Filter, error) { return newCuckoo(g, cuckooMemory(g.memory)) }},
		{"SBF", func(g given) (paper.Filter, error) { return newAnyCell(g.memory, g.seed) }},
		{"A2", func(g given) (paper.Filter, error) { return newPrintedA2(g.memory) }},
		{"b_DBF", func(g given) (paper.Filter, error) { return newDelayed(g.memory, g.window, true) }},
	}
}

// correctedColumns are the same methods without the faults: b_DBF, then those that
// a smaller stream will do for.
func correctedColumns() (delayed, others []column) {
	delayed = []column{
		{"b_DBF, no zero passes", func(g given) (paper.Filter, error) { return newDelayed(g.memory, g.window, false) }},
	}
	others = []column{
		{"Cuckoo, all memory", func(g given) (paper.Filter, error) { return newCuckoo(g, g.memory) }},
		{"SBF, both cells", newStable},
		{"A2, 10 %", func(g given) (paper.Filter, error) { return paper.NewA2ForRate(g.memory, a2Target) }},
	}
	return delayed, others
}

const cuckooBits = 3

// cuckooMemory returns the bits of the rows in use when the number of rows is the largest
// power of two up to M/2^s: the authors' program divides by 2^s where s is meant.
func cuckooMemory(memory int) int {
	return cuckooBits << (bits.Len(uint(memory>>cuckooBits)) - 1)
}

func newCuckoo(g given, memory int) (paper.Filter, error) {
	return paper.NewCuckoo(paper.CuckooConfig{Bits: memory, CellBits: cuckooBits, Cells: 1, Kicks: g.kicks, Seed: g.seed})
}

func newStable(g given) (paper.Filter, error) {
	cells := g.memory / stableBits
	p, err := theory.StableP(cells, stableHashes, stableMax, stableTarget)
	if err != nil {
		return nil, err
	}
	return paper.NewStable(paper.StableConfig{Cells: cells, CellBits: stableBits, K: stableHashes, P: p, Seed: g.seed})
}

const a2Target = 0.1

// newPrintedA2 returns the A2 filter of the printed columns. The number of hash functions
// is the natural logarithm of 1/f, rounded down, for a buffer's rate f, where half full
// buffers need the binary one.
func newPrintedA2(memory int) (paper.Filter, error) {
	k := math.Floor(-math.Log(1 - math.Sqrt(1-a2Target)))
	capacity := float64(memory/2) / k * math.Ln2
	return paper.NewA2(memory, int(k), max(1, int(capacity)))
}
