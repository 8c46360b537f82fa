package engine

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// Two goroutines hand a number to and fro, at once or after a pause in which the other
// one falls asleep. Each finds it as the other one left it.
func TestSignal(t *testing.T) {
	there, back := newSignal(), newSignal()
	const n = 3000
	value := 0 // guarded by the signals
	var pauses atomic.Int64
	pause := func(i int) {
		switch {
		case i%100 == 0:
			time.Sleep(200 * time.Microsecond)
			pauses.Add(1)
		case i%3 == 0:
			runtime.Gosched()
		}
	}
	go func() {
		for i := uint64(1); i <= n; i++ {
			there.await(i)
			value++
			pause(int(i) + 50)
			back.raise()
		}
	}()
	for i := 1; i <= n; i++ {
		pause(i)
		there.raise()
		back.await(uint64(i))
		if value != i {
			t.Fatalf("after %d rounds the value is %d", i, value)
		}
	}
	if pauses.Load() == 0 {
		t.Error("nobody slept")
	}
}
