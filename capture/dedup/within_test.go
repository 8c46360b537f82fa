// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/traits"
)

// TestWithin compares the verdicts with the verdicts of a detector for each point.
func TestWithin(t *testing.T) {
	for _, fields := range []traits.PointFields{traits.PointVLAN, traits.PointInterface, traits.PointInput, traits.PointVLAN | traits.PointInput} {
		removed := 0
		eachTruth(t, func(t *testing.T, want *truth) {
			reader := traits.NewSightingReader(traits.SightingConfig{Fields: fields, Seed: 1})
			apart := map[uint64]*dedup.Detector{}
			var copies []int
			at := 0
			for _, b := range batches(t, want.open(t), 1) {
				point := reader.Points(b, 0, 1)[0]
				if apart[point] == nil {
					apart[point] = detector(t, want.config())
				}
				copies = marked(copies, apart[point].Copies(b), at, 1)
				at++
			}
			for _, size := range []int{1, 100, 5000} {
				cfg := want.config()
				cfg.Within.Fields = fields
				d := detector(t, cfg)
				var got []int
				at := 0
				for _, b := range batches(t, want.open(t), size) {
					got = marked(got, d.Copies(b), at, len(b.Frames))
					at += len(b.Frames)
				}
				if !slices.Equal(got, copies) {
					t.Errorf("%v, %d a batch: %v, want %v", fields, size, got, copies)
				}
			}
			removed += len(copies)
		})
		if removed == 0 {
			t.Errorf("%v: no copies: the captures test nothing", fields)
		}
	}
}

// TestWithinTable gives batches of a program, with equal packets on two VLANs.
func TestWithinTable(t *testing.T) {
	frame := func(vlan, last byte) []byte {
		f := []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x81, 0, 0, vlan, 8, 0, 0x45, 0, 0, 21, 0, 0, 0, 0, 64, 99, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, last}
		return f
	}
	d := detector(t, dedup.Config{Within: traits.Points{Fields: traits.PointVLAN}})
	var b capture.Batch
	at := b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
	for i, p := range []struct{ vlan, last byte }{{1, 1}, {2, 1}, {1, 1}, {3, 1}, {2, 1}, {2, 2}, {1, 2}, {3, 1}} {
		b.Append(capture.Frame{Interface: at, Time: 1e18 + int64(i)}, frame(p.vlan, p.last))
	}
	if got := marked(nil, d.Copies(&b), 0, len(b.Frames)); !slices.Equal(got, []int{2, 4, 7}) {
		t.Errorf("copies %v", got)
	}
}
