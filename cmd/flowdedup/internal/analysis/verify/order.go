// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"bytes"
	"container/heap"
	"math"

	"github.com/flowdedup/flowdedup/capture"
)

// Sort says how the input was sorted before anything else was done with it. The zero value
// is not at all.
type Sort struct {
	Span   int64 // nanoseconds that a packet waited for earlier packets, by the times of packets
	Memory int   // bytes of packets that waited at most, 192 for each 128 of a record
	// Sections says that no packet was moved across the header of a section.
	Sections bool
	// Latest takes the time of each packet with a time, and returns the latest time that is
	// believed.
	Latest func(time int64) int64
}

// order brings packets into the order that dedup has brought them into. It does that with the
// heap of the Go library, a packet at a time.
type order struct {
	cfg          Sort
	waits        waits
	number       uint64
	key          int64 // the time of the packet before
	latest, left int64
	memory       int
	check        func(b *capture.Batch)
}

func newOrder(cfg Sort, check func(b *capture.Batch)) *order {
	if cfg.Latest == nil {
		return nil
	}
	return &order{cfg: cfg, key: capture.NoTime, latest: math.MinInt64, left: math.MinInt64, check: check}
}

// add takes packets of the input, and checks the packets that need not wait.
func (o *order) add(b *capture.Batch) {
	block := 0
	for i := range b.Frames {
		for ; block < len(b.Blocks) && int(b.Blocks[block].Before) <= i; block++ {
			if o.cfg.Sections && b.Blocks[block].Type == capture.BlockSectionHeader {
				o.finish()
			}
		}
		o.packet(b, i)
	}
	for ; block < len(b.Blocks); block++ {
		if o.cfg.Sections && b.Blocks[block].Type == capture.BlockSectionHeader {
			o.finish()
		}
	}
}

func (o *order) packet(b *capture.Batch, i int) {
	o.number++
	if at := b.Frames[i].Time; at != capture.NoTime {
		o.key, o.latest = at, o.cfg.Latest(at)
	}
	w := &wait{key: o.key, number: o.number, cells: (int(b.Frames[i].RecordLen) + 127) / 128, packet: single(b, i)}
	if w.key < o.left {
		o.check(&w.packet)
		return
	}
	heap.Push(&o.waits, w)
	o.memory += w.cells * 192
	for len(o.waits) > 0 && (o.due(o.waits[0]) || o.memory > o.cfg.Memory) {
		o.leave()
	}
}

// due reports whether a packet has waited long enough.
func (o *order) due(w *wait) bool {
	return w.key == capture.NoTime || o.latest >= math.MinInt64+o.cfg.Span && w.key <= o.latest-o.cfg.Span
}

func (o *order) leave() {
	w := heap.Pop(&o.waits).(*wait)
	o.memory -= w.cells * 192
	o.left = w.key
	o.check(&w.packet)
}

// finish checks all that wait.
func (o *order) finish() {
	for len(o.waits) > 0 {
		o.leave()
	}
}

// single returns a batch that has only a copy of packet i.
func single(b *capture.Batch, i int) capture.Batch {
	f := b.Frames[i]
	record := bytes.Clone(b.Record(i))
	f.Data, f.Record = f.Data-f.Record, 0
	return capture.Batch{Buf: record, Frames: []capture.Frame{f}, Interfaces: b.Interfaces, Sections: b.Sections}
}

// wait is a packet that waits.
type wait struct {
	key    int64
	number uint64
	cells  int
	packet capture.Batch
}

// waits is a heap.Interface.
type waits []*wait

func (w waits) Len() int      { return len(w) }
func (w waits) Swap(i, k int) { w[i], w[k] = w[k], w[i] }
func (w waits) Less(i, k int) bool {
	return w[i].key < w[k].key || w[i].key == w[k].key && w[i].number < w[k].number
}

// Push implements heap.Interface.
func (w *waits) Push(x any) { *w = append(*w, x.(*wait)) }

// Pop implements heap.Interface.
func (w *waits) Pop() any {
	last := len(*w) - 1
	x := (*w)[last]
	(*w)[last] = nil
	*w = (*w)[:last]
	return x
}
