// SPDX-License-Identifier: Apache-2.0

package kerneltest

import (
	"slices"
	"testing"
	"time"
)

// Measure times call, which handles this number of elements, and calls prepare before
// each without timing it. It reports the median, which short disturbances by other
// programs do not change.
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

// MeasureCached measures call, which handles this number of elements that stay in the
// caches. It makes several calls between two readings of the clock.
func MeasureCached(b *testing.B, elements int, call func()) {
	const calls = 8
	Measure(b, calls*elements, func() {}, func() {
		for range calls {
			call()
		}
	})
}
