// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// destination takes the packets of a batch that are not in drop.
type destination interface {
	Write(b *capture.Batch, drop []uint64) error
	// Exactly one of these methods is called, once. commit completes the output, keep ends it as
	// it is, cut short before the end of the packets or not, and discard removes it.
	commit() error
	keep(cut bool) error
	discard() error
	// counts returns the outcome of the packets so far.
	counts() outcome
	// retries reports whether it can be written again after a failure.
	retries() bool
}

// outcome counts the packets of a destination by their fate.
type outcome struct {
	written uint64 // packets that left the program or are in a file
	lost    uint64 // packets that never will
	files   uint64 // complete files of a rotation
	skipped uint64 // blocks that could not be copied
	// elsewhere are files of a rotation that have no name in their folder.
	elsewhere []string
}

// KeptError says where the packets of an output are that did not get its name, because
// the run or the output failed.
type KeptError struct {
	Name, File string
	Err        error // nil if the run reports the reason
}

// Error names both files.
func (k *KeptError) Error() string {
	if k.Err != nil {
		return fmt.Sprintf("%v; what was processed is in %s", k.Err, k.File)
	}
	return fmt.Sprintf("%s was not written; what was processed is in %s", k.Name, k.File)
}

// Unwrap returns the reason.
func (k *KeptError) Unwrap() error { return k.Err }

// output is a destination and its state.
type output struct {
	destination
	*calls  // nil if no call can block
	name    string
	removed bool // it takes the removed packets
	direct  bool // writing does not block
	// records writes gathered records of kept packets to the destination; nil if it cannot.
	records pcapfile.RecordWriter

	share *share // of kept packets, nil for all
	given traffic
	outcome
	failed           error  // why it takes no packets now
	reason           error  // its first failure
	writtenAtFailure uint64 // outcome.written at its last failure
}

// ended reports whether the output takes no more packets.
func (o *output) ended() bool {
	return o.failed != nil && (!o.retries() || errors.Is(o.failed, ErrBlocked))
}

// update reads the counts after a call, unless the call still blocks.
func (o *output) update(err error) {
	if !errors.Is(err, ErrBlocked) {
		o.outcome = o.destination.counts()
	}
}

// settle takes the error of the call that ended the output, so that gathered packets that were
// not written count as lost.
func (o *output) settle(err error) {
	var kept *KeptError
	if err == nil || o.failed != nil || errors.As(err, &kept) && kept.Err == nil {
		return
	}
	o.failed = err
	if o.retries() { // it is not tried again
		o.lost = max(o.lost, o.given.packets-min(o.written, o.given.packets))
	}
}

// missing returns how many of the packets given to the output will never be in it.
func (o *output) missing() uint64 {
	if o.ended() {
		return o.given.packets - min(o.written, o.given.packets)
	}
	return min(o.lost, o.given.packets)
}

// traffic is a number of packets and their captured bytes.
type traffic struct{ packets, bytes uint64 }

func (a *traffic) add(b traffic) {
	a.packets += b.packets
	a.bytes += b.bytes
}

// trafficOf counts the frames of b whose bit is set.
func trafficOf(b *capture.Batch, set []uint64) (a traffic) {
	for w, word := range set {
		a.packets += uint64(bits.OnesCount64(word))
		for ; word != 0; word &= word - 1 {
			a.bytes += uint64(b.Frames[w*64+bits.TrailingZeros64(word)].CapLen)
		}
	}
	return a
}

// trafficBut counts the frames of b that are not in removed: few are removed, mostly.
func trafficBut(b *capture.Batch, removed traffic) traffic {
	all := uint64(0)
	for i := range b.Frames {
		all += uint64(b.Frames[i].CapLen)
	}
	return traffic{uint64(len(b.Frames)) - removed.packets, all - removed.bytes}
}
