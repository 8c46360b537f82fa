// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"math/bits"
	"runtime"
	"testing"
	"time"
)

const (
	batch = 1024       // elements a call
	chunk = 16 * batch // elements that are made before the clock starts
)

// filter is a filter to measure.
type filter[K any] interface {
	// TestAndSet sets bit i of seen if keys[i] was seen before, as far as the
	// filter knows, clears the other bits, and remembers all keys. There are
	// at most batch of them.
	TestAndSet(seen []uint64, keys []K)
	// outside returns how many bytes the filter holds outside of the Go heap.
	outside() int
	Close() error
}

// onHeap completes filters that are ordinary Go memory.
type onHeap struct{}

func (onHeap) outside() int { return 0 }
func (onHeap) Close() error { return nil }

// rival is a filter to be made for a job.
type rival[K any] struct {
	name string
	open func() (filter[K], error)
}

// tally is the result of a measurement.
type tally struct {
	took             time.Duration
	fresh, repeats   int
	wrong, forgotten int // of the fresh, of the repeats
	held             int // bytes
}

func (t *tally) report(b *testing.B) {
	b.ReportMetric(0, "ns/op") // it would count the making of keys, too
	b.ReportMetric(float64(t.took.Nanoseconds())/float64(t.fresh+t.repeats), "ns/element")
	b.ReportMetric(float64(t.wrong)/float64(t.fresh), "fpr")
	b.ReportMetric(float64(t.forgotten)/float64(t.repeats), "fnr")
	b.ReportMetric(float64(t.held)/(1<<20), "held-MiB")
}

// feeder gives filters a stream, in chunks that are made before the clock starts.
type feeder[K any] struct {
	stream stream
	key    func(id uint64) K
	at     uint64 // the position
	keys   [chunk]K
	repeat [chunk / 64]uint64
	seen   [chunk / 64]uint64
}

// next makes n more elements, a chunk at most.
func (f *feeder[K]) next(n int) {
	clear(f.repeat[:])
	for i := range n {
		id, repeat := f.stream.at(f.at)
		f.at++
		f.keys[i] = f.key(id)
		if repeat {
			f.repeat[i/64] |= 1 << (i % 64)
		}
	}
}

// feed gives n elements to a filter and adds its verdicts to the tally.
func (f *feeder[K]) feed(to filter[K], n int, t *tally) {
	for n > 0 {
		part := min(n, chunk)
		f.next(part)
		begin := time.Now()
		for i := 0; i < part; i += batch {
			to.TestAndSet(f.seen[i/64:], f.keys[i:min(i+batch, part)])
		}
		t.took += time.Since(begin)
		f.count(part, t)
		n -= part
	}
}

// count compares the verdicts on n elements with the truth.
func (f *feeder[K]) count(n int, t *tally) {
	for w := range (n + 63) / 64 {
		covered := ^uint64(0) >> (64 - min(64, n-64*w))
		seen, repeat := f.seen[w]&covered, f.repeat[w]&covered
		t.repeats += bits.OnesCount64(repeat)
		t.fresh += bits.OnesCount64(covered &^ repeat)
		t.wrong += bits.OnesCount64(seen &^ repeat)
		t.forgotten += bits.OnesCount64(repeat &^ seen)
	}
}

// heap returns the size of everything that is alive on the Go heap.
func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// measureSet measures passes over the first n elements of a stream, each with a
// filter that is empty at first.
func measureSet[K any](b *testing.B, r rival[K], s stream, key func(uint64) K, n int) {
	var t tally
	f := &feeder[K]{stream: s, key: key}
	for b.Loop() {
		before := heap()
		to, err := r.open()
		if err != nil {
			b.Fatal(err)
		}
		f.at = 0
		f.feed(to, n, &t)
		t.held = heap() - before + to.outside()
		if err := to.Close(); err != nil {
			b.Fatal(err)
		}
	}
	runtime.KeepAlive(f) // so that held is only the filter's
	t.report(b)
}

// measureStream measures an endless stream, after twice its window has gone by.
func measureStream(b *testing.B, r rival[key], s stream) {
	var warm, t tally
	f := &feeder[key]{stream: s, key: keyOf}
	before := heap()
	to, err := r.open()
	if err != nil {
		b.Fatal(err)
	}
	f.feed(to, int(2*s.window), &warm)
	for b.Loop() {
		f.feed(to, chunk, &t)
	}
	t.held = heap() - before + to.outside()
	runtime.KeepAlive(f) // so that held is only the filter's
	if err := to.Close(); err != nil {
		b.Fatal(err)
	}
	t.report(b)
}
