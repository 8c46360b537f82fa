// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flowdedup/flowdedup/capture"
)

// Arrivals is the Source of captures that come over a network: each begins at any time, and may be
// silent for long. It merges them in the order of their times, as Merge does, but waits for none
// longer than its wait.
//
// Each capture is read on a goroutine of its own, at most one batch ahead. So a capture
// whose packets cannot be delivered yet is not read on, and memory is two batches each.
type Arrivals struct {
	multiSource
	wait      time.Duration
	idle      time.Duration // 0 for no end
	heap      mergeHeap
	pending   []*arrival // captures with nothing to deliver now
	latest    int64      // the latest time that was delivered, unless its capture went back: see count
	slots     map[slot]*slotTables
	described map[string]int  // sections or interfaces, by peer
	ofPeers   int             // their sum
	full      atomic.Bool     // a peer found no room for its sections or interfaces
	changed   chan struct{}   // something was added, has come or has ended
	counts    []arrivalCounts // by input

	mu       sync.Mutex
	added    []*arrival // not known to Next yet
	reading  map[*arrival]bool
	expected map[*expectation]bool
	ended    int64 // bytes of ended captures
	number   int   // of added captures
	stopped  bool
	readers  sync.WaitGroup // of captures that can be stopped

	abandoned chan struct{} // closed when nothing is delivered any more
}

// Arrival is a capture that begins.
type Arrival struct {
	// Source is the capture. If it has a method Stop, that ends its Next, on any goroutine,
	// with io.EOF.
	Source capture.Source
	// Input is the number of the input that it belongs to.
	Input int
	// Slot names where it comes from, if not empty. One that comes later under the same
	// name, as the same input, has the same capture points. Interfaces of a pcap stream
	// have that name.
	Slot string
	// Patient says that packets of others wait for this capture as long as it takes.
	Patient bool
	// Lag is for captures whose times are times of arrival: the next packet came at most Lag
	// ago, or since they were last asked. Packets of others wait for that. 0 is for captures
	// with other times. If Source has a method Silent, that reports whether a Next waits and
	// nothing has come. While it does not, packets of others wait as long as it takes: a
	// machine that is busy may read late what came early.
	Lag time.Duration
}

// slot is a Slot of an input.
type slot struct {
	input int
	name  string
}

// expectation keeps the stream open while more may be added.
type expectation struct{ stop func() }

// NewArrivals returns a source of captures that belong to inputs of these names. A packet
// waits at most wait for earlier packets of other captures, counted from its arrival. Captures
// that have been silent for that long are not waited for.
func NewArrivals(names []string, wait time.Duration) *Arrivals {
	a := &Arrivals{
		wait: wait, latest: math.MinInt64, slots: map[slot]*slotTables{}, described: map[string]int{}, changed: make(chan struct{}, 1),
		reading: map[*arrival]bool{}, expected: map[*expectation]bool{}, abandoned: make(chan struct{}),
		counts: make([]arrivalCounts, len(names)),
	}
	a.names = names
	return a
}

// SetIdle makes Next return an empty batch when there was nothing to deliver for a time.
// It must be called before Next.
func (a *Arrivals) SetIdle(d time.Duration) { a.idle = d }

// Expect keeps the stream open until done is called. Stop calls stop, once, unless done
// was called before. Expect may be called on any goroutine.
func (a *Arrivals) Expect(stop func()) (done func()) {
	e := &expectation{stop}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.expected[e] = true
	return func() {
		a.mu.Lock()
		delete(a.expected, e)
		a.mu.Unlock()
		a.wake()
	}
}

// Next delivers packets that may leave, and waits if there are none; see Source and SetIdle.
func (a *Arrivals) Next(b *capture.Batch) error {
	b.Reset()
	now := time.Now()
	idle := now.Add(a.idle)
	for ; ; now = time.Now() {
		deadline := a.fill(b, now)
		over := len(b.Frames)+len(b.Blocks) == 0 && a.over()
		b.Interfaces, b.Sections = a.tables()
		switch {
		case over:
			return a.outcome()
		case len(b.Frames)+len(b.Blocks) > 0, a.idle > 0 && !now.Before(idle):
			return nil
		case a.idle > 0 && (deadline.IsZero() || idle.Before(deadline)):
			deadline = idle
		}
		a.sleep(deadline)
	}
}

// sleep waits for something new, or for the deadline unless that is zero.
func (a *Arrivals) sleep(deadline time.Time) {
	var timeout <-chan time.Time
	if !deadline.IsZero() {
		t := time.NewTimer(time.Until(deadline))
		defer t.Stop()
		timeout = t.C
	}
	select {
	case <-a.changed:
	case <-timeout:
	}
}

// over reports whether nothing is left and nothing can come.
func (a *Arrivals) over() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.heap)+len(a.pending)+len(a.added) == 0 && (a.stopped || len(a.expected) == 0)
}

// fill delivers packets that may leave now. The deadline is when more packets may leave, zero if
// none waits.
func (a *Arrivals) fill(b *capture.Batch, now time.Time) (deadline time.Time) {
	for {
		a.ask()
		a.collect()
		until, deadline := a.deliverUntil(now)
		if len(a.heap) == 0 || a.heap[0].key > until || len(b.Buf) >= mergeTarget {
			return deadline
		}
		for drained := false; !drained && len(b.Buf) < mergeTarget && a.heap[0].key <= until; {
			drained = a.deliver(b, until, now)
		}
	}
}

// ask asks captures whether they are silent. Packets that they delivered by then are collected
// next.
func (a *Arrivals) ask() {
	for _, in := range a.pending {
		if in.reports != nil {
			in.quiet = in.reports.Silent()
		}
	}
}

// collect takes new batches of captures that had nothing to deliver, and drops captures that
// have ended.
func (a *Arrivals) collect() {
	a.mu.Lock()
	a.pending = append(a.pending, a.added...)
	clear(a.added)
	a.added = a.added[:0]
	stopped := a.stopped
	a.mu.Unlock()
	a.pending = slices.DeleteFunc(a.pending, func(in *arrival) bool {
		select {
		case got, ok := <-in.full:
			if ok {
				return a.take(in, got)
			}
			if in.err != nil {
				a.fail(in.err)
			}
			return true
		default:
			_, ends := in.Source.(stoppable)
			return stopped && !ends
		}
	})
}

// take makes got the current batch of its capture. It returns false if the batch holds only
// known descriptions.
func (a *Arrivals) take(in *arrival, got arrivedBatch) bool {
	in.held, in.batch, in.arrived = got.batch, *got.batch, got.at
	in.frame, in.block = 0, 0
	if err := a.learn(in); err != nil {
		close(in.free)
		switch s := in.Source.(type) {
		case refusable:
			err = s.Refuse(err)
		case stoppable:
			s.Stop()
		}
		if err != nil {
			a.fail(err)
		}
		return true
	}
	if !in.setKey() {
		in.free <- in.held
		return false
	}
	a.heap.push(&in.mergeInput)
	return true
}

// maxErrors bounds the errors that are kept for the end.
const maxErrors = 16

func (a *Arrivals) fail(err error) {
	if len(a.errs) < maxErrors {
		a.errs = append(a.errs, err)
	}
}

// askAgain is when a capture that is not silent is asked again: the new packets may not
// decide.
const askAgain = time.Millisecond

// deliverUntil returns up to which time packets may leave now, and when more packets may leave: zero
// if none waits, or if they wait as long as it takes. The next packet of a capture is not before
// the capture's last packet, unless its times step back, nor before its Lag.
func (a *Arrivals) deliverUntil(now time.Time) (until int64, deadline time.Time) {
	until = math.MaxInt64
	patient, lag, again := until, time.Duration(0), time.Time{}
	for _, in := range a.pending {
		end := in.silent.Add(cmp.Or(in.Lag, a.wait))
		switch {
		case in.Patient:
			patient = min(patient, in.last)
		case in.reports != nil && !in.quiet:
			patient, again = min(patient, in.last), now.Add(askAgain)
		case in.Lag > 0 && (in.quiet || !end.After(now)):
			until = min(until, now.Add(-in.Lag).UnixNano())
			lag = max(lag, in.Lag)
		case end.After(now):
			until = min(until, in.last)
			if end.After(deadline) {
				deadline = end
			}
		}
	}
	for _, in := range a.heap {
		due := in.owner.arrived.Add(a.wait)
		if !due.After(now) {
			until = max(until, in.key, in.lastTime())
		} else if due.Before(deadline) {
			deadline = due
		}
	}
	switch {
	case patient < until && len(a.heap) == 0:
		return patient, time.Time{} // the reader wakes Next
	case patient < until:
		return patient, again
	}
	if lag > 0 && len(a.heap) > 0 {
		if due := time.Unix(0, a.heap[0].key).Add(lag); deadline.IsZero() || due.Before(deadline) {
			deadline = due
		}
	}
	return until, deadline
}

// deliver delivers from the capture on top of the heap, up to a time. It reports whether its
// batch was delivered whole.
func (a *Arrivals) deliver(b *capture.Batch, until int64, now time.Time) (drained bool) {
	from := len(b.Frames)
	top, drained := a.heap.deliver(b, until)
	in := top.owner
	a.count(in, b.Frames[from:])
	if !drained {
		return false
	}
	in.silent = now
	in.free <- in.held // it has room for both
	a.pending = append(a.pending, in)
	return true
}

// Offset returns the bytes that were read of all captures. Their size is unknown.
func (a *Arrivals) Offset() (done, total int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	done = a.ended
	for in := range a.reading {
		n, _ := in.Source.Offset()
		done += n
	}
	return done, 0
}

// Size returns 0: unknown.
func (a *Arrivals) Size() int64 { return 0 }

// Stop ends the captures that can be stopped. Next delivers packets that were read of them,
// and leaves the others where they are. It may be called on any goroutine.
func (a *Arrivals) Stop() {
	a.mu.Lock()
	var stops []func()
	if !a.stopped {
		for e := range a.expected {
			stops = append(stops, e.stop)
		}
		for in := range a.reading {
			if s, ok := in.Source.(stoppable); ok {
				stops = append(stops, s.Stop)
			}
		}
	}
	a.stopped = true
	a.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
	a.wake()
}

// Close ends everything. It waits for the goroutines of captures that can be stopped. It
// must not be called during Next, nor more than once.
func (a *Arrivals) Close() error {
	a.Stop()
	close(a.abandoned)
	a.readers.Wait()
	return nil
}
