package sliding

import (
	"context"
	"fmt"
	"math"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/theory"
)

const (
	events = 100_000 // in the paper's streams
	// domain is where 100,000 draws give 16,850 distinct elements on average, which
	// the filter sizes printed for the web log lead to with k = 4.
	domain = 33_345
	alpha  = 1.0 // of the Zipf distribution
)

// source makes the streams.
type source struct {
	chances []float64 // of the elements
	seeds   int       // streams to run everything with
	events  int       // of a stream
}

func newSource() *source {
	s := &source{chances: make([]float64, domain), events: events}
	sum := 0.0
	for i := range s.chances {
		s.chances[i] = math.Pow(float64(i+1), -alpha)
		sum += s.chances[i]
	}
	for i := range s.chances {
		s.chances[i] /= sum
	}
	return s
}

// stream returns the elements of one stream.
func (s *source) stream(seed int) []uint64 {
	zipf := stream.NewZipf(domain, alpha, uint64(seed))
	elements := make([]uint64, s.events)
	for i := range elements {
		elements[i] = zipf.Next()
	}
	return elements
}

// distinct returns the expected distinct elements of some events.
func (s *source) distinct(events int) float64 {
	sum := 0.0
	for _, p := range s.chances {
		sum -= math.Expm1(float64(events) * math.Log1p(-p))
	}
	return sum
}

// held returns the expected number of elements that a filter with a window of some events
// holds.
func (s *source) held(events int) (int, error) {
	held, err := theory.TimerContent(s.chances, events)
	return int(math.Round(held)), err
}

// size returns the timers with which k hash functions have the false positive rate
// fpr when n elements are held: -k n / ln(1-fpr^(1/k)).
func size(k int, n, fpr float64) int {
	return int(math.Round(-float64(k) * n / math.Log1p(-math.Pow(fpr, 1/float64(k)))))
}

// setting describes the streams.
func (s *source) setting() string {
	return fmt.Sprintf("%d streams of %d events, the printed number, from a Zipf distribution with exponent %g on %d elements "+
		"(about %.0f of them come; seeds from 1). An event is a duplicate if the filter itself has delivered it in the "+
		"latest w units (Definition 4). FPR is FP/(FP+TN), FNR is FN/(FN+TP).",
		s.seeds, s.events, alpha, domain, s.distinct(s.events))
}

// checkEvery is after how many events a run checks whether it should end.
const checkEvery = 1 << 12

// replay calls event for the elements of one stream in order, until ctx is done.
func (s *source) replay(ctx context.Context, seed int, event func(i int, element uint64)) error {
	for i, element := range s.stream(seed) {
		if i%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		event(i, element)
	}
	return nil
}

// runAll runs each of runs with every seed. It returns the results in the order of runs,
// summed over the seeds.
func runAll[R interface {
	one(ctx context.Context, s *source, seed int) (P, error)
}, P any, Sum interface {
	*P
	add(part P)
}](ctx context.Context, s *source, workers int, runs []R) ([]P, error) {
	parts := make([]P, len(runs)*s.seeds)
	err := result.Parallel(ctx, len(parts), workers, func(i int) (err error) {
		parts[i], err = runs[i/s.seeds].one(ctx, s, i%s.seeds+1)
		return err
	})
	if err != nil {
		return nil, err
	}
	results := make([]P, len(runs))
	for i, part := range parts {
		Sum(&results[i/s.seeds]).add(part)
	}
	return results, nil
}

// deliveries holds the unit in which each element was last delivered.
type deliveries struct {
	afterUnit []uint64 // one more than the unit; 0 if never
	window    uint64
}

func newDeliveries(window int) *deliveries {
	return &deliveries{make([]uint64, domain), uint64(window)}
}

// recent reports whether the element was delivered in the window that ends with unit.
func (d *deliveries) recent(element, unit uint64) bool {
	after := d.afterUnit[element]
	return after > 0 && unit-(after-1) < d.window
}

func (d *deliveries) add(element, unit uint64) { d.afterUnit[element] = unit + 1 }

// verdict is a filter's answer for an event, with the truth in both meanings.
type verdict struct {
	seen         bool
	known        bool // the filter itself delivered the element in the window
	perfectKnown bool // a filter without errors did
}

// groundTruth follows a filter's deliveries, and those of a filter without errors.
type groundTruth struct {
	own, perfect *deliveries
}

func newGroundTruth(window int) *groundTruth {
	return &groundTruth{newDeliveries(window), newDeliveries(window)}
}

// verdict takes the filter's answer for the next event.
func (j *groundTruth) verdict(element, unit uint64, seen bool) verdict {
	v := verdict{seen, j.own.recent(element, unit), j.perfect.recent(element, unit)}
	if !v.seen {
		j.own.add(element, unit)
	}
	if !v.perfectKnown {
		j.perfect.add(element, unit)
	}
	return v
}

// Experiment returns Figures 9 to 11.
func Experiment() result.Experiment {
	return result.Experiment{
		Paper:  "p4",
		Title:  "One is Enough: Distributed Filtering for Duplicate Elimination",
		Tables: []string{"p4.figure9", "p4.figure10", "p4.figure11"},
		Run:    run,
	}
}

func run(ctx context.Context, name string, o result.Options) (result.Table, error) {
	s := newSource()
	s.seeds = 3
	if o.Full {
		s.seeds = 20 // the streams have the printed size anyway
	}
	return figure(ctx, name, s, o.Workers)
}

func figure(ctx context.Context, name string, s *source, workers int) (result.Table, error) {
	switch name {
	case "p4.figure9":
		return figure9(ctx, s, workers)
	case "p4.figure10":
		return figure10(ctx, s, workers)
	case "p4.figure11":
		return figure11(ctx, s, workers)
	}
	return result.Table{}, fmt.Errorf("sliding: no table %q", name)
}
