// SPDX-License-Identifier: Apache-2.0

package afpacket

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/sockets"
)

// busyRings is a capture whose rings are always full of ring blocks without packets.
type busyRings struct {
	*Capture
	blocks int
	now    uint32 // seconds, of the next ring block to be filled
}

func newBusyRings(rings, blocks int) *busyRings {
	const block = 4096
	c := &Capture{conf: Config{RingBytes: block * blocks, BlockBytes: block}}
	for range rings {
		c.rings = append(c.rings, &ring{mapping: newMapping(make([]byte, block*blocks), block), port: &sockets.Interface{}})
	}
	return &busyRings{Capture: c, blocks: blocks}
}

// fill does what the kernel does to fill a ring block.
func (s *busyRings) fill(r *ring, number int) {
	s.now++
	native.PutUint32(r.mapping.at(number)[blockTimeAt:], s.now)
	*r.mapping.status(number) = unix.TP_STATUS_USER
}

// take takes the next ring block, has the kernel fill it again, and returns the number of its
// ring.
func (s *busyRings) take(t *testing.T) int {
	t.Helper()
	r := s.oldest()
	number := r.next
	if err := s.Capture.take(r, &capture.Batch{}); err != nil {
		t.Fatal(err)
	}
	s.fill(r, number)
	for i := range s.rings {
		if s.rings[i] == r {
			return i
		}
	}
	return -1
}

// TestClockSetBack sets the clock while all rings are full. Both go on. Before that, blocks come in
// the order of time.
func TestClockSetBack(t *testing.T) {
	const blocks, rings = 8, 2
	now := time.Now().Unix()
	for _, step := range []int64{-7200, 7200} {
		s := newBusyRings(rings, blocks)
		s.now = uint32(now - 1000 - step) // blocks after the step are of the last minutes
		for _, r := range s.rings {
			for i := range blocks {
				s.fill(r, i)
			}
		}
		last := int64(0)
		for range 10 * blocks {
			at := s.oldest().first()
			if at < last {
				t.Fatalf("a block of %d after one of %d", at, last)
			}
			last = at
			s.take(t)
		}
		s.now += uint32(step)
		taken := [rings]int{}
		for range 20 * blocks {
			taken[s.take(t)]++
		}
		for i, n := range taken {
			if n < 5*blocks {
				t.Errorf("step of %d s: %d blocks of ring %d of %d", step, n, i, 20*blocks)
			}
		}
	}
}
