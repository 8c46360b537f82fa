package distributed

import (
	"context"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// producers is the number of leaves of all trees, as many as first octets of
// addresses: the paper made its hierarchy of the clients' addresses.
const producers = 256

// producerSetting says where events come from.
const producerSetting = "events of the web log's sizes come from 256 leaves, as many as there are first octets of an address, with Zipf 1.0 popularity and independent of the event"

// treeJob is one tree.
type treeJob struct {
	bits    int
	fanOut  []int
	dense   bool
	topDown int
}

// treeOutcome is the mean over the runs of a tree.
type treeOutcome struct {
	levels   []levelShares
	fpr, fnr float64 // in percent
}

// levelShares are the counts of a level, in thousands.
type levelShares struct{ ends, hits, accesses float64 }

// measureTrees gives the web log to each tree, in each of the runs.
func measureTrees(ctx context.Context, o result.Options, jobs []treeJob) ([]treeOutcome, error) {
	count := runs(o)
	drawn := webLog.draw(count)
	each := make([]treeOutcome, len(jobs)*count)
	err := result.Parallel(ctx, len(each), o.Workers, func(i int) (err error) {
		each[i], err = jobs[i/count].run(drawn, i%count)
		return err
	})
	if err != nil {
		return nil, err
	}
	means := make([]treeOutcome, len(jobs))
	for i, one := range each {
		means[i/count].add(one, 1/float64(count))
	}
	return means, nil
}

func (t *treeOutcome) add(one treeOutcome, share float64) {
	if t.levels == nil {
		t.levels = make([]levelShares, len(one.levels))
	}
	for i, level := range one.levels {
		t.levels[i].ends += share * level.ends
		t.levels[i].hits += share * level.hits
		t.levels[i].accesses += share * level.accesses
	}
	t.fpr += share * one.fpr
	t.fnr += share * one.fnr
}

func (j treeJob) run(s streams, run int) (treeOutcome, error) {
	tree, err := paper.NewTree(paper.TreeConfig{Bits: j.bits, K: hashes, FanOut: j.fanOut, Dense: j.dense, TopDown: j.topDown})
	if err != nil {
		return treeOutcome{}, err
	}
	leaves := stream.NewZipf(producers, 1, 2000+uint64(run))
	leafOf := rand.New(rand.NewPCG(uint64(run), 2)).Perm(producers) // popular leaves are anywhere
	var score stream.Score
	known := stream.NewKnown(s.domain)
	for _, id := range s.ids[run] {
		seen := tree.TestAndSetFrom(leafOf[leaves.Next()], digestOf(uint64(run), id))
		score.Add(known.Add(id), seen)
	}
	outcome := treeOutcome{fpr: 100 * score.FPR(), fnr: 100 * score.FNR()}
	for _, level := range tree.Levels() {
		outcome.levels = append(outcome.levels, levelShares{
			ends:     float64(level.Ends) / 1000,
			hits:     float64(level.Hits) / 1000,
			accesses: float64(level.Accesses()) / 1000,
		})
	}
	return outcome, nil
}
