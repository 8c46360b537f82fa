package engine

import (
	"fmt"
	"runtime"
	"testing"
)

// BenchmarkStream takes 2^20 elements round and round, in calls of 4096. About half are
// copies of one of the last 3000.
func BenchmarkStream(b *testing.B) {
	const n, batch = 1 << 20, 4096
	digests := repeating(31, n)
	seen := make([]uint64, batch/64)
	for _, c := range []StreamConfig{
		{Method: "lru"}, {Method: "lru", Shape: "32x16"}, {Method: "qht"}, {Method: "qqhtd"},
		{Method: "sbf", FPR: 0.1}, {Method: "sbf", FPR: 0.1, Max: 3}, {Method: "rsbf"}, {Method: "bsbf"}, {Method: "rlbsbf"},
	} {
		for _, c.Memory = range []int{1 << 20, 128 << 20} {
			for _, c.Workers = range []int{1, 2} {
				b.Run(fmt.Sprintf("%s%s/Max=%d/MiB=%d/workers=%d", c.Method, c.Shape, c.Max, c.Memory>>20, c.Workers), func(b *testing.B) {
					if runtime.GOMAXPROCS(0) < c.Workers {
						b.Skip("fewer processors than workers")
					}
					s := mustStream(b, c)
					at := 0
					for b.Loop() {
						s.TestAndSet(seen, digests[at:at+batch])
						at = (at + batch) % n
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/element")
				})
			}
		}
	}
}

func BenchmarkStreamShards(b *testing.B) {
	const n = 1 << 20
	digests := repeating(31, n)
	seen := make([]uint64, n/64)
	for _, c := range []StreamConfig{{Method: "lru"}, {Method: "sbf", FPR: 0.1}, {Method: "sbf", FPR: 0.1, Max: 3}} {
		benchShards(b, fmt.Sprintf("%s/Max=%d/", c.Method, c.Max), n, func(b *testing.B, memory, workers int) func(at, batch int) {
			c.Memory, c.Workers = memory, workers
			s := mustStream(b, c)
			return func(at, batch int) { s.TestAndSet(seen, digests[at:at+batch]) }
		})
	}
}
