package rivals

import (
	"context"
	"math"

	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
)

// never says that an element did not come before.
const never = -1

// trace is a stream that all filters get, with the truth about each record.
type trace struct {
	elements []uint32
	times    []int64 // nil: a record's time is its place in the stream
	since    []int64 // the time since the element came last, or never
	window   int64   // in the unit of the times; math.MaxInt64 has no end
	from     int     // the record from which errors are counted
	distinct float64 // mean number of different elements in a window, from there on
	most     int     // the largest
}

// newTrace returns the trace of elements, which are numbered without gaps.
func newTrace(elements []uint32, times []int64, window int64, from int) *trace {
	t := &trace{elements: elements, times: times, window: window, from: from}
	t.since = make([]int64, len(elements))
	last := []int64{}
	for i, element := range elements {
		for int(element) >= len(last) {
			last = append(last, never)
		}
		now := t.time(i)
		t.since[i] = never
		if last[element] != never {
			t.since[i] = now - last[element]
		}
		last[element] = now
	}
	if window != math.MaxInt64 {
		t.countDistinct(len(last))
	}
	return t
}

func (t *trace) time(i int) int64 {
	if t.times == nil {
		return int64(i)
	}
	return t.times[i]
}

// countDistinct counts the different elements of the window that ends with each
// record.
func (t *trace) countDistinct(elements int) {
	held := make([]uint32, elements) // records of an element in the window
	first, different, sum := 0, 0, 0.0
	for i, element := range t.elements {
		if held[element]++; held[element] == 1 {
			different++
		}
		for ; t.time(first) <= t.time(i)-t.window; first++ {
			if held[t.elements[first]]--; held[t.elements[first]] == 0 {
				different--
			}
		}
		t.most = max(t.most, different)
		if i >= t.from {
			sum += float64(different)
		}
	}
	t.distinct = sum / float64(len(t.elements)-t.from)
}

// verdicts counts a filter's verdicts beside the truth, by the time since an element
// came last.
type verdicts struct {
	fresh  tally // never before
	inside tally // within the window
	beyond tally // up to twice the window ago
	older  tally
}

// tally counts elements and how many of them were reported.
type tally struct{ all, seen int }

func (t *tally) add(seen bool) {
	t.all++
	if seen {
		t.seen++
	}
}

func (t tally) share() float64 { return float64(t.seen) / float64(max(t.all, 1)) }

func (v *verdicts) add(since, window int64, seen bool) {
	switch {
	case since == never:
		v.fresh.add(seen)
	case since <= window:
		v.inside.add(seen)
	case since-window <= window:
		v.beyond.add(seen)
	default:
		v.older.add(seen)
	}
}

// outside counts all elements that did not come within the window.
func (v verdicts) outside() tally {
	return tally{
		all:  v.fresh.all + v.beyond.all + v.older.all,
		seen: v.fresh.seen + v.beyond.seen + v.older.seen,
	}
}

// fnr returns the share not reported of the elements that came within the window.
func (v verdicts) fnr() float64 {
	return float64(v.inside.all-v.inside.seen) / float64(max(v.inside.all, 1))
}

// run gives the trace to a filter.
func (t *trace) run(ctx context.Context, f Windowed) (verdicts, error) {
	var v verdicts
	const step = 1 << 14 // records between looks at ctx
	for i, element := range t.elements {
		if i%step == 0 && ctx.Err() != nil {
			return v, ctx.Err()
		}
		seen := f.TestAndSet(stream.Digest(uint64(element)), t.time(i))
		if i >= t.from {
			v.add(t.since[i], t.window, seen)
		}
	}
	return v, nil
}
