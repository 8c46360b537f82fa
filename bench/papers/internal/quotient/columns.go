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

// column is a filter of the paper's section 6.1, or the same without the faults of the
// measured filter.
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

// correctedColumns are the same methods without the faults: b_DBF, then those for which a
// smaller stream is enough.
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
// power of two up to M/2^s: the authors' program divides by 2^s instead of s.
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
// is the natural logarithm of 1/f, rounded down, for a buffer's rate f. Half full buffers
// need the binary logarithm.
func newPrintedA2(memory int) (paper.Filter, error) {
	k := math.Floor(-math.Log(1 - math.Sqrt(1-a2Target)))
	capacity := float64(memory/2) / k * math.Ln2
	return paper.NewA2(memory, int(k), max(1, int(capacity)))
}

// rates holds a false positive and a false negative rate in percent.
type rates struct{ fpr, fnr float64 }

// artificial is one of the streams of the paper's Tables 2 and 4.
type artificial struct {
	name     string
	alphabet int
	cells    [][]rates // for each memory, the filters in the order of printedColumns
}

// memories are the sizes of the filters in bits.
func memories() []int { return []int{8e6, 1e6, 1e5, 1e4} }

// artificialStreams returns the paper's Table 4 without the real stream. Table 2 has the
// sums.
func artificialStreams() []artificial {
	return []artificial{
		{"88.82 %", 1 << 24, [][]rates{
			{{21.87, 64.62}, {12.02, 70.74}, {27.80, 69.14}, {25.94, 71.85}, {35.22, 52.84}, {0, 99.96}},
			{{24.60, 73.67}, {14.00, 83.80}, {28.41, 71.19}, {26.43, 73.30}, {37.72, 60.77}, {0.17, 99.79}},
			{{24.94, 74.84}, {14.26, 85.53}, {28.52, 71.44}, {26.49, 73.49}, {38.00, 61.83}, {27.46, 72.51}},
			{{24.98, 74.99}, {14.28, 85.69}, {28.55, 71.47}, {26.50, 73.50}, {38.03, 61.97}, {99.67, 0.31}},
		}},
		{"39.79 %", 1 << 27, [][]rates{
			{{24.42, 72.09}, {13.86, 81.52}, {28.39, 70.82}, {26.40, 73.00}, {37.54, 59.32}, {0, 99.99}},
			{{24.92, 74.64}, {14.24, 85.18}, {28.50, 71.41}, {26.47, 73.44}, {38.00, 61.60}, {0.17, 99.82}},
			{{24.99, 74.96}, {14.29, 85.66}, {28.51, 71.49}, {26.49, 73.50}, {38.05, 61.91}, {27.46, 72.52}},
			{{25.00, 74.99}, {14.28, 85.72}, {28.52, 71.49}, {26.49, 73.51}, {38.02, 61.97}, {99.69, 0.31}},
		}},
	}
}

// table2Sums returns the sums as Table 2 prints them, in the order of artificialStreams,
// memories and printedColumns.
func table2Sums() [][][]float64 {
	return [][][]float64{
		{
			{86.49, 82.76, 96.94, 97.79, 88.06, 99.96},
			{98.27, 97.80, 99.60, 99.74, 98.49, 99.96},
			{99.78, 99.79, 99.96, 99.98, 99.84, 99.96},
			{99.97, 99.97, 100.02, 99.99, 100.00, 99.98},
		},
		{
			{96.51, 95.37, 99.21, 99.40, 96.86, 99.99},
			{99.56, 99.42, 99.91, 99.91, 99.60, 99.99},
			{99.94, 99.95, 100.00, 99.99, 99.96, 99.98},
			{100.00, 100.00, 100.00, 100.00, 99.99, 100.00},
		},
	}
}

// shape is a quotient hash table of Tables 1 and 5: cells of a row and bits of a cell.
type shape struct{ cells, bits int }

// shapes are those of Table 1; Table 5 has all but the first.
func shapes() []shape { return []shape{{1, 2}, {2, 3}, {4, 4}, {8, 5}, {16, 6}} }

// table1Rates returns Table 1, in the order of shapes.
func table1Rates() []rates {
	return []rates{{22.57, 35.89}, {23.25, 44.24}, {23.53, 50.77}, {23.62, 54.55}, {23.50, 58.73}}
}

// table5Sums returns the artificial rows of Table 5: QHT and QQHTD, in the order of
// shapes from the second on.
func table5Sums() (qht, qqhtd []float64) {
	return []float64{67.39, 74.48, 79.32, 82.10}, []float64{67.91, 74.41, 79.19, 82.26}
}
