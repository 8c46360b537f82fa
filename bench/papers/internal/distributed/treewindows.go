package distributed

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// treeTimers is a Bloom tree with timers (section 6).
func treeTimers(ctx context.Context, o result.Options) (result.Table, error) {
	s := newSource(o)
	table := result.Table{
		Title: "Bloom trees with timers",
		Setting: s.setting() + fmt.Sprintf(" One event a unit, from one of %d leaves with Zipf 1.0 popularity; trees of 5 levels, k = %d, timers in each node for an FPR of %g %% with the distinct events of a window.",
			producers, hashes, 100*targets[0]),
		Corner: "w, tree",
		Columns: []string{
			"FPR", "FNR", "duplicates found at leaves, of all", "filters tested for an event", "filters set for an event",
		},
		Notes: []string{
			"Sparse and dense trees give the verdicts of one filter of timers, event for event: Propositions 3 and 4 hold with a window, and nothing is missed in it.",
			"Both test first, as the paper has it for windows. A dense tree sets the nodes below the one that knew a duplicate to the time that the copy has left there. Without that time, a window would begin anew at each leaf and hold events back for longer than Definition 4 says.",
		},
	}
	var runs []treeRun
	for _, window := range equalWindows() {
		for _, dense := range []bool{false, true} {
			runs = append(runs, treeRun{window, dense})
		}
	}
	results, err := runAll[treeRun, treeResult](ctx, s, o.Workers, runs)
	if err != nil {
		return table, err
	}
	for i, r := range runs {
		one := results[i]
		all := float64(s.seeds * s.events)
		hits := float64(one.Duplicates - one.FalseNegatives + one.FalsePositives)
		row := result.MeasuredRow(fmt.Sprintf("%d, %s", r.window, densityName(r.dense)), "%", 100*one.FPR(), 100*one.FNR(), 100*one.leafHits/hits)
		row.Cells = append(row.Cells, result.Measured(one.tests/all, ""), result.Measured(one.sets/all, ""))
		table.Rows = append(table.Rows, row)
	}
	return table, nil
}

type treeRun struct {
	window int
	dense  bool
}

type treeResult struct {
	stream.Score
	leafHits, tests, sets float64
}

func (r *treeResult) add(part treeResult) {
	r.Sum(part.Score)
	r.leafHits += part.leafHits
	r.tests += part.tests
	r.sets += part.sets
}

func (r treeRun) one(ctx context.Context, s *source, seed int) (out treeResult, err error) {
	tree, err := paper.NewTree(paper.TreeConfig{
		Bits: size(hashes, s.distinct(r.window), targets[0]), K: hashes, FanOut: fiveLevels, Dense: r.dense, Window: r.window,
	})
	if err != nil {
		return out, err
	}
	truth, leaf := s.groundTruth(r.window), leavesOf(seed)
	err = s.replay(ctx, seed, func(i int, element uint64) {
		unit := uint64(i)
		v := truth.verdict(element, unit, tree.TestAndSetFromAt(leaf(), stream.Digest(element), unit))
		out.Add(v.known, v.seen)
	})
	levels := tree.Levels()
	out.leafHits = float64(levels[len(levels)-1].Hits)
	for _, level := range levels {
		out.tests += float64(level.Tests)
		out.sets += float64(level.Sets)
	}
	return out, err
}

// leavesOf returns the leaves that events come from: popular ones are anywhere.
func leavesOf(run int) (next func() int) {
	leaves := stream.NewZipf(producers, 1, 2000+uint64(run))
	leafOf := rand.New(rand.NewPCG(uint64(run), 2)).Perm(producers)
	return func() int { return leafOf[leaves.Next()] }
}

// lemma1 is a Bloom tree whose root is sliced.
func lemma1(ctx context.Context, o result.Options) (result.Table, error) {
	table := result.Table{
		Title: "Bloom trees with a sliced root",
		Setting: fmt.Sprintf("Lemma 1: a sparse tree of 5 levels below a sliced filter of m = %d, k = %d; nodes of the same size and hash functions; %d events; %s; mean of %d runs. Differing: events that the sliced filter alone calls distinct and the tree duplicates, and the reverse.",
			webLog.bits[0], hashes, events, producerSetting, runs(o)),
		Corner:  "root",
		Columns: []string{"duplicate in the tree only", "distinct in the tree only", "FPR of the tree", "FPR of the filter alone", "FNR of the tree"},
		Notes: []string{
			"With a vertically sliced root Proposition 4 holds, as Lemma 1 says: the tree never calls an event a duplicate that the filter alone calls distinct.",
			"With a horizontal one it does not, as the text says, since the nodes below have other bits: their false positives come on top. An event that such a node holds back never reaches the root, which is why its later copies from other leaves are distinct for the root, or the root less full.",
		},
	}
	type root struct {
		way    slicing
		slices int
	}
	var roots []root
	for _, way := range slicings {
		for _, slices := range []int{1, 10, 40, 100} {
			roots = append(roots, root{way, slices})
		}
	}
	count := runs(o)
	drawn := webLog.draw(count)
	each := make([][5]float64, len(roots)*count)
	err := result.Parallel(ctx, len(each), o.Workers, func(i int) (err error) {
		r := roots[i/count]
		each[i], err = rootRun(r.way, r.slices, drawn, i%count)
		return err
	})
	if err != nil {
		return table, err
	}
	for i, r := range roots {
		var mean [5]float64
		for _, one := range each[i*count : (i+1)*count] {
			for j, value := range one {
				mean[j] += value / float64(count)
			}
		}
		row := result.MeasuredRow(fmt.Sprintf("%v, S = %d", r.way, r.slices), "", mean[:2]...)
		row.Cells = append(row.Cells, result.MeasuredRow("", "%", mean[2:]...).Cells...)
		table.Rows = append(table.Rows, row)
	}
	return table, nil
}

// rootRun returns the numbers of a row of Lemma 1's table.
func rootRun(way slicing, slices int, s streams, run int) (row [5]float64, err error) {
	c := paper.SlicedConfig{Bits: webLog.bits[0], K: hashes, Slices: slices}
	root, err := way.make(c)
	if err != nil {
		return row, err
	}
	alone, err := way.make(c)
	if err != nil {
		return row, err
	}
	tree, err := paper.NewTree(paper.TreeConfig{Bits: c.Bits, K: c.K, FanOut: fiveLevels, Root: root})
	if err != nil {
		return row, err
	}
	var inTree, single stream.Score
	known, leaf := stream.NewKnown(s.domain), leavesOf(run)
	for _, id := range s.ids[run] {
		d, came := digestOf(uint64(run), id), known.Add(id)
		seen, want := tree.TestAndSetFrom(leaf(), d), alone.TestAndSet(d)
		inTree.Add(came, seen)
		single.Add(came, want)
		switch {
		case seen && !want:
			row[0]++
		case want && !seen:
			row[1]++
		}
	}
	row[2], row[3], row[4] = 100*inTree.FPR(), 100*single.FPR(), 100*inTree.FNR()
	return row, nil
}

// interleaving is a way in which producers of the same event access its bits at once.
type interleaving struct {
	name      string
	testFirst bool // all bits are tested before any is set
	ordered   bool // all producers access the bits in the same order
	slices    int  // the bits of a slice are accessed at once; 0 for single bits
}

// concurrency counts what producers deliver when they test the same event at once (section
// 6, "Concurrency").
func concurrency(ctx context.Context, o result.Options) (result.Table, error) {
	const full = .5
	trials := 4_000 * runs(o)
	table := result.Table{
		Title: "concurrent primitives: copies delivered by producers that test at once",
		Setting: fmt.Sprintf("Section 6: producers of the same new event access its k bits in a filter half full, in any interleaving of their accesses, all of which are equally likely; the share of copies, beside the first, that are called distinct as well; %d trials.",
			trials),
		Corner:  "primitive",
		Columns: []string{"k = 4, 2 producers", "k = 4, 4 producers", "k = 8, 2 producers", "k = 8, 4 producers"},
		Notes: []string{
			"The text's example, two producers that test two bits in opposite order, is the second row. In the same order two test-and-set sequences both win a bit with probability (z-1)/(z+1) for z clear bits, which is less.",
			"Locks of slices help as far as the bits of an event share slices: fully for horizontal slices, hardly for vertical ones. A lock of the root of a tree, which the paper advises, makes the last test and set atomic, which is what the last row does.",
		},
	}
	ways := []interleaving{
		{"first test, then set; bit by bit", true, false, 0},
		{"test and set; each in its own order", false, false, 0},
		{"test and set; all in the same order", false, true, 0},
		{"test and set in the same order; 10 vertical slices locked", false, true, 10},
		{"test and set in the same order; 2 vertical slices locked", false, true, 2},
		{"test and set; one horizontal slice, or the root, locked", false, true, 1},
	}
	shares := make([][4]float64, len(ways))
	err := result.Parallel(ctx, 4*len(ways), o.Workers, func(task int) error {
		way, column := task/4, task%4
		k, atOnce := 4+column/2*4, 2+column%2*2
		random := rand.New(rand.NewPCG(uint64(column), uint64(way)))
		extra := 0
		for range trials {
			extra += ways[way].trial(random, k, atOnce, full) - 1
		}
		shares[way][column] = float64(extra) / float64(trials*(atOnce-1))
		return ctx.Err()
	})
	for i, way := range ways {
		var values []float64
		for _, share := range shares[i] {
			values = append(values, 100*share)
		}
		table.Rows = append(table.Rows, result.MeasuredRow(way.name, "%", values...))
	}
	return table, err
}

// trial returns how many producers call an event distinct whose bits are set with
// probability full, but for one at least.
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
