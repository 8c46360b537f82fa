// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"context"
	"maps"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/pipeline"
	"github.com/flowdedup/flowdedup/engine/window"
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
		d := observing(t, dedup.KeepFlow, dedup.Observer{
			Judged: observed.add,
			Exchanged: func(_ *capture.Batch, out, in *capture.Frame) {
				exchanges++
				observed.packets[out.Interface]++
				observed.packets[in.Interface]--
				observed.bytes += uint64(out.CapLen) - uint64(in.CapLen)
			},
		}, dedup.Observer{})
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

// observing makes a detector with the defaults of New, and observers.
func observing(t *testing.T, keep dedup.Keep, observers ...dedup.Observer) *dedup.Detector {
	t.Helper()
	filter, err := window.NewTimed(window.TimedConfig{Window: window.Window{Duration: window.Default}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := dedup.NewWith(dedup.Parts{
		Filter: filter, Digester: func() digest.MessageDigester { return digest.NewAES([16]byte{1}) },
		Hold: &dedup.HoldConfig{Keep: keep, Hold: window.Default, Window: window.Default}, Observers: observers,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}
