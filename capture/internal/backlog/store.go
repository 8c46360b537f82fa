// SPDX-License-Identifier: Apache-2.0

package backlog

import (
	"sync"
	"sync/atomic"

	"github.com/flowdedup/flowdedup/capture"
)

// exchangeBelow bounds the memory of batches that were exchanged and wait. Beyond it each one
// is copied, so that waiting batches take little more than their size.
const exchangeBelow = 32 << 20

// Batch is a batch that waits.
type Batch struct {
	capture.Batch       // of no meaning before Take, unless it is a copy
	Copied        bool  // Keep has made a copy
	exchanged     int64 // what it adds to Store.exchanged
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
