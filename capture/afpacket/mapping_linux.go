// SPDX-License-Identifier: Apache-2.0

package afpacket

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture"
)

// mapping is the memory that a ring shares with the kernel. A ring block goes back to the
// kernel when its reader and all batches with packets of it are done. It is unmapped when
// its ring is closed and no batch holds a block any more.
type mapping struct {
	memory []byte
	block  int // bytes

	mu     sync.Mutex
	users  []int // of each ring block
	lent   int   // pairs of a batch and a ring block that it holds
	closed bool
}

func newMapping(memory []byte, block int) *mapping {
	return &mapping{memory: memory, block: block, users: make([]int, len(memory)/block)}
}

// at returns the ring block with a number.
func (m *mapping) at(number int) []byte {
	return m.memory[number*m.block : (number+1)*m.block : (number+1)*m.block]
}

// status returns the status word of a ring block. The kernel owns the block until the word
// has TP_STATUS_USER.
func (m *mapping) status(number int) *uint32 {
	return (*uint32)(unsafe.Pointer(&m.memory[number*m.block+blockStatusAt]))
}

// ready reports whether the kernel has filled a ring block that nobody uses.
func (m *mapping) ready(number int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.users[number] == 0 && atomic.LoadUint32(m.status(number))&unix.TP_STATUS_USER != 0
}

// use keeps a ring block from the kernel.
func (m *mapping) use(number int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.users[number]++
}

// done ends a use. The end of the last use returns the ring block to the kernel.
func (m *mapping) done(number int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.end(number)
}

// end is done for a caller that holds m.mu.
func (m *mapping) end(number int) {
	if m.users[number]--; m.users[number] == 0 {
		atomic.StoreUint32(m.status(number), unix.TP_STATUS_KERNEL)
	}
}

// lend makes a batch use a ring block, too.
func (m *mapping) lend(number int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.users[number]++
	m.lent++
}

// takeBack ends the use of a batch's ring blocks, which follow each other.
func (m *mapping) takeBack(first, blocks int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range blocks {
		m.end((first + i) % len(m.users))
	}
	m.lent -= blocks
	m.unmap()
}

// close ends the use by the ring.
func (m *mapping) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.unmap()
}

// unmap unmaps the memory if nobody needs it. The caller holds m.mu.
func (m *mapping) unmap() {
	if m.closed && m.lent == 0 && m.memory != nil {
		_ = unix.Munmap(m.memory) // it cannot fail on a valid mapping
		m.memory = nil
	}
}

// loans says which ring blocks batches hold. Its zero value is ready to use.
type loans struct {
	mu      sync.Mutex
	batches map[*capture.Batch]loan
}

// loan is a row of ring blocks.
type loan struct {
	of            *mapping
	first, blocks int
}

// add lends a batch the ring block behind the blocks that it holds.
func (l *loans) add(b *capture.Batch, of *mapping, number int) {
	of.lend(number)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.batches == nil {
		l.batches = map[*capture.Batch]loan{}
	}
	held, ok := l.batches[b]
	if !ok {
		held = loan{of: of, first: number}
	}
	held.blocks++
	l.batches[b] = held
}

// end takes back the ring blocks of a batch. It reports whether there were any.
func (l *loans) end(b *capture.Batch) bool {
	l.mu.Lock()
	held, ok := l.batches[b]
	delete(l.batches, b)
	l.mu.Unlock()
	if ok {
		held.of.takeBack(held.first, held.blocks)
	}
	return ok
}

// endAll takes back the ring blocks of all batches.
func (l *loans) endAll() {
	l.mu.Lock()
	all := l.batches
	l.batches = nil
	l.mu.Unlock()
	for _, held := range all {
		held.of.takeBack(held.first, held.blocks)
	}
}
