// SPDX-License-Identifier: Apache-2.0

package distributed

import (
	"fmt"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/bench/papers/internal/forms"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// producers is the number of leaves of all trees, as many as first octets of
// addresses: the paper made its hierarchy of the clients' addresses.
const producers = 256

// leavesOf returns the leaves that events come from: popular ones are anywhere.
func leavesOf(run int) (next func() int) {
	leaves := sideBySide(run)
	leafOf := rand.New(rand.NewPCG(uint64(run), 2)).Perm(producers)
	return func() int { return leafOf[leaves()] }
}

// sideBySide returns leaves with the popular ones next to each other, as prefixes of
// addresses may be.
func sideBySide(run int) (next func() int) {
	leaves := stream.Zipf(producers, 1, 2000+uint64(run))
	return func() int { return int(leaves()) }
}

// fromLeaves is a tree that gets each event at its leaf.
type fromLeaves struct {
	*paper.Tree
	leaf func() int
}

func (t fromLeaves) TestAndSet(d digest.Digest) (seen bool) { return t.TestAndSetFrom(t.leaf(), d) }

// fiveLevels is the fan-out of the five-level tree: each level distinguishes two bits of
// the first octet.
var fiveLevels = []int{4, 4, 4, 4}

// treeOutcome is the mean over the runs of a tree.
type treeOutcome struct {
	levels   []levelShares
	fpr, fnr float64 // in percent
}

// levelShares are the counts of a level, in thousands.
type levelShares struct{ ends, hits, accesses float64 }

// measureTrees gives the web log to each tree, in each of the runs, from leaves of a kind.
func measureTrees(o result.Options, trees []paper.TreeConfig, leaves func(run int) (next func() int)) []treeOutcome {
	streams := webLog.streams(o)
	share := 1 / float64(len(streams))
	return result.Map(o, trees, func(c paper.TreeConfig) treeOutcome {
		c.K = hashes
		mean := treeOutcome{levels: make([]levelShares, len(c.FanOut)+1)}
		for run, ids := range streams {
			tree, leaf := result.Must(paper.NewTree(c)), leaves(run)
			score := webLog.source(run, ids).Scores(len(ids), fromLeaves{tree, leaf})[0]
			mean.fpr += 100 * share * score.FPR()
			mean.fnr += 100 * share * score.FNR()
			for i, level := range tree.Levels() {
				mean.levels[i].ends += share / 1000 * float64(level.Ends)
				mean.levels[i].hits += share / 1000 * float64(level.Hits)
				mean.levels[i].accesses += share / 1000 * float64(level.Accesses())
			}
		}
		return mean
	})
}

// denseAndSparse measures a tree of each kind.
func denseAndSparse(o result.Options, fanOut []int) (dense, sparse []levelShares) {
	outcomes := measureTrees(o, []paper.TreeConfig{
		{Bits: webLog.bits[0], FanOut: fanOut, Dense: true}, {Bits: webLog.bits[0], FanOut: fanOut},
	}, leavesOf)
	return outcomes[0].levels, outcomes[1].levels
}

// figure12 is Figure 12(a) and (b): the levels of a tree at work.
func figure12(o result.Options, t *result.Table) {
	t.Say(runs(o))
	dense, sparse := denseAndSparse(o, fiveLevels)
	var climbed, level []float64
	for i := range dense {
		level, climbed = append(level, float64(i)), append(climbed, float64(len(dense)-i))
	}
	t.Fill("K", func(i, column int) float64 {
		d, s := dense[i], sparse[i]
		return []float64{d.ends, s.ends, d.hits, s.hits, d.accesses, s.accesses}[column]
	})
	t.Draw(0, t.Lines(climbed, odd)[:2]...)
	t.Draw(1, t.Lines(level, odd)[4:]...)
}

// figure12c is Figure 12(c): the top-down heuristic by its threshold level.
func figure12c(o result.Options, t *result.Table) {
	x := []float64{0, 1, 2, 3, 4} // to the leaves' level
	result.AddRows(t, x...)
	trees := func(bits int, dense bool) (all []paper.TreeConfig) {
		for d := range x {
			all = append(all, paper.TreeConfig{Bits: bits, FanOut: fiveLevels, Dense: dense, TopDown: d})
		}
		return all
	}
	var last [2][]treeOutcome // sparse and dense for the last target
	for i := range targets {
		for j, dense := range []bool{false, true} {
			last[j] = measureTrees(o, trees(webLog.bits[i], dense), leavesOf)
			t.AddEach("", "%", func(d int) float64 { return last[j][d].fpr })
			t.AddEach("", "%", func(d int) float64 { return last[j][d].fnr })
		}
	}
	t.Draw(0, t.Lines(x, odd)...)
	for i := range targets {
		t.AddEach("", "%", func(d int) float64 { return 100 * topDownBound(webLog.bits[i], d) })
	}
	neighbors := measureTrees(o, trees(webLog.bits[len(targets)-1], false), sideBySide)
	t.AddEach("", "%", func(d int) float64 { return neighbors[d].fpr })
	sparse, dense, leaves := last[0], last[1], len(fiveLevels)
	t.Say(runs(o), sparse[2].fpr, dense[2].fpr, sparse[leaves].fpr, dense[leaves].fpr)
}

// topDownBound returns the closed form for a sparse tree with even leaves, over a stream.
func topDownBound(bits, d int) float64 {
	form := forms.Tree{Bits: bits, K: hashes, FanOut: fiveLevels}
	return result.MeanOver(0, webLog.distinct, 50, func(n int) float64 { return form.SparseTopDownFPR(n, d) })
}

// table1 is Table 1: local filters.
func table1(o result.Options, t *result.Table) {
	t.Say(runs(o))
	dense, sparse := denseAndSparse(o, []int{producers})
	t.Fill("K", func(i, column int) float64 {
		return []float64{dense[i].hits, sparse[i].hits, dense[i].accesses, sparse[i].accesses}[column]
	})
}

// lemma1 is a Bloom tree whose root is sliced.
func lemma1(o result.Options, t *result.Table) {
	t.Say(runs(o))
	counts := []int{1, 10, 40, 100}
	streams := webLog.streams(o)
	for _, rows := range result.Grid(o, len(slicings), len(counts), func(way, count int) result.Row {
		var duplicate, distinct, inTree, inFilter, missed float64
		config := paper.SlicedConfig{Bits: webLog.bits[0], K: hashes, Slices: counts[count]}
		for run, ids := range streams {
			alone, leaf := slicings[way].make(config), leavesOf(run)
			tree := result.Must(paper.NewTree(paper.TreeConfig{
				Bits: config.Bits, K: hashes, FanOut: fiveLevels, Sliced: paper.OnlyRoot(slicings[way].make(config)),
			}))
			var score, single stream.Score
			known := stream.NewKnown(webLog.domain)
			for _, id := range ids {
				d, came := digestOf(run, id), known.Add(id)
				seen, want := tree.TestAndSetFrom(leaf(), d), alone.TestAndSet(d)
				score.Add(came, seen)
				single.Add(came, want)
				switch {
				case seen && !want:
					duplicate++
				case want && !seen:
					distinct++
				}
			}
			inTree, inFilter, missed = inTree+100*score.FPR(), inFilter+100*single.FPR(), missed+100*score.FNR()
		}
		n := float64(len(streams))
		return result.MeasuredRow(fmt.Sprintf("%v, S = %d", slicings[way], config.Slices), "", duplicate/n, distinct/n).
			And("%", inTree/n, inFilter/n, missed/n)
	}) {
		t.Rows = append(t.Rows, rows...)
	}
}

// treeTimers is a Bloom tree with timers (section 6).
func treeTimers(o result.Options, t *result.Table) {
	s := newSource(o)
	t.Say(s.setting())
	var trees []paper.TreeConfig
	for _, window := range equalWindows {
		for _, dense := range []bool{false, true} {
			trees = append(trees, paper.TreeConfig{
				Bits: size(hashes, s.distinct(window), targets[0]), K: hashes, FanOut: fiveLevels, Dense: dense, Window: window,
			})
		}
	}
	outcomes := result.Grid(o, len(trees), s.seeds, func(tree, seed int) timedTree { return measureTimed(s, trees[tree], seed+1) })
	for i, c := range trees {
		kind := map[bool]string{true: "dense", false: "sparse"}[c.Dense]
		cells := []result.Cell{
			result.SpreadOf(outcomes[i], func(r timedTree) float64 { return r.FPR() }),
			result.SpreadOf(outcomes[i], func(r timedTree) float64 { return r.FNR() }),
			result.SpreadOf(outcomes[i], func(r timedTree) float64 { return r.atLeaves }),
		}
		tests, sets := 0.0, 0.0
		for _, r := range outcomes[i] {
			tests, sets = tests+r.tests/float64(s.seeds), sets+r.sets/float64(s.seeds)
		}
		t.Rows = append(t.Rows, result.Row{Name: fmt.Sprintf("%d, %s", c.Window, kind), Cells: cells}.And("", tests, sets))
	}
}

// timedTree is the outcome of a tree with timers for one stream.
type timedTree struct {
	stream.Score
	atLeaves    float64 // the share of the duplicates found that leaves found
	tests, sets float64 // filters for an event
}

// measureTimed runs the stream of a seed.
func measureTimed(s *source, c paper.TreeConfig, seed int) (out timedTree) {
	tree, truth, leaf := result.Must(paper.NewTree(c)), s.groundTruth(c.Window), leavesOf(seed)
	for i, element := range s.stream(seed) {
		unit := uint64(i)
		out.Sum(truth.score(element, unit, tree.TestAndSetFromAt(leaf(), stream.Digest(element), unit)).own)
	}
	levels := tree.Levels()
	found := out.Duplicates - out.FalseNegatives + out.FalsePositives
	out.atLeaves = float64(levels[len(levels)-1].Hits) / float64(found)
	for _, level := range levels {
		out.tests += float64(level.Tests) / float64(s.events)
		out.sets += float64(level.Sets) / float64(s.events)
	}
	return out
}
