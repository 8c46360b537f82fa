package engine

import (
	"fmt"
	"testing"
)

// benchShards runs a benchmark with one and two workers, lines in a core's own cache and
// in memory, and calls of some sizes. call handles that many elements from place at on
// of the most.
func benchShards(b *testing.B, name string, most int, filter func(b *testing.B, memory, workers int) (call func(at, batch int))) {
	for _, mib := range []int{1, 128} {
		for _, batch := range []int{1 << 12, 1 << 14, 1 << 16, 1 << 20} {
			for _, workers := range []int{1, 2} {
				b.Run(fmt.Sprintf("%sMiB=%d/batch=%d/workers=%d", name, mib, batch, workers), func(b *testing.B) {
					call, at := filter(b, mib<<20, workers), 0
					for b.Loop() {
						call(at, batch)
						at = (at + batch) % most
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(batch), "ns/element")
					b.ReportMetric(0, "ns/op")
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

// BenchmarkTimedShards takes packets of a steady clock.
func BenchmarkTimedShards(b *testing.B) {
	const n = 1 << 20
	p := randomPackets(14, n, clocks(1_000_000)["in order"])
	seen := make([]uint64, n/64)
	benchShards(b, "", n, func(b *testing.B, memory, workers int) func(at, batch int) {
		f := newTimed(b, TimedConfig{Window: window(b, "1ms"), Memory: memory, Workers: workers})
		return func(at, batch int) { f.TestAndSet(seen, p.digests[at:at+batch], p.times[at:at+batch], nil) }
	})
}
