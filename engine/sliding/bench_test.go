// SPDX-License-Identifier: Apache-2.0

package sliding

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/internal/check"
)

// BenchmarkSliding measures elements that return in no order within the window, a million
// a second of packet time.
func BenchmarkSliding(b *testing.B) {
	for _, n := range []int{3000, 50_000, 800_000, 4_000_000} {
		b.Run(fmt.Sprintf("distinct=%d", n), func(b *testing.B) {
			s := mustSliding(b, Config{Window: time.Hour})
			digests, times := check.Digests(1, n), steady(n, 0)
			s.TestAndSet(nil, digests, times)
			const batch = 1000
			now := times[0]
			at := 0
			b.ResetTimer()
			for i := 0; i < b.N; i += batch {
				if at += batch; at+batch > n {
					at = 0
				}
				for k := range times[:batch] {
					now += 1000
					times[k] = now
				}
				s.TestAndSet(nil, digests[at:at+batch], times[:batch])
			}
		})
	}
}

// BenchmarkCount measures a count over the window.
func BenchmarkCount(b *testing.B) {
	s := mustSliding(b, Config{Window: time.Hour})
	s.TestAndSet(nil, make([]digest.Digest, 1), steady(1, 0))
	for range b.N {
		s.Count(slidingBegin + 1)
	}
}

// BenchmarkPauseSliding has sliding rows take 16 million random elements in a tenth of a
// window, so that they grow to 64 MiB and then halve their sample, and reports the
// longest calls of either part; and the longest calls of the next four windows, with a
// hundredth of the elements, in which rows are swept and all elements are taken again.
func BenchmarkPauseSliding(b *testing.B) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const hour = int64(time.Hour)
	var growing, halving, calm pauseTimes
	for b.Loop() {
		s := mustSliding(b, Config{Window: time.Hour, Step: time.Hour / 120})
		d, times, seen := make([]digest.Digest, check.PauseBatch), make([]int64, check.PauseBatch), make([]uint64, check.PauseBatch/64)
		rng, now := rand.NewPCG(83, 84), int64(slidingBegin)
		feed := func(elements int, span int64, to func() *pauseTimes) {
			for range elements / check.PauseBatch {
				for i := range d {
					now += span / int64(elements)
					d[i], times[i] = digest.Digest{rng.Uint64(), rng.Uint64()}, now
				}
				begin := check.ThreadTime()
				s.TestAndSet(seen, d, times)
				to().add(check.ThreadTime() - begin)
			}
		}
		feed(2*check.PauseElements, hour/10, func() *pauseTimes {
			if s.level > 0 || s.rows.Thinning {
				return &halving
			}
			return &growing
		})
		feed(check.PauseElements/25, 4*hour, func() *pauseTimes { return &calm })
		if s.level > 0 || len(halving) == 0 {
			b.Errorf("level %d in the end, %d calls with a sample", s.level, len(halving))
		}
		s.Close()
	}
	growing.report(b, "growing")
	halving.report(b, "halving")
	calm.report(b, "calm")
	b.ReportMetric(0, "ns/op") // it would count the making of elements, too
}

// pauseTimes are times of calls.
type pauseTimes []time.Duration

func (p *pauseTimes) add(t time.Duration) { *p = append(*p, t) }

func (p pauseTimes) report(b *testing.B, name string) {
	slices.Sort(p)
	b.ReportMetric(float64(p[len(p)-1].Nanoseconds()), name+"-max-cpu-ns")
	b.ReportMetric(float64(p[len(p)-1-len(p)/1000].Nanoseconds()), name+"-p99.9-cpu-ns")
}

// BenchmarkStep has rows take elements of one step, which are new, and then again, when
// they are known. It reports the least CPU time of an element.
func BenchmarkStep(b *testing.B) {
	for _, n := range []int{1 << 14, 1 << 20} {
		b.Run(fmt.Sprintf("distinct=%d", n), func(b *testing.B) { measureStep(b, check.Digests(1, n)) })
	}
}

func measureStep(b *testing.B, digests []digest.Digest) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const batch = 4096
	seen := make([]uint64, batch/64)
	fresh, known := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for range b.N {
		s := mustSliding(b, Config{Window: time.Hour, Step: time.Hour / 120})
		pass := func() time.Duration {
			begin := check.ThreadTime()
			for at := 0; at < len(digests); at += batch {
				s.TestAndSetStep(seen, digests[at:at+batch], slidingBegin)
			}
			return check.ThreadTime() - begin
		}
		fresh = min(fresh, pass())
		for range 3 {
			known = min(known, pass())
		}
		s.Close()
	}
	b.ReportMetric(float64(known)/float64(len(digests)), "known-cpu-ns")
	b.ReportMetric(float64(fresh)/float64(len(digests)), "new-cpu-ns")
	b.ReportMetric(0, "ns/op") // it would count the closing of rows, too
}
