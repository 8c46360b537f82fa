package engine

import (
	"runtime"
	"sync/atomic"
)

const (
	// patience is how often a goroutine looks for what it waits for, and lets
	// others have its processor, before it sleeps: for some 20 µs. To be woken takes
	// longer than most rounds last.
	patience = 100
	looks    = 32
)

// signal lets one goroutine wait for others. The one that waits looks for a moment
// itself, so that rounds that follow each other need no waking, and all goroutines
// stay on their processors, whose caches hold their tables.
type signal struct {
	raised atomic.Uint64 // how often
	asleep atomic.Bool
	wake   chan struct{}
}

func newSignal() signal { return signal{wake: make(chan struct{}, 1)} }

// raise makes an await of one more return.
func (s *signal) raise() {
	s.raised.Add(1)
	if s.asleep.CompareAndSwap(true, false) {
		s.wake <- struct{}{}
	}
}

// await returns when raise was called n times since the beginning.
func (s *signal) await(n uint64) {
	for range patience {
		for range looks {
			if s.raised.Load() >= n {
				return
			}
		}
		runtime.Gosched()
	}
	// A wake-up may be late, for a raise that was seen without it.
	for s.raised.Load() < n {
		s.asleep.Store(true)
		// Whoever resets asleep decides whether there is something to receive.
		if s.raised.Load() < n || !s.asleep.CompareAndSwap(true, false) {
			<-s.wake
		}
	}
}
