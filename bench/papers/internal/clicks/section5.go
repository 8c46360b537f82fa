// SPDX-License-Identifier: Apache-2.0

package clicks

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/bench/papers/internal/forms"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// substrings compares the scheme of section 4, whose analysis the paper calls intractable,
// with as many independent hash functions in the same memory: the paper's example of IDs
// of 32 bits and vectors for substrings of 16.
func substrings(o result.Options, t *result.Table) {
	const idBits, length, vectors = 32, 16, 17
	total := o.Size(1<<20, 1<<24)
	t.Say(idBits, total, vectors, length)
	t.Rows = result.Map(o, []int{1 << 14, 1 << 15, 1 << 16, 1 << 17}, func(n int) result.Row {
		var overlapping, independent stream.Score
		for run := range total / n {
			s := result.Must(paper.NewSubstrings(idBits, length))
			b := result.Must(paper.NewLandmarkBloom(paper.LandmarkConfig{Bits: vectors << length, D: vectors, Window: n, Partitioned: true}))
			for j := range n {
				id := scatter(uint32(run*n + j))
				overlapping.Add(false, s.TestAndSet(digest.Digest{uint64(id), 0}))
				independent.Add(false, b.TestAndSet(stream.Digest(uint64(id))))
			}
		}
		closed := forms.LandmarkRate(vectors<<length, vectors, n)
		return result.MeasuredRow(fmt.Sprint(n), "%",
			100*overlapping.FPR(), 100*chainRate(n, length, vectors), 100*independent.FPR(), 100*closed).
			And("", overlapping.FPR()/closed)
	})
}

// scatter is a bijection of 32 bits: the finalizer of MurmurHash3.
func scatter(x uint32) uint32 {
	x = (x ^ x>>16) * 0x85ebca6b
	x = (x ^ x>>13) * 0xc2b2ae35
	return x ^ x>>16
}

// chainRate returns the mean rate while n elements fill vectors of 2^length bits, if a
// collision depends only on the collision in the substring before.
//
// Of the elements that agree in the bits that two neighboring substrings share, as many
// have the first substring's other bit as do not: each a Poisson number of mean x, which
// is n/2^length. The first collides if the former exist, the second if any element has
// its other bit.
func chainRate(n, length, vectors int) float64 {
	const steps = 1000
	sum := 0.0
	for i := range steps {
		x := float64(n) * (float64(i) + 0.5) / steps / math.Exp2(float64(length))
		first := -math.Expm1(-x)
		next := 1 - (math.Exp(-x/2)-math.Exp(-x))/first*math.Exp(-x/2)
		sum += first * math.Pow(next, float64(vectors-1))
	}
	return sum / steps
}

// functions finds the number of hash functions that is best for the mean over a window,
// which is above the best for a full filter.
func functions(o result.Options, t *result.Table) {
	s := landmarkSetup{window: o.Size(50_000, 1_000_000), errors: 2000, mostRuns: 60}
	t.Say(s.window, s.errors, s.mostRuns)
	t.Rows = result.Map(o, []float64{4, 8, 9.6, 12, 16, 24, 32}, func(bits float64) result.Row {
		m := int(bits * float64(s.window))
		full := forms.BloomOptimalK(m, s.window)
		mean, means := bestFunctions(full, func(d int) float64 { return forms.LandmarkRate(m, d, s.window) })
		jumping, steady := bestFunctions(full, func(d int) float64 {
			return forms.Jumping{Cells: m, D: d, SubWindows: 4, SubWindow: s.window / 4}.SteadyRate()
		})
		row := result.MeasuredRow(fmt.Sprint(bits), "", float64(full), float64(mean)).And("%", 100*means[0], 100*means[1])
		for _, d := range []int{full, mean} {
			row.Cells = append(row.Cells, rates{rateOf(s.measureBits(m, d, true))}.cells(100, "%")...)
		}
		return row.And("", float64(jumping)).And("%", 100*steady[0], 100*steady[1])
	})
}

// bestFunctions returns the number of hash functions with the lowest rate, and the rates
// with the number of a full filter and with this one.
func bestFunctions(full int, rate func(d int) float64) (best int, rates [2]float64) {
	for d := 1; d <= 3*full+3; d++ {
		r := rate(d)
		if d == full {
			rates[0] = r
		}
		if best == 0 || r < rates[1] {
			best, rates[1] = d, r
		}
	}
	return best, rates
}

// latency compares one hash space with a space for each function by the time that a click
// waits for memory modules: section 5.2.1.
func latency(_ result.Options, t *result.Table) {
	ds := []int{2, 4, 8, 16}
	for _, d := range ds {
		t.Columns = append(t.Columns, fmt.Sprintf("d=%d, a space each", d), "one space, mean", "one space, at most")
	}
	for _, modules := range []int{1, 2, 4, 8, 16, 32} {
		row := result.Row{Name: fmt.Sprint(modules)}
		for _, d := range ds {
			row = row.And("", math.Ceil(float64(d)/float64(modules)), meanLargest(d, modules), float64(d))
		}
		t.Rows = append(t.Rows, row)
	}
}

// meanLargest returns the mean of the largest number of d balls in one of n boxes: the sum
// over c of 1 - P(at most c in each), where P is d!/n^d times the coefficient of x^d in
// (1 + x + ... + x^c/c!)^n.
func meanLargest(d, n int) float64 {
	mean := 0.0
	for c := range d {
		power := make([]float64, d+1)
		power[0] = 1
		for range n {
			next := make([]float64, d+1)
			for i, p := range power {
				term := 1.0 // x^j/j! of j balls, each with chance 1/n
				for j := 0; j <= c && i+j <= d; j++ {
					next[i+j] += p * term
					term /= float64(n) * float64(j+1)
				}
			}
			power = next
		}
		factorial, _ := math.Lgamma(float64(d) + 1)
		mean += 1 - power[d]*math.Exp(factorial)
	}
	return mean
}

const (
	// differing is the expected share of different clicks in a window, and
	// drawsPerID the x for which (1-e^-x)/x, the share that x uniform draws for each
	// ID have, is that.
	differing  = 0.8
	drawsPerID = 0.464213
	// queueBits is the memory of an entry of the queue.
	queueBits = 32
)

// sliding measures the window of the last clicks. Each number of hash functions gets the
// memory for which it is best.
func sliding(o result.Options, t *result.Table) {
	window, measured := o.Size(100_000, 1_000_000), o.Size(1_000_000, 10_000_000)
	t.Say(window, window+measured, 100*differing, queueBits, window)
	t.Rows = result.Map(o, []int{2, 4, 8}, func(d int) result.Row {
		counters := int(math.Round(float64(d) * differing * perFunction(window)))
		f := result.Must(paper.NewSlidingBloom(paper.SlidingConfig{Counters: counters, CounterBits: 4, D: d, Window: window, ElementBits: queueBits}))
		draws := slidingDraws(window)
		draws.Scores(window, f)
		score := draws.Scores(measured, f)[0]
		closed := forms.BloomFPRApprox(counters, d, int(math.Round(differing*float64(window))))
		return result.MeasuredRow(fmt.Sprint(d), "", float64(f.Bits())/float64(window)).
			And("%", 100*score.FPR(), 100*closed, 100*score.FNR()).And("", f.SaturatedShare())
	})
}

// slidingDraws returns clicks, and whether their ID is among the last ones of a window.
func slidingDraws(window int) stream.Source {
	ids := uint64(math.Round(float64(window) / drawsPerID))
	random, at := rand.New(rand.NewPCG(1, 2)), 0
	last := make([]int, ids) // position of the latest click, from 1 on
	return func(digests []digest.Digest, known []bool) {
		for i := range digests {
			at++
			id := random.Uint64N(ids)
			before := last[id]
			last[id] = at
			digests[i], known[i] = stream.Digest(id), before > 0 && at-before <= window
		}
	}
}
