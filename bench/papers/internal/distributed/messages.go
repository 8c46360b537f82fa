package distributed

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/flowdedup/flowdedup/bench/chart"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// shares are the distinct events of Figure 7(c)'s data sets, of all events.
var shares = []float64{.8, .5, .2}

// figure7c is Figure 7(c): slices accessed for a lookup, with pipelining and without.
func figure7c(ctx context.Context, o result.Options) (result.Table, error) {
	table := result.Table{
		Title: "pipelining: vertical slices accessed for a lookup",
		Setting: fmt.Sprintf("%d events, uniform over as many ids as make 80, 50 and 20 %% of them distinct (Zipf 1.0 has no domain of reasonable size for 80 %%), k = %d, m for 2 %%; first-test-then-set, tests counted; mean of %d runs",
			events, hashes, runs(o)),
		Corner: "slices",
	}
	counts := sliceCounts[1:]
	var jobs []job
	for _, share := range shares {
		for _, pipelined := range []bool{true, false} {
			table.Columns = append(table.Columns, fmt.Sprintf("%g %% distinct, %s", 100*share, accessMode(pipelined)))
			for _, slices := range counts {
				jobs = append(jobs, lookupJob(share, pipelined, slices))
			}
		}
	}
	outcomes, err := measure(ctx, o, jobs)
	if err != nil {
		return table, err
	}
	var x []float64
	for i, slices := range counts {
		var accesses []float64
		for column := range table.Columns {
			accesses = append(accesses, outcomes[column*len(counts)+i].accesses)
		}
		x = append(x, float64(slices))
		table.Rows = append(table.Rows, result.MeasuredRow(fmt.Sprint(slices), "", accesses...))
	}
	table.Charts = pictures("p4-figure7c", chart.Chart{
		Title: "Slices accessed for a lookup", X: "slices", Y: "slices accessed", Lines: table.Lines(x, odd),
	})
	table.Notes = []string{
		"A duplicate's slices are all asked, a distinct event's up to the first clear bit. Without pipelining slices S (1-(1-1/S)^k) are asked, as some of the k hash functions lead to the same one.",
		"Horizontal slicing asks one slice.",
	}
	return table, nil
}

func accessMode(pipelined bool) string {
	if pipelined {
		return "pipelined"
	}
	return "parallel"
}

// lookupJob has as many bits for each distinct event as the synthetic set for 2 %.
func lookupJob(share float64, pipelined bool, slices int) job {
	distinct := int(share * events)
	bits := int(float64(distinct) * float64(synthetic.bits[0]) / float64(synthetic.distinct))
	return job{
		data:   dataset{name: "synthetic, uniform", distinct: distinct},
		way:    vertical,
		config: paper.SlicedConfig{Bits: bits, K: hashes, Slices: slices, FirstTest: true, Pipelined: pipelined},
	}
}

// messages counts what sliced filters send (sections 2, 3.1 and 3.2).
func messages(ctx context.Context, o result.Options) (result.Table, error) {
	const share = .5
	table := result.Table{
		Title: "what an event costs the network",
		Setting: fmt.Sprintf("As p4.figure7c with %g %% distinct events: requests and answers for an event, bits of positions in the requests, and slices tested. Test-and-set sets with the test; first-test-then-set sends distinct events' positions again.",
			100*share),
		Corner: "slicing, primitive",
		Notes: []string{
			"The text has k log2(m/S) bits for a request to horizontal slices. So it is here in parallel, log2 rounded up, twice for distinct events that are set after the test. A pipeline names the slices that are to come, with log2(m) bits a position: fewer answers cost more bits, and first-test-then-set saves most by the requests that distinct events do not need.",
			"The closed form is for pipelined vertical slices tested first, over a filter that fills.",
		},
	}
	counts := []int{10, 40, 100}
	var jobs []job
	type way struct {
		slicing              slicing
		firstTest, pipelined bool
	}
	var ways []way
	for _, s := range slicings {
		for i := range 4 {
			w := way{s, i&2 != 0, i&1 != 0}
			ways = append(ways, w)
			for _, slices := range counts {
				j := lookupJob(share, w.pipelined, slices)
				j.way, j.config.FirstTest = s, w.firstTest
				jobs = append(jobs, j)
			}
		}
	}
	for _, slices := range counts {
		name := fmt.Sprintf("S = %d: ", slices)
		table.Columns = append(table.Columns, name+"messages", name+"bits", name+"slices tested", name+"closed form")
	}
	outcomes, err := measure(ctx, o, jobs)
	if err != nil {
		return table, err
	}
	for i, w := range ways {
		row := result.Row{Name: fmt.Sprintf("%v, %s, %s", w.slicing, map[bool]string{true: "first test", false: "test and set"}[w.firstTest], accessMode(w.pipelined))}
		for c := range counts {
			j := jobs[i*len(counts)+c]
			one := outcomes[i*len(counts)+c]
			closed := result.Cell{Blank: true}
			if w == (way{vertical, true, true}) {
				tests, err := j.expectedTests(share)
				if err != nil {
					return table, err
				}
				closed = result.Measured(tests, "")
			}
			row.Cells = append(row.Cells, result.Measured(one.messages, ""), result.Measured(one.bits, ""), result.Measured(one.accesses, ""), closed)
		}
		table.Rows = append(table.Rows, row)
	}
	return table, nil
}

// expectedTests returns the closed form of the slices that a pipeline tests for an event,
// when a share of events is distinct and the filter fills.
func (j job) expectedTests(share float64) (float64, error) {
	const steps = 50
	form := theory.Sliced{Bits: j.config.Bits, K: j.config.K, Slices: j.config.Slices}
	duplicates, err := form.PipelinedAccesses(1)
	sum := 0.0
	for step := range steps {
		fpr, failed := form.SplitFPR(form.K, j.data.distinct*(2*step+1)/(2*steps))
		if err = errors.Join(err, failed); err != nil {
			return 0, err
		}
		tests, failed := form.PipelinedAccesses(math.Pow(fpr, 1/float64(form.K)))
		if failed != nil {
			return 0, failed
		}
		sum += tests / steps
	}
	return share*sum + (1-share)*duplicates, nil
}
