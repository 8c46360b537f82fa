// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"encoding/binary"
	"reflect"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

// parsePackets reads packets of a fuzzer: nine bytes each, the side among them.
func parsePackets(data []byte) (sides [2][]packet) {
	var times [2]int64
	for ; len(data) >= 9; data = data[9:] {
		side, kind := data[0]&1, data[0]>>1
		step := int64(binary.LittleEndian.Uint32(data[1:]))
		switch kind & 7 {
		case 0:
			times[side] = step << 33 // anywhere
		case 1:
			times[side] -= step
		default:
			times[side] += step >> 4
		}
		sides[side] = append(sides[side], packet{
			time: times[side], id: uint32(data[5]), flow: uint32(data[6]), answer: kind&8 != 0, six: kind&16 != 0,
			arp: kind&32 != 0, noTime: data[7]&15 == 15, snap: int(data[8] & 127),
		})
	}
	return sides
}

// FuzzCompare compares any packets, and checks that the counts add up and do not depend on
// batches.
func FuzzCompare(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x04\x00\x10\x00\x00\x01\x01\x00\x00\x05\x00\x10\x00\x00\x01\x01\x00\x00\x05\x00\x10\x00\x00\x02\x01\x0f\x20"))
	f.Add([]byte("\x00\xff\xff\xff\xff\x01\x01\x00\x00\x01\x00\x00\x00\x80\x01\x01\x00\x00\x03\xff\xff\xff\xff\x01\x01\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		sides := parsePackets(data)
		var first *Report
		for _, most := range []int{1, 20} {
			c := newComparer(Config{})
			a, b := c.stream(sideA, sides[0], most), c.stream(sideB, sides[1], most)
			if _, err := c.Search(a, b); err != nil {
				return
			}
			err := c.Run(func(side int, b *capture.Batch, matched []uint64) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			r := c.Report(100)
			checkSums(t, r)
			if first != nil && !reflect.DeepEqual(r, first) {
				t.Errorf("batches of up to %d make a difference: %+v, %+v", most, r, first)
			}
			first = r
		}
	})
}
