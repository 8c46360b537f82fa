package sliding

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/internal/check"
)

// BenchmarkPauseSliding has sliding rows take 16 million random elements in a tenth of a window, so
// that they grow to 64 MiB and then halve their sample, and tells the longest calls of either
// part; and those of four windows that follow with a hundredth of the elements, in which rows
// are swept and all elements are taken again.
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
