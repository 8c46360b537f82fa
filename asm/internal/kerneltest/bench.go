package kerneltest

import (
	"slices"
	"testing"
	"time"
)

// Measure times call, which takes so many elements, and calls prepare before each
// without timing it. It reports the median, which other work on the machine, at
// moments, does not change.
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

// MeasureCached measures call, which takes so many elements that stay in the caches. It is
// called several times between two looks at the clock.
func MeasureCached(b *testing.B, elements int, call func()) {
	const calls = 8
	Measure(b, calls*elements, func() {}, func() {
		for range calls {
			call()
		}
	})
}
