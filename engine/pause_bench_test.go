package engine

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm"
)

const (
	// pauseBatch is how many elements a call gets where its longest time counts.
	pauseBatch = 256
	// pauseElements is how many elements the counter grows to.
	pauseElements = 8 << 20
)

// BenchmarkPause has counters grow from nothing to 8 million random elements,
// and tells the longest single call and the one that 1 of 1000 exceed. Other work on the
// machine shows in the longest: take the least of several runs.
func BenchmarkPause(b *testing.B) {
	address := func(rng *rand.PCG) uint32 { return uint32(rng.Uint64()) }
	random := func(rng *rand.PCG) asm.Digest { return asm.Digest{rng.Uint64(), rng.Uint64()} }
	b.Run("counter=ExactV4", func(b *testing.B) {
		measurePause(b, func() Counter[uint32] { return newExactV4(b, 0) }, address)
	})
	b.Run("counter=DigestRows", func(b *testing.B) {
		measurePause(b, func() Counter[asm.Digest] { return newDigestRows(b, 0) }, random)
	})
	b.Run("counter=Landmark", func(b *testing.B) {
		measurePause(b, func() Counter[asm.Digest] { return newLandmark(b, LandmarkConfig{}) }, random)
	})
}

func measurePause[K any](b *testing.B, create func() Counter[K], key func(*rand.PCG) K) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	keys, seen := make([]K, pauseBatch), make([]uint64, pauseBatch/64)
	times := make([]time.Duration, 0, pauseElements/pauseBatch)
	var passed, longest, usual, sum time.Duration
	for b.Loop() {
		c, rng := create(), rand.NewPCG(81, 82)
		times = times[:0]
		for at := 0; at < pauseElements; at += pauseBatch {
			for i := range keys {
				keys[i] = key(rng)
			}
			wall, begin := time.Now(), threadTime()
			c.TestAndSet(seen, keys)
			times = append(times, threadTime()-begin)
			sum, passed = sum+times[len(times)-1], max(passed, time.Since(wall))
		}
		slices.Sort(times)
		longest, usual = max(longest, times[len(times)-1]), max(usual, times[len(times)-len(times)/1000])
		c.Close()
	}
	b.ReportMetric(float64(passed.Nanoseconds()), "max-ns")
	b.ReportMetric(float64(longest.Nanoseconds()), "max-cpu-ns")
	b.ReportMetric(float64(usual.Nanoseconds()), "p99.9-cpu-ns")
	b.ReportMetric(float64(sum.Nanoseconds())/float64(b.N)/pauseElements, "cpu-ns/element")
	b.ReportMetric(0, "ns/op") // it would count the making of keys, too
}
