package ring

import (
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture"
)

// ring is one TPACKET_V3 ring. All of it but the statistics is used by one
// goroutine at a time.
type ring struct {
	fd     int // -1 while it is closed
	memory []byte
	block  int // bytes
	next   int // offset of the block that the kernel fills next, or has filled
	taken  uint64
	walker walker
	held   int // blocks before the next that were taken, and the kernel has not got back

	mu    sync.Mutex // over the statistics, and what closes fd
	since uint64     // packets received since it was opened, less those dropped
	stats Stats
}

func (r *ring) open(d *device, c *Config) error {
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
		// Neither can fail on a mapping and a socket that are ours.
		_ = unix.Munmap(r.memory)
		_ = unix.Close(r.fd)
		r.fd, r.memory, r.held = -1, nil, 0
	}
}

// status is shared with the kernel, which owns the block unless it says
// otherwise.
func (r *ring) status() *uint32 { return r.statusAt(r.next) }

// statusAt is the status of the block at an offset.
func (r *ring) statusAt(block int) *uint32 {
	return (*uint32)(unsafe.Pointer(&r.memory[block+blockStatusAt]))
}

// ready reports whether the next block has been filled, and is no part of the batch already.
func (r *ring) ready() bool {
	return r.fd >= 0 && r.held < len(r.memory)/r.block && atomic.LoadUint32(r.status())&unix.TP_STATUS_USER != 0
}

// first returns when the kernel began to fill the next block, which is ready.
func (r *ring) first() int64 {
	at := r.memory[r.next+blockTimeAt:]
	return int64(native.Uint32(at))*1e9 + int64(native.Uint32(at[4:]))
}

// take appends packets of the next block, which is ready, to b, and gives it back once it has
// taken all; in place only when the batch is over.
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

// releaseBlocks lets the kernel fill the blocks again that nothing is needed of any more.
func (r *ring) releaseBlocks() {
	for ; r.held > 0; r.held-- {
		at := (r.next + len(r.memory) - r.held*r.block) % len(r.memory)
		atomic.StoreUint32(r.statusAt(at), unix.TP_STATUS_KERNEL)
	}
}

// publish lets Stats see what the walker has counted.
func (r *ring) publish() {
	n := &r.walker.counts
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.stats
	s.Delivered, s.Truncated, s.Coalesced, s.ChecksumOffloaded, s.Tagged, s.Hardware =
		n.delivered, n.truncated, n.coalesced, n.checksumOffloaded, n.tagged, n.hardware
}

// readStats returns all counts so far. Reading clears the kernel's.
func (r *ring) readStats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fd >= 0 {
		// It fails on no packet socket.
		if n, err := unix.GetsockoptTpacketStatsV3(r.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS); err == nil {
			r.stats.Received += uint64(n.Packets)
			r.stats.Dropped += uint64(n.Drops)
			r.stats.Freezes += uint64(n.Freeze_q_cnt)
			r.since += uint64(n.Packets) - uint64(n.Drops)
		}
	}
	return r.stats
}

// drained reports whether every packet that the kernel put into the ring has been
// taken out. It tells nothing while more may come.
func (r *ring) drained() bool {
	r.readStats()
	return r.fd < 0 || r.taken >= r.since
}
