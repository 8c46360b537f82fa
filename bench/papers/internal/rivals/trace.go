// SPDX-License-Identifier: Apache-2.0

package rivals

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
)

// never says that an element did not come before.
const never = -1

// trace is a stream for all filters, with the truth about each record.
type trace struct {
	elements []uint32
	times    []int64 // nil: a record's time is its place in the stream
	since    []int64 // the time since the element came last, or never
	window   int64   // in the unit of the times; math.MaxInt64 has no end
	from     int     // the record from which errors are counted
	strict   bool    // elements from before the window are false positives too, or do not count
	distinct float64 // mean number of different elements in a window, from there on
	most     int     // the largest
}

// newTrace returns the trace of elements, which are numbered without gaps.
func newTrace(elements []uint32, times []int64, window int64, from int) *trace {
	t := &trace{elements: elements, times: times, window: window, from: from}
	t.since = make([]int64, len(elements))
	last := slices.Repeat([]int64{never}, int(slices.Max(elements))+1)
	for i, element := range elements {
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

// verdicts scores a filter by whether an element came within the window.
type verdicts struct {
	stream.Score
	late stream.Score // elements that came last up to twice the window ago
}

// run gives the trace to a filter.
func (t *trace) run(f windowed) (v verdicts) {
	for i, element := range t.elements {
		seen := f.TestAndSet(stream.Digest(uint64(element)), t.time(i))
		since := t.since[i]
		fresh, within := since == never, since != never && since <= t.window
		if i < t.from {
			continue
		}
		if fresh || within || t.strict {
			v.Add(within, seen)
		}
		if !fresh && !within && since-t.window <= t.window {
			v.late.Add(false, seen)
		}
	}
	return v
}

// unbounded makes a trace without a window.
func unbounded(elements []uint32) *trace { return newTrace(elements, nil, math.MaxInt64, 0) }

// crawl is the web-like stream.
func crawl(n int) *trace { return unbounded(stream.TenMillion(n).Draw(1, 1)) }

// zipf draws from 2^24 elements with Zipf's law of exponent 1.
func zipf(n int) *trace {
	return unbounded(stream.Numbered(n, stream.Zipf(1<<24, 1, 2)))
}

// uniform has 60 % distinct elements and copies of uniformly chosen ones.
func uniform(n int) *trace {
	return unbounded(stream.Numbered(n, stream.Shuffled(n, n/5*3, 3)))
}

// sliding returns the stream for a sliding window of records: half of the records are
// new, the others repeat one at a lag that is log-uniform up to four windows. Counting
// starts when such lags fit into the stream.
func sliding(n int, window int64) *trace {
	random := rand.New(rand.NewPCG(4, 0))
	elements, next := make([]uint32, n), uint32(0)
	for i := range elements {
		if i == 0 || random.Uint64()&1 == 0 {
			elements[i] = next
			next++
			continue
		}
		longest := math.Log(float64(min(i, 4*int(window))))
		lag := int(math.Exp(random.Float64() * longest))
		elements[i] = elements[i-lag]
	}
	return newTrace(elements, nil, window, min(n/2, 4*int(window)))
}

// packets returns a stream of some n packets with times in nanoseconds, as a tap or
// mirror ports deliver it. New packets come at random times at a million a second on
// average: the rate is twice as high in one fifth of the time as in the rest, in bursts
// of exponential length that last 2 windows on average. Half of the packets come a second
// time, one in ten a third time: log-uniformly from a microsecond to half a window after
// the first. The bytes of one in fifty come again 1.6 to 50 windows later, as beacons and
// keep-alives do, which is no copy.
func packets(n int, window int64) *trace {
	random := rand.New(rand.NewPCG(5, 0))
	between := func(low, high float64) float64 { return low * math.Pow(high/low, random.Float64()) }
	fresh := arrivals{random: random, window: float64(window)}
	var all []packet
	for element := uint32(0); len(all) < n; element++ {
		first := fresh.next()
		add := func(after float64) { all = append(all, packet{int64(first + after), element}) }
		add(0)
		copies := random.IntN(10)
		if copies < 5 {
			add(between(1000, float64(window)/2))
		}
		if copies < 1 {
			add(between(1000, float64(window)/2))
		}
		if random.IntN(50) == 0 {
			add(between(1.6*float64(window), 50*float64(window)))
		}
	}
	slices.SortStableFunc(all, func(a, b packet) int { return cmp.Compare(a.time, b.time) })
	for all[len(all)-1].time > int64(fresh.now) {
		all = all[:len(all)-1] // only late repeats come after the last new packet
	}
	elements, times := make([]uint32, len(all)), make([]int64, len(all))
	for i, p := range all {
		elements[i], times[i] = p.element, p.time
	}
	return newTrace(elements, times, window, len(all)/10)
}

type packet struct {
	time    int64
	element uint32
}

// arrivals are the times of new packets, in nanoseconds: Poisson arrivals at one of two
// rates, which change at random times.
type arrivals struct {
	random *rand.Rand
	window float64
	now    float64
	rate   float64 // packets a nanosecond
	turn   float64 // when the rate is chosen anew
}

func (a *arrivals) next() float64 {
	const calm = 1e-3 / 1.2 // so that the mean is a million a second
	for a.now >= a.turn {
		length := 8 * a.window
		a.rate = calm
		if a.random.IntN(2) == 0 {
			a.rate, length = 2*calm, 2*a.window
		}
		a.turn = a.now + a.random.ExpFloat64()*length
	}
	a.now += a.random.ExpFloat64() / a.rate
	return a.now
}
