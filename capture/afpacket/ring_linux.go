// SPDX-License-Identifier: Apache-2.0

package afpacket

import (
	"fmt"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/sockets"
)

// ring is one TPACKET_V3 ring. One goroutine at a time uses it; only the statistics are
// shared.
type ring struct {
	fd      int      // -1 while it is closed
	mapping *mapping // nil while it is closed
	next    int      // number of the next ring block, filled or being filled
	taken   uint64
	walker  walker
	port    *sockets.Interface

	mu    sync.Mutex // guards the fields below, and fd against close
	since uint64     // packets received, less those dropped, since the ring was opened
	stats Stats
	// unhandled is walkerCounts.unhandled, as of the last publish.
	unhandled uint64
}

func (r *ring) open(d *sockets.Device, c *Config) error {
	fd, memory, err := openSocket(d, c)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fd, r.mapping, r.next = fd, newMapping(memory, c.BlockBytes), 0
	r.taken, r.since, r.walker.left = 0, 0, 0
	return nil
}

func (r *ring) close() {
	r.readStats()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fd >= 0 {
		r.mapping.close()
		_ = unix.Close(r.fd) // it cannot fail on a valid socket
		r.fd, r.mapping = -1, nil
	}
}

// ready reports whether the next packets wait: in the rest of a ring block, or in a block that the
// kernel has filled.
func (r *ring) ready() bool {
	return r.fd >= 0 && (r.walker.left > 0 || r.mapping.ready(r.next))
}

// behind reports whether packets wait in a ring block that was not begun.
func (r *ring) behind() bool {
	if r.walker.left == 0 {
		return r.ready()
	}
	return r.fd >= 0 && r.mapping.ready((r.next+1)%len(r.mapping.users))
}

// first returns when the kernel began to fill the next ring block, which must be ready.
func (r *ring) first() int64 {
	at := r.mapping.at(r.next)[blockTimeAt:]
	return int64(native.Uint32(at))*1e9 + int64(native.Uint32(at[4:]))
}

// take appends packets of the next ring block, which must be ready, to b. A block that is
// used up goes back to the kernel, in place when the batch is over.
func (r *ring) take(b *capture.Batch, lent *loans) error {
	m, number, before := r.mapping, r.next, r.walker.counts.delivered
	if r.walker.left == 0 {
		m.use(number)
	}
	if r.walker.inPlace {
		lent.add(b, m, number)
	}
	err := r.walker.take(b, m.at(number), number*m.block)
	r.taken += r.walker.counts.delivered - before
	if r.walker.left == 0 {
		r.next = (number + 1) % len(m.users)
		m.done(number)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.stats.Interface, err)
	}
	return nil
}

// publish copies the counts of the walker to where Stats reads them.
func (r *ring) publish() {
	n := &r.walker.counts
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.stats
	s.Delivered, s.Truncated, s.Coalesced, s.ChecksumOffloaded, s.Tagged, s.Hardware =
		n.delivered, n.truncated, n.coalesced, n.checksumOffloaded, n.tagged, n.hardware
	r.unhandled = n.unhandled
}

// readStats returns all counts so far. Reading the kernel's counters clears them, so it
// adds them up.
func (r *ring) readStats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fd >= 0 {
		// This cannot fail on a packet socket.
		if n, err := unix.GetsockoptTpacketStatsV3(r.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS); err == nil {
			r.stats.Received += uint64(n.Packets)
			r.stats.Dropped += uint64(n.Drops)
			r.stats.Freezes += uint64(n.Freeze_q_cnt)
			r.since += uint64(n.Packets) - uint64(n.Drops)
		}
	}
	s := r.stats
	s.SetState(r.port.State())
	return s
}

// drained reports whether every packet that the kernel put into the ring was taken out.
// The answer is final only after the intake was stopped.
func (r *ring) drained() bool {
	r.readStats()
	return r.fd < 0 || r.taken >= r.since
}
