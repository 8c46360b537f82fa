// SPDX-License-Identifier: Apache-2.0

package live

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/count"
)

// BenchmarkRun measures the CPU time of a run's first eight million packets, of which
// each of the first two million has a new flow with a probability of one half. It reports
// the mean of these, all threads together, and the first quartile of later batches: that
// is what a packet takes while nothing else disturbs the caches.
func BenchmarkRun(b *testing.B) {
	for name, change := range benchCases {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				benchmarkRun(b, change)
			}
		})
	}
}

func benchmarkRun(b *testing.B, change func(*count.Config)) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r, t, batch := newBenchTask(b, change)
	first, later := time.Duration(0), []time.Duration(nil)
	for number := uint64(0); number < 8*lab.Flows; {
		next := fill(batch, number, benchPackets)
		all, own := cpuTime(b, unix.CLOCK_PROCESS_CPUTIME_ID), cpuTime(b, unix.CLOCK_THREAD_CPUTIME_ID)
		r.take(b, t, batch)
		if number < 2*lab.Flows {
			first += cpuTime(b, unix.CLOCK_PROCESS_CPUTIME_ID) - all
		} else {
			later = append(later, cpuTime(b, unix.CLOCK_THREAD_CPUTIME_ID)-own)
		}
		number = next
	}
	slices.Sort(later)
	b.ReportMetric(float64(first)/(2*lab.Flows), "first-cpu-ns/packet")
	b.ReportMetric(float64(later[len(later)/4])/benchPackets, "later-cpu-ns/packet")
	b.ReportMetric(0, "ns/op") // it would count the making of packets, too
}

func cpuTime(b *testing.B, clock int32) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		b.Fatal(err)
	}
	return time.Duration(t.Nano())
}
