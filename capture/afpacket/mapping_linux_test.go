// SPDX-License-Identifier: Apache-2.0

package afpacket

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/labtest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
)

// inFlight are batches in place that are held at the same time, with what they must hold.
type inFlight struct {
	t    *testing.T
	src  *Capture
	sent int
	want map[*capture.Batch][]byte // the first frame
}

// next sends a hundred frames, and takes a batch of received frames.
func (f *inFlight) next(s *Sender) *capture.Batch {
	f.t.Helper()
	const frames = 100
	var all [][]byte
	for range frames {
		f.sent++
		all = append(all, numbered(f.sent, 100))
	}
	send(f.t, s, all...)
	lab.Settle()
	b := new(capture.Batch)
	for range 2 { // the first batch of all has no packets
		if err := f.src.Next(b); err != nil {
			f.t.Fatal(err)
		}
		if len(b.Frames) > 0 {
			f.want[b] = all[0]
			break
		}
	}
	return b
}

// check checks the batches that were not given back.
func (f *inFlight) check(when string) {
	f.t.Helper()
	for b, want := range f.want {
		if len(b.Frames) == 0 {
			f.t.Fatalf("%s: a batch is empty", when)
		}
		capturetest.CompareFrames(f.t, [][]byte{b.Data(0)}, [][]byte{want})
	}
}

func (f *inFlight) giveBack(b *capture.Batch) {
	f.src.GiveBack(b)
	delete(f.want, b)
}

// TestBatchesInFlight holds several batches in place. The kernel gets no ring block before
// its batch is given back, in any order, and an interface that goes away takes no memory
// from a batch.
func TestBatchesInFlight(t *testing.T) {
	enterLab(t)
	src := open(t, Config{
		InPlace: true, Interfaces: []string{"right"}, RingBytes: 1 << 18, BlockBytes: 1 << 16,
		BlockTimeout: 5 * time.Millisecond, Idle: 50 * time.Millisecond, Wait: true,
	})
	f := &inFlight{t: t, src: src, want: map[*capture.Batch][]byte{}}
	s := openSender(t, "left")
	var held []*capture.Batch
	for b := f.next(s); len(b.Frames) > 0; b = f.next(s) {
		held = append(held, b)
	}
	if sum(src).Dropped == 0 {
		t.Errorf("no ring block is left, and nothing dropped: %+v", sum(src))
	}
	f.check("all held")
	for _, b := range held[1:] {
		f.giveBack(b)
	}
	if b := f.next(s); len(b.Frames) > 0 {
		t.Errorf("%d frames before the turn of their ring block", len(b.Frames))
	}
	f.check("one held")
	f.giveBack(held[0])
	third := f.next(s)
	f.check("the next one held")

	before := src.rings[0].mapping
	labtest.IP(t, "link del right")
	labtest.Pair(t, "left", "right")
	s = openSender(t, "left")
	var last *capture.Batch
	for last = f.next(s); len(last.Frames) == 0; last = f.next(s) { // until it is noticed
	}
	if src.rings[0].mapping == before {
		t.Fatal("the ring is still that of the interface before")
	}
	if before.memory == nil {
		t.Fatal("unmapped while a batch is held")
	}
	f.check("one held of an interface that went away")
	f.giveBack(third)
	if before.memory != nil {
		t.Error("still mapped")
	}
	f.check("the last one held")
	now := src.rings[0].mapping
	if err := src.Close(); err != nil || now.memory != nil {
		t.Errorf("mapped after Close: %v, %v", now.memory != nil, err)
	}
	src.GiveBack(last)
}

// TestBehind distinguishes a waiting ring block from the rest of a ring block that is being read.
func TestBehind(t *testing.T) {
	const block, blocks = 4096, 3
	for _, test := range []struct {
		name   string
		left   uint32 // packets of block 1, which is next, after some were taken
		filled []int
		behind bool
	}{
		{"nothing", 0, nil, false},
		{"a block", 0, []int{1}, true},
		{"the rest of a block", 5, []int{1}, false},
		{"the rest of a block, and another", 5, []int{1, 2}, true},
	} {
		m := newMapping(make([]byte, block*blocks), block)
		for _, number := range test.filled {
			*m.status(number) = unix.TP_STATUS_USER
		}
		p := &port{rings: []*ring{{mapping: m, next: 1, walker: walker{left: test.left}}}}
		if got := p.Behind(); got != test.behind {
			t.Errorf("%s: behind %v", test.name, got)
		}
	}
}
