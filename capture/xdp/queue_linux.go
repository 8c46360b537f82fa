// SPDX-License-Identifier: Apache-2.0

package xdp

import (
	"fmt"
	"sync"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/internal/sockets"
)

// queue is a receive queue of an interface with its socket. One goroutine at a time uses
// it; only the statistics are shared.
type queue struct {
	number int
	port   *sockets.Interface
	socket *socket // nil while it is closed
	next   uint32  // index of the next descriptor
	reader reader
	toHost func() uint64 // counts packets of the interface that went to the host; nil for others than the first

	mu sync.Mutex // guards the fields below, and socket against close
	// stats has the counts up to the last Next, and of closed sockets. Received has only packets
	// that were never read.
	stats afpacket.Stats
	read  uint32 // next as of the last Next
}

func (q *queue) open(x *socket, program *redirect) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.socket, q.next, q.read = x, 0, 0
	q.reader.stamped, q.reader.timed, q.reader.lostTags = program.stamps, program.cards, false
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.socket == nil {
		return
	}
	q.addKernel(&q.stats)
	q.stats.Received += uint64(q.socket.received() - q.read)
	q.socket.close()
	q.socket = nil
}

// waiting returns how many descriptors wait to be read.
func (q *queue) waiting() int {
	if q.socket == nil {
		return 0
	}
	return int(q.socket.received() - q.next)
}

// take appends packets to b, and returns their memory to the kernel.
func (q *queue) take(b *capture.Batch, now clock) error {
	x := q.socket
	used, err := q.reader.take(b, x.memory, x.descriptors(), q.next, x.received(), now)
	q.next += used
	x.release(q.next)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.read = q.next
	n := &q.reader
	q.stats.Delivered, q.stats.Truncated, q.stats.Tagged, q.stats.Hardware = n.delivered, n.truncated, n.tagged, n.hardware
	if err != nil {
		return fmt.Errorf("%s: %w", q.stats.Interface, err)
	}
	return nil
}

// readStats returns all counts so far.
func (q *queue) readStats() afpacket.Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.stats
	if q.socket != nil {
		q.addKernel(&s)
		s.Received += uint64(q.socket.received() - q.read)
	}
	if q.toHost != nil {
		s.ToHost = q.toHost()
		s.Dropped += s.ToHost
	}
	s.Received += s.Delivered + s.Dropped
	s.SetState(q.port.State())
	return s
}

// addKernel adds the kernel's counters of the socket. It counts a packet as dropped if no
// memory was free or it was too long (rx_dropped), if the receive ring was full, or if the fill
// ring had an invalid frame, which neither ring ever is or has. A packet that finds no memory also
// counts as a look at an empty fill ring; other packets were too long. A driver with zero copy drops
// without a count when the fill ring is empty: only Freezes shows it.
func (q *queue) addKernel(s *afpacket.Stats) {
	n, err := q.socket.statistics()
	if err != nil {
		return // it cannot fail on such a socket
	}
	s.TooLong += n.Rx_dropped - min(n.Rx_dropped, n.Rx_fill_ring_empty_descs)
	s.Dropped += n.Rx_dropped + n.Rx_ring_full + n.Rx_invalid_descs
	s.Freezes += n.Rx_fill_ring_empty_descs
}
