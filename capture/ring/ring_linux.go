package ring

import (
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/sockets"
)

// ring is one TPACKET_V3 ring. One goroutine at a time uses it; only the statistics are
// shared.
type ring struct {
	fd     int // -1 while it is closed
	memory []byte
	block  int // bytes
	next   int // offset of the next ring block, filled or being filled
	taken  uint64
	walker walker
	port   *sockets.Interface
	held   int // ring blocks before next that were read but not yet released to the kernel

	mu    sync.Mutex // guards the fields below, and fd against close
	since uint64     // packets received, less those dropped, since the ring was opened
	stats Stats
}

func (r *ring) open(d *sockets.Device, c *Config) error {
	fd, memory, err := openSocket(d, c)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fd, r.memory, r.block, r.next = fd, memory, c.BlockBytes, 0
	r.taken, r.since, r.walker.left, r.held = 0, 0, 0, 0
	return nil
}

func (r *ring) close() {
	r.readStats()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fd >= 0 {
		// Neither fails on a valid mapping and a valid socket.
		_ = unix.Munmap(r.memory)
		_ = unix.Close(r.fd)
		r.fd, r.memory, r.held = -1, nil, 0
	}
}

// status returns the status word of the next ring block. The kernel owns the block until
// the word has TP_STATUS_USER.
func (r *ring) status() *uint32 { return r.statusAt(r.next) }

// statusAt returns the status word of the ring block at an offset.
func (r *ring) statusAt(block int) *uint32 {
	return (*uint32)(unsafe.Pointer(&r.memory[block+blockStatusAt]))
}

// ready reports whether the kernel has filled the next ring block, and the batch does not
// hold that block already.
func (r *ring) ready() bool {
	return r.fd >= 0 && r.held < len(r.memory)/r.block && atomic.LoadUint32(r.status())&unix.TP_STATUS_USER != 0
}

// first returns when the kernel began to fill the next ring block, which must be ready.
func (r *ring) first() int64 {
	at := r.memory[r.next+blockTimeAt:]
	return int64(native.Uint32(at))*1e9 + int64(native.Uint32(at[4:]))
}

// take appends packets of the next ring block, which must be ready, to b. A block that is
// used up goes back to the kernel at once, or in place when the batch is over.
func (r *ring) take(b *capture.Batch) error {
	before := r.walker.counts.delivered
	err := r.walker.take(b, r.memory[r.next:r.next+r.block:r.next+r.block], r.next)
	r.taken += r.walker.counts.delivered - before
	if r.walker.left == 0 {
		r.next = (r.next + r.block) % len(r.memory)
		r.held++
		if !r.walker.inPlace {
			r.releaseBlocks()
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.stats.Interface, err)
	}
	return nil
}

// releaseBlocks returns the held ring blocks to the kernel.
func (r *ring) releaseBlocks() {
	for ; r.held > 0; r.held-- {
		at := (r.next + len(r.memory) - r.held*r.block) % len(r.memory)
		atomic.StoreUint32(r.statusAt(at), unix.TP_STATUS_KERNEL)
	}
}

// publish copies the counts of the walker to where Stats reads them.
func (r *ring) publish() {
	n := &r.walker.counts
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.stats
	s.Delivered, s.Truncated, s.Coalesced, s.ChecksumOffloaded, s.Tagged, s.Hardware =
		n.delivered, n.truncated, n.coalesced, n.checksumOffloaded, n.tagged, n.hardware
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
	r.stats.Outages, r.stats.Down = r.port.Outages()
	return r.stats
}

// drained reports whether every packet that the kernel put into the ring was taken out.
// The answer is final only after the intake was stopped.
func (r *ring) drained() bool {
	r.readStats()
	return r.fd < 0 || r.taken >= r.since
}
