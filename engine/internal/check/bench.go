// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
)

// BenchBatch is the number of elements in a call.
const BenchBatch = 1024

// BenchSizes runs a benchmark for filters of each size. The name of the size comes first
// in the benchmark's name, so that the largest can be left out.
func BenchSizes(b *testing.B, run func(b *testing.B, memory int)) {
	for _, kib := range []int{128, 1 << 10, 16 << 10, 128 << 10, 512 << 10} {
		b.Run(fmt.Sprintf("memory=%dKiB", kib), func(b *testing.B) { run(b, kib<<10) })
	}
}

// Measure times call, which takes the given number of elements, and calls prepare before
// each without timing it. It reports the median, which is robust against other work on
// the machine.
func Measure(b *testing.B, elements int, prepare, call func()) {
	var times []time.Duration
	for b.Loop() {
		prepare()
		begin := time.Now()
		call()
		times = append(times, time.Since(begin))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Nanoseconds())/float64(elements), "ns/element")
	b.ReportMetric(0, "ns/op") // it would count prepare, too
}

// benchStream is one batch after another of an endless stream.
type benchStream struct {
	rng    *rand.Rand
	recent [8192]digest.Digest
	At     int
	Batch  []digest.Digest
}

func NewBenchStream() *benchStream {
	return &benchStream{rng: rand.New(rand.NewPCG(1, 2)), Batch: make([]digest.Digest, BenchBatch)}
}

// Next replaces the batch by the one after it. Out of 256 elements, fresh are new; the
// others repeat one of the last few thousand new ones.
func (s *benchStream) Next(fresh uint64) {
	for i := range s.Batch {
		if d := s.rng.Uint64(); s.At > 0 && d>>56 >= fresh {
			s.Batch[i] = s.recent[d%uint64(min(s.At, len(s.recent)))]
		} else {
			s.Batch[i] = digest.Digest{d, s.rng.Uint64()}
			s.recent[s.At%len(s.recent)] = s.Batch[i]
			s.At++
		}
	}
}

// MeasureCounter measures a counter while it holds from half of the most elements to all
// of them, and then another one. key makes keys of a stream's digests.
func MeasureCounter[K any](b *testing.B, empty func() engine.Counter[K], most int, key func(digest.Digest) K) {
	s, keys, seen := NewBenchStream(), make([]K, BenchBatch), make([]uint64, BenchBatch/64)
	next := func(fresh uint64) {
		s.Next(fresh)
		for i, d := range s.Batch {
			keys[i] = key(d)
		}
	}
	c := empty()
	full := 0 // length of the stream when the counter is full
	Measure(b, BenchBatch, func() {
		if s.At >= full {
			b.StopTimer()
			c.Close()
			c = empty()
			for full = s.At + most; s.At < full-most/2; {
				next(256)
				c.TestAndSet(seen, keys)
			}
			b.StartTimer()
		}
		next(128)
	}, func() { c.TestAndSet(seen, keys) })
}

const (
	// PauseBatch is the number of elements in a call where its longest time counts.
	PauseBatch = 256
	// PauseElements is how many elements the counter grows to.
	PauseElements = 8 << 20
)

// MeasurePause makes counters from create take random keys, and reports how long calls
// take.
func MeasurePause[K any](b *testing.B, create func() engine.Counter[K], key func(*rand.PCG) K) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	keys, seen := make([]K, PauseBatch), make([]uint64, PauseBatch/64)
	times := make([]time.Duration, 0, PauseElements/PauseBatch)
	var passed, longest, usual, sum time.Duration
	for b.Loop() {
		c, rng := create(), rand.NewPCG(81, 82)
		times = times[:0]
		for at := 0; at < PauseElements; at += PauseBatch {
			for i := range keys {
				keys[i] = key(rng)
			}
			wall, begin := time.Now(), ThreadTime()
			c.TestAndSet(seen, keys)
			times = append(times, ThreadTime()-begin)
			sum, passed = sum+times[len(times)-1], max(passed, time.Since(wall))
		}
		slices.Sort(times)
		longest, usual = max(longest, times[len(times)-1]), max(usual, times[len(times)-len(times)/1000])
		c.Close()
	}
	b.ReportMetric(float64(passed.Nanoseconds()), "max-ns")
	b.ReportMetric(float64(longest.Nanoseconds()), "max-cpu-ns")
	b.ReportMetric(float64(usual.Nanoseconds()), "p99.9-cpu-ns")
	b.ReportMetric(float64(sum.Nanoseconds())/float64(b.N)/PauseElements, "cpu-ns/element")
	b.ReportMetric(0, "ns/op") // it would count the making of keys, too
}
