// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/hold"
	"github.com/flowdedup/flowdedup/capture/pipeline"
)

// latecomer is a stream of packets in VLAN 10, some with a copy in VLAN 20, from which
// first sightings come late.
type latecomer struct {
	mirrored
	from int // the first packet that is seen in VLAN 20 first
}

func (l *latecomer) Next(b *capture.Batch) error {
	if l.next < l.from {
		b.Reset()
		if l.table.Interfaces == nil {
			l.table.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
		}
		b.Interfaces, b.Sections = l.table.Interfaces, l.table.Sections
		for range min(1+l.rng.IntN(900), l.from-l.next) {
			p := mirroredPacket{2 * uint32(l.rng.IntN(25)), uint32(l.next)}
			l.frame(b, p, 10, false, 0)
			if l.rng.IntN(20) == 0 {
				l.frame(b, p, 20, false, 3*time.Microsecond)
			}
			l.next++
		}
		return nil
	}
	return l.mirrored.Next(b)
}

// TestKeepFlowLate keeps conversations where they began, with any number of workers, though
// all first sightings came from there for long.
func TestKeepFlowLate(t *testing.T) {
	const from, packets = 90_000, 100_000
	var want []uint16
	for workers := 1; workers <= 4; workers++ {
		var w kept
		src := &latecomer{mirrored{rng: rand.New(rand.NewPCG(5, 6)), packets: packets}, from}
		d := detector(t, dedup.Config{Hold: hold.Config{Flow: true}})
		if err := pipeline.New(src).Run(context.Background(), workers, d.Tasks(&w)); err != nil {
			t.Fatal(err)
		}
		for i, p := range w.packets {
			if int(p.number) != i {
				t.Fatalf("%d workers: packet %d is at place %d", workers, p.number, i)
			}
			if p.conversation%2 == 0 && w.vlans[i] != 10 {
				t.Fatalf("%d workers: packet %d of conversation %d is from VLAN %d", workers, i, p.conversation, w.vlans[i])
			}
		}
		if want == nil {
			want = w.vlans
		}
		if len(w.packets) < packets || !slices.Equal(w.vlans, want) {
			t.Errorf("%d workers: %d packets of %d, or from other VLANs", workers, len(w.packets), packets)
		}
	}
}
