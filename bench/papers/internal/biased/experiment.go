package biased

import (
	"context"
	"fmt"
	"math"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
)

// scaledBy divides the printed sizes in a default run.
const scaledBy = 64

// Experiment returns Tables 1 to 9.
func Experiment() result.Experiment {
	e := result.Experiment{
		Paper: "p1",
		Title: "Advanced Bloom Filter Based Algorithms for Efficient Approximate Data De-Duplication in Streams",
		Run: func(ctx context.Context, name string, o result.Options) (result.Table, error) {
			scale := scaledBy
			if o.Full {
				scale = 1
			}
			return run(ctx, name, scale, o.Workers)
		},
	}
	for _, t := range tables() {
		e.Tables = append(e.Tables, t.name)
	}
	return e
}

func run(ctx context.Context, name string, scale, workers int) (result.Table, error) {
	for _, t := range tables() {
		if t.name == name {
			return t.make(ctx, scale, workers)
		}
	}
	return result.Table{}, fmt.Errorf("biased: no table %q", name)
}

// make runs a table, one task for each memory size. The largest begins first, as
// it takes longest.
func (t table) make(ctx context.Context, scale, workers int) (result.Table, error) {
	s := t.size(scale)
	scores := make([][]stream.Score, len(t.memories))
	err := result.Parallel(ctx, len(t.memories), workers, func(task int) (err error) {
		i := len(t.memories) - 1 - task
		scores[i], err = t.scores(ctx, t.memories[i].megabytes, s)
		return err
	})
	if err != nil {
		return result.Table{}, err
	}
	return t.compare(s, scores), nil
}

// compare sets the rates measured beside those printed.
func (t table) compare(s size, scores [][]stream.Score) result.Table {
	out := result.Table{
		Name:    t.name,
		Title:   fmt.Sprintf("%s, %dM elements, %d %% distinct", t.title, t.millions, t.percent),
		Setting: t.setting(s),
		Corner:  "memory, rate",
		Notes:   append([]string{t.fewest(scores)}, t.misprints...),
	}
	for _, m := range t.methods {
		out.Columns = append(out.Columns, m.name)
	}
	for i, m := range t.memories {
		fpr := result.Row{Name: fmt.Sprintf("%d MB, FPR", m.megabytes)}
		fnr := result.Row{Name: fmt.Sprintf("%d MB, FNR", m.megabytes)}
		for j, score := range scores[i] {
			fpr.Cells = append(fpr.Cells, result.Compared(100*score.FPR(), m.fpr[j], "%"))
			fnr.Cells = append(fnr.Cells, result.Compared(100*score.FNR(), m.fnr[j], "%"))
		}
		out.Rows = append(out.Rows, fpr, fnr)
	}
	return out
}

func (t table) setting(s size) string {
	sizes := "The printed sizes."
	if s.scale > 1 {
		sizes = fmt.Sprintf("N and memory are the printed ones divided by %d, which keeps the rates.", s.scale)
	}
	return fmt.Sprintf("%d elements, %d of them distinct: each at least once, the others copies of uniformly chosen ones, "+
		"all in random order (seed %d). %s A MB is 2^20 bytes. FPR is false positives per distinct element, "+
		"FNR misses per duplicate.%s", s.elements, s.distinct, streamSeed, sizes, t.parameters)
}

// fewest says how exact the table can be: the standard deviation of the rate with
// the fewest errors behind it.
func (t table) fewest(scores [][]stream.Score) string {
	least, where := math.MaxInt, ""
	for i, m := range t.memories {
		for j, score := range scores[i] {
			if n := score.FalsePositives; n < least {
				least, where = n, fmt.Sprintf("FPR of %s at %d MB", t.methods[j].name, m.megabytes)
			}
			if n := score.FalseNegatives; n < least {
				least, where = n, fmt.Sprintf("FNR of %s at %d MB", t.methods[j].name, m.megabytes)
			}
		}
	}
	return fmt.Sprintf("The fewest errors counted for a rate are %d (%s): a standard deviation of %.1f %%. All others are closer.",
		least, where, 100/math.Sqrt(float64(max(least, 1))))
}
