// SPDX-License-Identifier: Apache-2.0

package gopackets

import (
	"os"
	"slices"
	"sync"

	"github.com/google/gopacket"

	"github.com/flowdedup/flowdedup/capture"
)

// chunk is a run of packets of a handle, and the error after them, or nil.
type chunk struct {
	batch  capture.Batch
	infos  []gopacket.CaptureInfo // unless only batches are wanted
	copied [][]byte               // data that the handle has made for its caller, likewise
	err    error
}

// prefetcher reads a handle on a goroutine, up to ahead packets in advance. The caller takes
// many at once when they come fast, and none waits for others. With ahead 0 it reads packet
// by packet in next.
type prefetcher struct {
	handle *handle
	ahead  int  // packets; 0 reads in next
	batch  bool // only batches are wanted

	mu      sync.Mutex
	moved   *sync.Cond
	filling chunk
	running bool // the goroutine is there
	closed  bool
}

func newPrefetcher(h *handle, ahead int, batch bool) *prefetcher {
	p := &prefetcher{handle: h, ahead: ahead, batch: batch}
	p.moved = sync.NewCond(&p.mu)
	return p
}

// next replaces the content of to with the results of the handle since: packets, an error, or
// both. The call after an error reads on. After close it returns os.ErrClosed, and drops
// packets that were read ahead.
func (p *prefetcher) next(to *chunk) {
	p.mu.Lock()
	defer p.mu.Unlock()
	to.batch.Reset()
	to.infos, to.copied, to.err = to.infos[:0], to.copied[:0], nil
	if p.ahead == 0 && !p.closed {
		p.handle.begin(&to.batch)
		data, info, err := p.handle.read()
		p.add(to, data, &info, err)
		p.handle.end(&to.batch)
		return
	}
	for p.empty() && !p.closed {
		if !p.running {
			p.running = true
			go p.run()
		}
		p.moved.Wait()
	}
	if p.closed {
		to.err = os.ErrClosed
		return
	}
	p.handle.end(&p.filling.batch)
	*to, p.filling = p.filling, *to
	p.handle.begin(&p.filling.batch)
	p.moved.Broadcast() // there is room
}

// run reads ahead until an error.
func (p *prefetcher) run() {
	for more := true; more; {
		data, info, err := p.handle.read()
		p.mu.Lock()
		for p.full() && !p.closed {
			p.moved.Wait()
		}
		if p.empty() {
			p.moved.Broadcast()
		}
		p.add(&p.filling, data, &info, err)
		p.running = err == nil && !p.closed
		more = p.running
		p.mu.Unlock()
	}
}

// add adds the result of a read to a chunk.
func (p *prefetcher) add(to *chunk, data []byte, info *gopacket.CaptureInfo, err error) {
	if err != nil {
		to.err = err
		return
	}
	p.handle.add(&to.batch, data, info)
	if p.batch {
		return
	}
	if p.handle.borrows {
		info.AncillaryData = slices.Clone(info.AncillaryData)
	} else {
		to.copied = append(to.copied, data)
	}
	to.infos = append(to.infos, *info)
}

// maxAheadBytes is how many bytes are read ahead at most.
const maxAheadBytes = 512 << 10

// empty and full report how much is read ahead.
func (p *prefetcher) empty() bool { return len(p.filling.batch.Frames) == 0 && p.filling.err == nil }

func (p *prefetcher) full() bool {
	b := &p.filling.batch
	return len(b.Frames) >= p.ahead || len(b.Buf) >= maxAheadBytes || p.filling.err != nil
}

// close ends reading ahead when the handle returns from its current read.
func (p *prefetcher) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.moved.Broadcast()
}
