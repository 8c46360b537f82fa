// SPDX-License-Identifier: Apache-2.0

package quotient

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// The elements of Theorem 2.1: numbers of perfectBits bits.
const (
	perfectBits  = 16
	perfectDraws = 1 << perfectBits
)

// perfect has a vector with a bit for each element, or for several, and the SQF of footnote 8.
func perfect(_ result.Options, t *result.Table) {
	var streams, apart []int
	for universe := 1; universe <= 4; universe++ {
		all, states := perfectStates(universe)
		streams, apart = append(streams, all), append(apart, states)
	}
	t.Say(perfectDraws, 1<<perfectBits, listed(streams), listed(apart))
	for shared := range 3 {
		r := vectorRates(shared)
		row := result.MeasuredRow(fmt.Sprintf("vector of U/%d bits", 1<<shared), "%", r.fpr, r.fnr)
		if shared == 0 {
			row = result.Row{Name: "vector of U bits", Cells: []result.Cell{result.Compared(r.fpr, 0, "%"), result.Compared(r.fnr, 0, "%")}}
		}
		t.Rows = append(t.Rows, row)
	}
	r := footnote8()
	t.Rows = append(t.Rows, result.Row{Name: "SQF, r=2, r'=1, k=4", Cells: []result.Cell{result.Compared(r.fpr, 100, "%"), result.Compared(r.fnr, 0, "%")}})
}

// perfectStates returns the number of streams of up to as many elements as the universe has, and
// how many of them a filter without an error has to tell apart: it may be in the same state after
// two streams only if it gives the same verdicts on all that may follow (Myhill, Nerode).
func perfectStates(universe int) (streams, states int) {
	all := streamsOf(universe)
	verdicts := map[string]bool{}
	for _, before := range all {
		var given []byte
		for _, after := range all {
			known := stream.NewKnown(universe)
			for _, element := range before {
				known.Add(element)
			}
			for _, element := range after {
				given = strconv.AppendBool(given, known.Add(element))
			}
		}
		verdicts[string(given)] = true
	}
	return len(all), len(verdicts)
}

// streamsOf returns all streams of up to as many elements as the universe has.
func streamsOf(universe int) (all [][]uint64) {
	all, begin := [][]uint64{nil}, 0
	for range universe {
		end := len(all)
		for _, s := range all[begin:end] {
			for element := range uint64(universe) {
				all = append(all, append(slices.Clip(s), element))
			}
		}
		begin = end
	}
	return all
}

// listed returns numbers as a sentence has them.
func listed(numbers []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(numbers), " ", ", "), "[]")
}

// vectorRates returns the rates of a vector in which 2^shared elements share each bit.
func vectorRates(shared int) rates {
	f := result.Must(paper.NewSubstrings(perfectBits-shared, perfectBits-shared))
	known, random := stream.NewKnown(1<<perfectBits), rand.New(rand.NewPCG(1, perfectBits))
	var score stream.Score
	for range perfectDraws {
		element := random.Uint64N(1 << perfectBits)
		score.Add(known.Add(element), f.TestAndSet(digest.Digest{element >> shared, 0}))
	}
	return percent(score)
}

// footnote8 returns the rates of the saturated SQF. Its universe is large enough for elements that
// are new.
func footnote8() rates {
	f := result.Must(paper.NewSQF(paper.SQFConfig{Bits: 1 << 16, Cells: 4, Remainder: 2, Fingerprint: 1, Seed: 1}))
	source := uniform(8*perfectDraws, 1, 5*perfectDraws)
	source.Scores(4*perfectDraws, f)
	return percent(source.Scores(perfectDraws, f)[0])
}
