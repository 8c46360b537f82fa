// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"unsafe"

	"github.com/flowdedup/flowdedup/asm/frames"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// Tally counts packets that follow each other in a stream.
type Tally struct {
	Packets, Bytes      uint64                 // captured bytes
	NonIP               uint64                 // packets without an IP header
	Unopened            headers.UnopenedCounts // packets without IP, and tunnels, that were not opened
	Truncated           uint64                 // packets captured in part: see identity.Messages.Truncated
	OutOfOrder, Untimed uint64                 // packets older than the packet before, and without a time
	// First and Last are the times of the first and the last packet that have one, or
	// capture.NoTime.
	First, Last int64
}

// NewTally returns the tally of no packets.
func NewTally() Tally { return Tally{First: capture.NoTime, Last: capture.NoTime} }

// add adds packets behind those added before, and writes their usable times.
func (t *Tally) add(times []int64, all []capture.Frame, protocols []headers.Protocol) {
	t.Packets += uint64(len(all))
	t.NonIP += nonIP(protocols)
	s := frames.Sums{}
	for len(all) > 0 {
		n := frames.Sum(times, frames.Of(all), t.Last, &s)
		if n > 0 {
			t.see(all[0].Time)
			t.Last = all[n-1].Time
		}
		for ; n < len(all) && !calendar.HasTime(all[n].Time); n++ {
			times[n] = calendar.NoTime
			t.addUntimed(&all[n])
		}
		times, all = times[n:], all[n:]
	}
	t.Bytes += s.Bytes
	t.OutOfOrder += s.Older
}

// unopened counts, among packets from number from on, those without IP that d did not open.
func (t *Tally) unopened(d *headers.Decoder, b *capture.Batch, from int, protocols []headers.Protocol) {
	for i, p := range protocols {
		if p == headers.NonIP {
			t.countUnopened(d, b, from+i)
		}
	}
}

// countUnopened counts packet i if d did not open it, or a tunnel in it.
func (t *Tally) countUnopened(d *headers.Decoder, b *capture.Batch, i int) {
	if what, ok := d.Unopened(b, i); ok {
		t.Unopened.Count(what, 1)
	}
}

// nonIP counts packets without an IP header, four at a time: numbers of 16 bits in a word.
//
//	protocols         0006 0100 0011 0100
//	>> 8 &            0001 0001 0001 0001
//	                  0000 0001 0000 0001
//	sum of the four   2: of 1 << 13 words less than 1 << 16
func nonIP(protocols []headers.Protocol) (n uint64) {
	const each, most = 0x0001_0001_0001_0001, 1 << 13
	for len(protocols) >= 4 {
		words := unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(protocols))), min(len(protocols)/4, most))
		sums := uint64(0)
		for _, four := range words {
			sums += four >> 8 & each
		}
		n += sums * each >> 48
		protocols = protocols[4*len(words):]
	}
	for _, p := range protocols {
		n += uint64(p / headers.NonIP)
	}
	return n
}

// addUntimed adds a packet whose time is not usable.
func (t *Tally) addUntimed(f *capture.Frame) {
	t.Bytes += uint64(f.CapLen)
	if f.Time == capture.NoTime {
		t.Untimed++
		return
	}
	t.see(f.Time) // it is later than all others
	t.Last = f.Time
}

// see notes the time of the first packet that has one.
func (t *Tally) see(time int64) {
	if t.First == capture.NoTime {
		t.First = time
	}
}

// EqualTimes reports whether several packets have a time, and all have the same: then windows of
// time say nothing.
func (t *Tally) EqualTimes() bool {
	return t.Packets-t.Untimed > 1 && t.First == t.Last && t.OutOfOrder == 0
}

// merge appends the counts of the packets after those of t.
func (t *Tally) merge(next *Tally) {
	t.Packets += next.Packets
	t.Bytes += next.Bytes
	t.NonIP += next.NonIP
	t.Unopened.Add(&next.Unopened)
	t.Truncated += next.Truncated
	t.Untimed += next.Untimed
	t.OutOfOrder += next.OutOfOrder
	if next.Last == capture.NoTime {
		return
	}
	if next.First < t.Last {
		t.OutOfOrder++
	}
	t.see(next.First)
	t.Last = next.Last
}
