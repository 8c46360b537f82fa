// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"context"
	"maps"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/hold"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/pipeline"
)

// byInterface counts packets that are not kept, and their bytes.
type byInterface struct {
	packets map[uint32]int
	bytes   uint64
}

func (n *byInterface) add(b *capture.Batch, drop []uint64) {
	for i := range b.Frames {
		if f := &b.Frames[i]; drop[i/64]>>(i%64)&1 != 0 {
			n.packets[f.Interface]++
			n.bytes += uint64(f.CapLen)
		}
	}
}

// Write implements capture.Writer and writes nothing.
func (n *byInterface) Write(b *capture.Batch, drop []uint64) error {
	n.add(b, drop)
	return nil
}

// TestObserver follows the kept packets through verdicts and exchanges: they are written in
// the end, and Stats counts them.
func TestObserver(t *testing.T) {
	for workers := 1; workers <= 3; workers++ {
		src, err := pcapfile.Open(pcaps+"router-plain.pcapng", pcapfile.Options{})
		if err != nil {
			t.Fatal(err)
		}
		observed, written := byInterface{packets: map[uint32]int{}}, byInterface{packets: map[uint32]int{}}
		exchanges := 0
		d := detector(t, dedup.Config{Hold: hold.Config{Flow: true}, Observers: []dedup.Observer{{
			Judged: observed.add,
			Exchanged: func(_ *capture.Batch, out, in *capture.Frame) {
				exchanges++
				observed.packets[out.Interface]++
				observed.packets[in.Interface]--
				observed.bytes += uint64(out.CapLen) - uint64(in.CapLen)
			},
		}, {}}})
		if err := pipeline.New(src).Run(context.Background(), workers, d.Tasks(&written)); err != nil {
			t.Fatal(err)
		}
		maps.DeleteFunc(observed.packets, func(_ uint32, n int) bool { return n == 0 })
		if exchanges == 0 || observed.bytes != written.bytes || !maps.Equal(observed.packets, written.packets) {
			t.Errorf("%d workers: %d exchanges, observed %+v, written %+v", workers, exchanges, observed, written)
		}
		copies := uint64(0)
		for _, n := range written.packets {
			copies += uint64(n)
		}
		if s := d.Counts(); s.Copies != copies || s.CopyBytes != written.bytes || sum(s.CopiesByProtocol[:]) != copies {
			t.Errorf("%d workers: %+v, want %d copies of %d bytes", workers, s, copies, written.bytes)
		}
	}
}
