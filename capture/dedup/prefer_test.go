// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/pipeline"
	"github.com/flowdedup/flowdedup/engine/window"
)

// inVLAN chooses the packets of a VLAN.
func inVLAN(vlan uint16) dedup.Chooser {
	return func(chosen []uint64, b *capture.Batch, from, to int) {
		clear(chosen[:(to-from+63)/64])
		for i := from; i < to; i++ {
			if binary.BigEndian.Uint16(b.Data(i)[vlanAt:]) == vlan {
				chosen[(i-from)/64] |= 1 << ((i - from) % 64)
			}
		}
	}
}

// TestPrefer keeps each packet once, in order, and from the VLAN that is preferred where it
// was seen there, with any number of workers. Observers and counts agree.
func TestPrefer(t *testing.T) {
	const packets = 20_000
	for _, c := range []struct {
		prefer []dedup.Chooser
		want   uint16
		window window.Window
	}{
		{[]dedup.Chooser{inVLAN(10)}, 10, window.Window{}},
		{[]dedup.Chooser{inVLAN(20)}, 20, window.Window{Packets: 100}},
		{[]dedup.Chooser{inVLAN(30), inVLAN(20), inVLAN(10)}, 20, window.Window{}},
	} {
		for workers := 1; workers <= 3; workers++ {
			var w kept
			p := pipeline.New(&mirrored{rng: rand.New(rand.NewPCG(3, uint64(workers))), packets: packets})
			d := detector(t, dedup.Config{Prefer: c.prefer, Window: c.window})
			if err := p.Run(context.Background(), workers, d.Tasks(&w)); err != nil {
				t.Fatal(err)
			}
			for i, p := range w.packets {
				// The first 501 were seen at one place only.
				if int(p.number) != i || i > 500 && w.vlans[i] != c.want {
					t.Fatalf("%d workers: place %d: packet %d is from VLAN %d, want %d", workers, i, p.number, w.vlans[i], c.want)
				}
			}
			if s := d.Stats(); s.Packets-s.Copies != uint64(len(w.packets)) || len(w.packets) < packets || s.Held == nil {
				t.Errorf("%d workers: %d packets of %d, and %+v", workers, len(w.packets), packets, s)
			}
		}
	}
}
