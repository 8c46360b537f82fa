package biased

import (
	"fmt"

	"github.com/flowdedup/flowdedup/engine/paper"
)

// method is a column of a table: a filter to build with that many bits.
type method struct {
	name  string
	build func(bits int, seed uint64) (paper.Filter, error)
}

// rivals returns the columns of Tables 4 to 9. The paper names neither the
// parameters of its SBF nor K of RSBF; these give its numbers.
func rivals() []method {
	return []method{
		{"SBF", func(bits int, seed uint64) (paper.Filter, error) {
			return paper.NewStable(paper.StableConfig{Cells: bits, CellBits: 1, K: 2, P: 4, Seed: seed})
		}},
		{"RSBF", func(bits int, seed uint64) (paper.Filter, error) {
			const threshold = 0.03 // p*, section 6
			return paper.NewRSBF(paper.BiasedConfig{Bits: bits, K: 2, Seed: seed}, threshold)
		}},
		{"BSBF", newBSBF(2)},
		{"BSBFSD", newBSBFSD(2)},
		{"RLBSBF", newRLBSBF(2)},
	}
}

// sweep returns the columns of Tables 1 to 3: one method with k from 1 to 5.
func sweep(build func(k int) func(bits int, seed uint64) (paper.Filter, error)) []method {
	var all []method
	for k := 1; k <= 5; k++ {
		all = append(all, method{fmt.Sprintf("k=%d", k), build(k)})
	}
	return all
}

func newBSBF(k int) func(bits int, seed uint64) (paper.Filter, error) {
	return func(bits int, seed uint64) (paper.Filter, error) {
		return paper.NewBSBF(paper.BiasedConfig{Bits: bits, K: k, Seed: seed})
	}
}

func newBSBFSD(k int) func(bits int, seed uint64) (paper.Filter, error) {
	return func(bits int, seed uint64) (paper.Filter, error) {
		return paper.NewBSBFSD(paper.BiasedConfig{Bits: bits, K: k, Seed: seed})
	}
}

func newRLBSBF(k int) func(bits int, seed uint64) (paper.Filter, error) {
	return func(bits int, seed uint64) (paper.Filter, error) {
		return paper.NewRLBSBF(paper.BiasedConfig{Bits: bits, K: k, Seed: seed})
	}
}
