package distributed

import (
	"context"
	"fmt"
	"math"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// source makes the streams.
type source struct {
	domain  int       // elements are below it
	chances []float64 // of the elements
	seeds   int       // streams to run everything with
	events  int       // of a stream
}

// newSource returns the streams of all runs: 3, or 20 with Full.
func newSource(o result.Options) *source {
	s := &source{domain: webLog.domain(), events: events}
	s.chances = make([]float64, s.domain)
	sum := 0.0
	for i := range s.chances {
		s.chances[i] = math.Pow(float64(i+1), -webLog.alpha)
		sum += s.chances[i]
	}
	for i := range s.chances {
		s.chances[i] /= sum
	}
	s.seeds = 3
	if o.Full {
		s.seeds = 20
	}
	return s
}

// stream returns the elements of one stream.
func (s *source) stream(seed int) []uint64 {
	zipf := stream.NewZipf(s.domain, webLog.alpha, uint64(seed))
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
		s.seeds, s.events, webLog.alpha, s.domain, s.distinct(s.events))
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

func newDeliveries(domain, window int) *deliveries {
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

func (s *source) groundTruth(window int) *groundTruth {
	return &groundTruth{newDeliveries(s.domain, window), newDeliveries(s.domain, window)}
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
