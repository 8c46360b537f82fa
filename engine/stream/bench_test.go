package stream

import (
	"fmt"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"testing"
)

// BenchmarkStream takes 2^20 elements round and round, in calls of 4096. About half are
// copies of one of the last 3000.
func BenchmarkStream(b *testing.B) {
	const n, batch = 1 << 20, 4096
	digests := check.Repeating(31, n)
	seen := make([]uint64, batch/64)
	for _, c := range []Config{
		{Method: "lru"}, {Method: "lru", Shape: "32x16"}, {Method: "qht"}, {Method: "qqhtd"},
		{Method: "sbf", FPR: 0.1}, {Method: "sbf", FPR: 0.1, Max: 3}, {Method: "rsbf"}, {Method: "bsbf"}, {Method: "rlbsbf"},
	} {
		for _, c.Memory = range []int{1 << 20, 128 << 20} {
			b.Run(fmt.Sprintf("%s%s/Max=%d/MiB=%d", c.Method, c.Shape, c.Max, c.Memory>>20), func(b *testing.B) {
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
