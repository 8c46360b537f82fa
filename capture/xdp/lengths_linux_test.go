// SPDX-License-Identifier: Apache-2.0

package xdp

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/labtest"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
)

// lengths returns a frame of each length of a range, each with its own content. The kernel sends
// nothing shorter than a header.
func lengths(from, to int) (frames [][]byte) {
	for n := from; n <= to; n++ {
		f := make([]byte, n)
		for i := range f {
			f[i] = byte(i*n>>3 + n)
		}
		copy(f, "\x02\x00\x00\x00\x00\x02\x02\x00\x00\x00\x00\x01\x88\xb5") // a local experiment
		if n >= 18 {
			binary.BigEndian.PutUint32(f[14:], uint32(n))
		}
		frames = append(frames, f)
	}
	return frames
}

// TestEveryLength checks that frames of every length, from a header without anything to all that
// an MTU allows, arrive whole: through the driver, through the generic path, and where frames
// are in several pieces.
func TestEveryLength(t *testing.T) {
	const header = 14
	for _, c := range []struct {
		name    string
		mtu     int
		from    int
		generic bool
	}{
		{"driver", 1500, header, false},
		{"generic", 1500, header, true},
		{"pieces", 9000, 3700, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			enterLab(t, "1")
			if c.generic { // veth takes no program with fewer queues than the other end has
				remakePair(t, "2", "1")
			}
			if c.mtu != 1500 {
				for _, name := range []string{"left", "right"} {
					labtest.IP(t, "link set "+name+" mtu 9000")
				}
			}
			generic := false
			src := open(t, Config{Promiscuous: true, Warn: func(err error) { generic = generic || strings.Contains(err.Error(), "generic") }})
			all := lengths(c.from, c.mtu+header)
			for want := range slices.Chunk(all, 250) { // which the rings hold
				send(t, "left", want...)
				lab.Settle()
				if s := sum(src); s.Dropped > 0 && c.mtu > 1500 {
					t.Skipf("the kernel splits no frames: %+v", s)
				}
				got := labtest.Take(t, src, len(want), nil)
				if got.Err != nil {
					t.Fatal(got.Err)
				}
				capturetest.CompareFrames(t, got.Data, want)
				for i, f := range got.Frames {
					if int(f.WireLen) != len(want[i]) {
						t.Fatalf("a frame of %d bytes is said to have %d", len(want[i]), f.WireLen)
					}
				}
			}
			if s := sum(src); s.Received != uint64(len(all)) || s.Delivered != s.Received || s.Dropped+s.Truncated > 0 {
				t.Errorf("%+v", s)
			}
			if generic != c.generic {
				t.Errorf("generic: %v", generic)
			}
		})
	}
}
