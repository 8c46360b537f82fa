// SPDX-License-Identifier: Apache-2.0

package distributed

import (
	"fmt"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/theory"
)

const (
	// probes is the number of new elements, and of old ones, by which the rates of a
	// full filter are measured. It is small, as the new ones fill the filter further.
	probes = 500
	// probeRuns is the number of filters measured in each run.
	probeRuns = 4
)

// failure is a filter that holds the web log's distinct elements when some of its
// slices fail.
type failure struct {
	choices int // slices that an element chooses
	config  paper.SlicedConfig
	failed  int
	dice    func(c paper.SlicedConfig, inner int) (*paper.Sliced, error) // nil for plain slices
}

const inner = 5 // slices in each of a diced filter

func (f failure) filter() *paper.Sliced {
	if f.dice == nil {
		return result.Must(paper.NewSplit(f.config, f.choices))
	}
	f.config.Slices /= inner
	return result.Must(f.dice(f.config, inner))
}

// probed are false positive rates and false negative ones in percent, as measured and by
// the closed form.
type probed struct{ fpr, fnr [2]float64 }

// probe measures each failure, over all runs.
func probe(o result.Options, failures []failure) []probed {
	return result.Map(o, failures, func(f failure) (mean probed) {
		count := probeRuns * runs(o)
		for run := range count {
			score := f.run(run)
			mean.fpr[0] += 100 * score.FPR() / float64(count)
			mean.fnr[0] += 100 * score.FNR() / float64(count)
		}
		mean.fpr[1], mean.fnr[1] = f.expected()
		return mean
	})
}

// run counts the old elements missed and the new ones reported.
func (f failure) run(run int) (score stream.Score) {
	filter := f.filter()
	next := uint64(webLog.distinct)
	for id := range next {
		filter.TestAndSet(digestOf(run, id))
	}
	for _, slice := range rand.New(rand.NewPCG(uint64(run), 1)).Perm(f.config.Slices)[:f.failed] {
		if err := filter.Fail(slice); err != nil {
			panic(err)
		}
	}
	for i := range uint64(probes) {
		score.Add(true, filter.TestAndSet(digestOf(run, i)))
		score.Add(false, filter.TestAndSet(digestOf(run, next+i)))
	}
	return score
}

// expected returns the closed forms' rates in percent, at half of the new elements.
func (f failure) expected() (fpr, fnr float64) {
	form := theory.Sliced{Bits: f.config.Bits, K: f.config.K, Slices: f.config.Slices}
	p := result.Must(form.SplitFPR(f.choices, webLog.distinct+probes/2))
	fpr, fnr, err := form.SplitHybrid(f.choices, f.failed, p, f.config.AtLeast)
	return 100 * result.Must(fpr, err), 100 * fnr
}

// figure5d is Figure 5(d): the fault tolerance heuristic by x.
func figure5d(o result.Options, t *result.Table) {
	const slices, failed, k = 40, 8, 2 * hashes
	var failures []failure
	var axis []float64
	for atLeast := range k + 1 {
		config := paper.SlicedConfig{Bits: webLog.bits[0], K: k, Slices: slices, AtLeast: atLeast}
		failures = append(failures, failure{choices: k, config: config, failed: failed})
		axis = append(axis, float64(atLeast))
	}
	all := probe(o, failures)
	for x, of := range all {
		t.AddRow(fmt.Sprint(x), "%", of.fpr[0], of.fpr[1], of.fnr[0], of.fnr[1])
	}
	t.Draw(0, t.Lines(axis, odd)...)
	t.Say(probeRuns*runs(o), all[3].fnr[0], all[4].fnr[0], all[5].fnr[0], all[0].fpr[0], all[4].fpr[0])
}

// figure1 is Figure 1(a): the false positive rate by the share of failed sites, with
// bits in failed slices taken as set.
func figure1(o result.Options, t *result.Table) {
	const slices = 40
	config := paper.SlicedConfig{Bits: webLog.bits[0], K: hashes, Slices: slices}
	var failures []failure
	var x []float64
	for failed := 0; failed <= slices/2; failed += 2 {
		for _, way := range slicings {
			failures = append(failures, failure{choices: way.choices(hashes), config: config, failed: failed})
		}
		x = append(x, 100*float64(failed)/slices)
	}
	all := probe(o, failures)
	for i, share := range x {
		v, h := all[2*i].fpr, all[2*i+1].fpr
		t.AddRow(fmt.Sprintf("%g %%", share), "%", v[0], v[1], h[0], h[1])
	}
	t.Draw(0, t.Lines(x, odd)...)
}

// figure1b is Figure 1(b): the fault tolerance parameter S_f.
func figure1b(_ result.Options, t *result.Table) {
	t.Say(slicesNeeded(horizontal, 4, hashes, .15), slicesNeeded(vertical, 4, hashes, .15), slicesNeeded(vertical, 4, 2*hashes, .15))
	x := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	result.AddRows(t, x...)
	limits := []float64{.1, .15, .2}
	for _, misses := range []bool{false, true} {
		for _, way := range slicings {
			for _, limit := range limits {
				t.AddEach("", "", func(row int) float64 {
					if misses {
						return float64(result.Must(theory.MissTolerance(row+1, way.choices(hashes), limit)))
					}
					return float64(slicesNeeded(way, row+1, hashes, limit))
				})
			}
		}
	}
	t.Draw(0, t.Lines(x, func(column int) bool { return column/len(limits)%2 == 1 })...)
}

func slicesNeeded(way slicing, failed, k int, limit float64) int {
	return result.Must(theory.Tolerance(failed, way.choices(k), targets[0], limit))
}

// diced is section 3.3: other ways to slice, with working slices and failed ones.
func diced(o result.Options, t *result.Table) {
	config := paper.SlicedConfig{Bits: webLog.bits[0], K: hashes, Slices: 8 * inner}
	for i, f := range []failure{ // the rows of the text
		{choices: hashes}, {choices: 2}, {choices: 1},
		{choices: hashes, dice: paper.NewHVDiced}, {choices: hashes, dice: paper.NewVHDiced},
	} {
		f.config = config
		failed := f
		failed.failed = 8
		all := probe(o, []failure{f, failed})
		t.Rows[i] = t.Rows[i].And("%", all[0].fpr[:]...).And("%", all[1].fpr[:]...)
	}
}

// interleaving is a way in which producers of the same event access its bits at once.
type interleaving struct {
	testFirst bool // all bits are tested before any is set
	ordered   bool // all producers access the bits in the same order
	slices    int  // the bits of a slice are accessed at once; 0 for single bits
}

// concurrency counts the deliveries of producers that test the same event at once
// (section 6, "Concurrency").
func concurrency(o result.Options, t *result.Table) {
	const full = .5
	trials := 4_000 * runs(o)
	t.Say(trials)
	ways := []interleaving{{testFirst: true}, {}, {ordered: true}, {ordered: true, slices: 10}, {ordered: true, slices: 2}, {ordered: true, slices: 1}}
	shares := result.Grid(o, len(ways), len(t.Columns), func(way, column int) float64 {
		k, atOnce := 4+column/2*4, 2+column%2*2
		random := rand.New(rand.NewPCG(uint64(column), uint64(way)))
		extra := 0
		for range trials {
			extra += ways[way].trial(random, k, atOnce, full) - 1
		}
		return 100 * (float64(extra) / float64(trials*(atOnce-1)))
	})
	t.Fill("%", func(way, column int) float64 { return shares[way][column] })
}

// trial returns how many producers call an event distinct whose bits, except at least
// one, are set with probability full.
func (w interleaving) trial(random *rand.Rand, k, producers int, full float64) (distinct int) {
	set := make([]bool, k)
	for clear := false; !clear; {
		for i := range set {
			set[i] = random.Float64() < full
			clear = clear || !set[i]
		}
	}
	steps := w.steps(random, k)
	plans := make([][][]int, producers)
	var turns []int
	for p := range plans {
		plans[p] = steps
		if !w.ordered {
			plans[p] = make([][]int, len(steps))
			for i, j := range random.Perm(len(steps)) {
				plans[p][i] = steps[j]
			}
		}
		rounds := len(steps)
		if w.testFirst {
			rounds *= 2
		}
		for range rounds {
			turns = append(turns, p)
		}
	}
	random.Shuffle(len(turns), func(i, j int) { turns[i], turns[j] = turns[j], turns[i] })
	at, missed := make([]int, producers), make([]bool, producers)
	for _, p := range turns {
		testing := at[p] < len(steps)
		for _, bit := range plans[p][at[p]%len(steps)] {
			if testing {
				missed[p] = missed[p] || !set[bit]
			}
			if !w.testFirst || !testing && missed[p] {
				set[bit] = true
			}
		}
		at[p]++
	}
	for _, m := range missed {
		if m {
			distinct++
		}
	}
	return distinct
}

// steps groups the bits that are accessed at once.
func (w interleaving) steps(random *rand.Rand, k int) (steps [][]int) {
	inSlice := map[int]int{} // to its step
	for bit := range k {
		slice := bit
		if w.slices > 0 {
			slice = random.IntN(w.slices)
		}
		at, ok := inSlice[slice]
		if !ok {
			at = len(steps)
			inSlice[slice], steps = at, append(steps, nil)
		}
		steps[at] = append(steps[at], bit)
	}
	return steps
}
