// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"io"
	"math"
	"time"

	"github.com/flowdedup/flowdedup/capture"
)

// arrival is a capture, and the batch that it is being delivered from.
type arrival struct {
	mergeInput
	Arrival
	held    *capture.Batch // of which mergeInput.batch is a copy
	arrived time.Time      // of that batch
	silent  time.Time      // since when it has nothing to deliver
	last    int64          // its last time that was delivered; its clock may go back
	before  description    // the capture before it in its slot, as far as that described the same
	full    chan arrivedBatch
	free    chan *capture.Batch
	err     error // why it ended; valid once full is closed

	reports silenceReporter // Source, or nil if it does not report silence
	quiet   bool            // what reports returned last
}

// stoppable may be implemented by an Arrival.Source.
type stoppable interface{ Stop() }

// silenceReporter may be implemented by an Arrival.Source with a Lag.
type silenceReporter interface{ Silent() bool }

type arrivedBatch struct {
	batch *capture.Batch
	at    time.Time
}

// Add begins to read a capture, which the Arrivals then own. It may be called on any
// goroutine. After Stop it closes the capture.
func (a *Arrivals) Add(c Arrival) {
	in := &arrival{Arrival: c, last: math.MinInt64, silent: time.Now()}
	in.owner = in
	if c.Lag > 0 {
		in.reports, _ = c.Source.(silenceReporter)
	}
	in.full, in.free = make(chan arrivedBatch, 1), make(chan *capture.Batch, 2)
	in.free <- new(capture.Batch)
	in.free <- new(capture.Batch)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stopped {
		_ = c.Source.Close() // nothing was read
		return
	}
	in.index = a.number
	a.number++
	a.added = append(a.added, in)
	a.reading[in] = true
	if _, ok := c.Source.(stoppable); ok {
		a.readers.Go(func() { in.read(a) })
	} else {
		go in.read(a) // a read of a silent pipe ends with the process
	}
	a.wake()
}

// wake makes Next look for new batches.
func (a *Arrivals) wake() {
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// read reads the capture to its end.
func (in *arrival) read(a *Arrivals) {
	defer a.wake()
	defer close(in.full)
	defer a.forget(in)
	for {
		var b *capture.Batch
		select {
		case b = <-in.free:
		case <-a.abandoned:
		}
		if b == nil {
			return
		}
		for b.Reset(); len(b.Frames)+len(b.Blocks) == 0; {
			if err := in.Source.Next(b); err != nil {
				if err != io.EOF {
					in.err = err
				}
				return
			}
		}
		select {
		case in.full <- arrivedBatch{b, time.Now()}:
			a.wake()
		case <-a.abandoned:
			return
		}
	}
}

// forget closes a capture that has ended.
func (a *Arrivals) forget(in *arrival) {
	done, _ := in.Source.Offset()
	_ = in.Source.Close() // it was only read
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.reading, in)
	a.ended += done
}
