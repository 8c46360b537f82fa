// SPDX-License-Identifier: Apache-2.0

package backlog

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/flowdedup/flowdedup/capture"
)

// exchangeBelow bounds the memory of batches that were exchanged and wait. Beyond it batches are
// copied, so that waiting batches take little more than their size.
const exchangeBelow = 32 << 20

// Batch is a batch that waits.
type Batch struct {
	capture.Batch       // of no meaning before Take, unless it is a copy
	Copied        bool  // Keep has made a copy
	exchanged     int64 // its part of Store.exchanged
}

// Memory returns about how many bytes it takes.
func (k *Batch) Memory() int { return memoryOf(&k.Batch) }

// Store has the memory of waiting batches, each with a T. It is safe for concurrent use. The
// zero value is ready.
type Store[T any] struct {
	exchanged atomic.Int64 // bytes of the batches that wait and are no copies

	mu     sync.Mutex
	free   []*T
	spares spares
}

// Get returns memory for a batch, of no particular values.
func (s *Store[T]) Get() *T {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.free) - 1
	if last < 0 {
		return new(T)
	}
	k := s.free[last]
	s.free[last] = nil
	s.free = s.free[:last]
	return k
}

// Keep copies b to k, if it is to be copied.
func (s *Store[T]) Keep(k *Batch, b *capture.Batch) {
	if k.Copied = IsCopied(b) || s.exchanged.Load() >= exchangeBelow; k.Copied {
		k.Batch = s.spare(false)
		Copy(&k.Batch, b)
	}
}

// Take exchanges the content of b, which Keep has seen, for other memory of its source, unless
// k is a copy.
func (s *Store[T]) Take(k *Batch, b *capture.Batch) {
	if k.Copied {
		return
	}
	k.Batch, *b = *b, s.spare(true)
	k.exchanged = int64(k.Memory())
	s.exchanged.Add(k.exchanged)
}

// Put takes back a T that Get returned, and its batch.
func (s *Store[T]) Put(of *T, k *Batch) {
	s.exchanged.Add(-k.exchanged)
	spare := k.Batch
	*k = Batch{}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spares.put(spare)
	s.free = append(s.free, of)
}

// spare returns memory for a batch of the source, or for a copy.
func (s *Store[T]) spare(source bool) capture.Batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spares.take(source)
}

const (
	frameBytes = int(unsafe.Sizeof(capture.Frame{}))
	// sourceBytes is about the memory that a source keeps with a batch.
	sourceBytes = 640 << 10
	// mostSpare bounds the memory of batches that do not wait.
	mostSpare = 32 << 20
)

// spares are batches that do not wait, whose memory is used again. Batches with memory of a
// source go back to the source, and not to copies, which would take little of that memory.
type spares struct {
	sources, copies []capture.Batch
	bytes           int
}

// put takes a batch, unless there is enough.
func (s *spares) put(b capture.Batch) {
	n := memoryOf(&b)
	if n == 0 || s.bytes+n > mostSpare {
		return
	}
	s.bytes += n
	if b.SourceState != nil {
		s.sources = append(s.sources, b)
	} else {
		s.copies = append(s.copies, b)
	}
}

// take returns a batch for a source, or for a copy. It is empty if there is no spare batch.
func (s *spares) take(source bool) (b capture.Batch) {
	from := &s.copies
	if source {
		from = &s.sources
	}
	last := len(*from) - 1
	if last < 0 {
		return capture.Batch{}
	}
	b, (*from)[last] = (*from)[last], b
	*from = (*from)[:last]
	s.bytes -= memoryOf(&b)
	return b
}

// memoryOf returns about how many bytes a batch takes.
func memoryOf(b *capture.Batch) int {
	n := cap(b.Buf) + cap(b.Frames)*frameBytes
	if b.SourceState != nil {
		n += sourceBytes
	}
	return n
}

// Queue is a queue that keeps its memory.
type Queue[T any] struct {
	items []T // a power of two of them, or none
	from  int
	count int
}

// Len returns how many items wait.
func (q *Queue[T]) Len() int { return q.count }

// At returns the item i places behind the front.
func (q *Queue[T]) At(i int) *T { return &q.items[(q.from+i)&(len(q.items)-1)] }

// Front returns the item at the front.
func (q *Queue[T]) Front() *T { return q.At(0) }

// Push adds an item at the end.
func (q *Queue[T]) Push(item T) {
	if q.count == len(q.items) {
		items := make([]T, max(16, 2*q.count))
		for i := range q.count {
			items[i] = *q.At(i)
		}
		q.items, q.from = items, 0
	}
	*q.At(q.count) = item
	q.count++
}

// Pop takes the item at the front off.
func (q *Queue[T]) Pop() T {
	var none T
	item := *q.Front()
	*q.Front() = none
	q.from = (q.from + 1) & (len(q.items) - 1)
	q.count--
	return item
}

// Clear takes all items off.
func (q *Queue[T]) Clear() {
	for q.count > 0 {
		q.Pop()
	}
}
