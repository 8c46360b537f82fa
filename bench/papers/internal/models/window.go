// SPDX-License-Identifier: Apache-2.0

package models

import (
	"math"
	"math/bits"

	"github.com/flowdedup/flowdedup/bench/papers/internal/forms"
)

const (
	timerBits   = 8  // 255 ticks of a window
	queueBits   = 64 // a digest, from which the positions follow
	counterBits = 4  // 1.4e-15 of the counters overflow at the best K
)

// jumping are Parts + 1 Bloom filters. One is being filled, and the oldest is being
// cleared for the next part. A lookup tests all.
func jumping(r *Request, memory int) (Design, error) {
	filters := r.Parts + 1
	m := memory / filters
	if m < 1 {
		return Design{}, tooSmall(memory, filters, "%d filters", filters)
	}
	part := r.DistinctIn(r.Elements / float64(r.Parts))
	fpr := func(k int) float64 {
		return -math.Expm1(float64(filters) * math.Log1p(-math.Min(bloomFPR(m, k, part), 1-1e-16)))
	}
	k := bloomK(r, fpr)
	if err := requireK(k, m, memory); err != nil {
		return Design{}, err
	}
	return r.Complete(Design{
		Parameters: map[string]int{"K": k, "filters": filters, "m of each": m},
		Bits:       m * filters,
		FPR:        fpr(k),
		// The bits of a position in all filters lie together.
		Lines: float64(k) * linesOfRow(filters),
	}), nil
}

// jumpingCounters is the paper's scheme: each position has a bit for each part, and a
// main counter with their sum.
func jumpingCounters(r *Request, memory int) (Design, error) {
	place := r.Parts + 1 + bits.Len(uint(r.Parts-1))
	m := memory / place
	if m < 1 {
		return Design{}, tooSmall(memory, place, "a counter and its %d parts", r.Parts)
	}
	fpr := func(k int) float64 { return bloomFPR(m, k, r.Window) }
	k := bloomK(r, fpr)
	if err := requireK(k, m, memory); err != nil {
		return Design{}, err
	}
	return r.Complete(Design{
		Parameters: map[string]int{"K": k, "m": m, "Q": r.Parts},
		Bits:       m * place, FPR: fpr(k), Lines: float64(2 * k),
	}), nil
}

// countingQueue is a counting Bloom filter of the last N elements, with a queue of their
// digests.
func countingQueue(r *Request, memory int) (Design, error) {
	width := r.Fixed.CellBits
	if width == 0 {
		width = counterBits
	}
	queue := queueBits * r.Elements
	if least := queue + float64(width); float64(memory) < least {
		return Design{}, impossible("a queue of %.0f elements: %d bits of memory are too few, more than %.0f are needed", r.Elements, memory, queue)
	}
	m := (memory - int(queue)) / width
	fpr := func(k int) float64 { return bloomFPR(m, k, r.Window) }
	k := bloomK(r, fpr)
	if err := requireK(k, m, memory); err != nil {
		return Design{}, err
	}
	return r.Complete(Design{
		Parameters: map[string]int{"K": k, "counters": m, "counter bits": width, "queue": int(r.Elements)},
		Bits:       m*width + int(queue),
		FPR:        fpr(k),
		Lines:      float64(2*k + 1), // the lines of the element that leaves, too
	}), nil
}

// timers are counters that elements set to the window and that lose one in each tick. A
// jumping window has a tick for each part.
func timers(r *Request, memory int) (Design, error) {
	return runningDown(r, memory, func(width int) float64 {
		if r.Kind == Jumping && r.Fixed.CellBits == 0 {
			return float64(r.Parts)
		}
		return float64(int(1)<<width - 1)
	}, timersWidth(r))
}

func timersWidth(r *Request) int {
	if r.Kind == Jumping {
		return forms.TimerBits(r.Parts)
	}
	return timerBits
}

// decaying is the block decaying Bloom filter: counters that all lose one after each
// block. A window has 2^s - 2 blocks.
func decaying(r *Request, memory int) (Design, error) {
	return runningDown(r, memory, func(width int) float64 { return float64(int(1)<<width - 2) }, bits.Len(uint(r.Parts+1)))
}

// runningDown is a Bloom filter of counters of the given width. They run for a window and
// up to one tick longer.
func runningDown(r *Request, memory int, ticks func(width int) float64, width int) (Design, error) {
	if r.Fixed.CellBits != 0 {
		width = r.Fixed.CellBits
	}
	if width < 2 || width > mostQuotientBits {
		return Design{}, impossible("counters of %d bits, must be from 2 to %d", width, mostQuotientBits)
	}
	m := memory / width
	if m < 1 {
		return Design{}, tooSmall(memory, width, "a counter")
	}
	running := r.DistinctIn(r.Elements * (1 + 1/ticks(width)))
	fpr := func(k int) float64 { return bloomFPR(m, k, running) }
	k := bloomK(r, fpr)
	if err := requireK(k, m, memory); err != nil {
		return Design{}, err
	}
	return r.Complete(Design{
		Parameters: map[string]int{"K": k, "counters": m, "counter bits": width, "ticks": int(ticks(width))},
		Bits:       m * width, FPR: fpr(k), Lines: float64(k),
	}), nil
}
