// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/internal/check"
)

const (
	pauseBatch   = 4096    // packets
	pauseWindow  = 2 << 20 // packets, each of another flow
	pauseWindows = 4
)

// pauses are times of calls.
type pauses struct{ times []time.Duration }

func (p *pauses) add(t time.Duration) { p.times = append(p.times, t) }

func (p *pauses) report(b *testing.B, name string) {
	slices.Sort(p.times)
	n := len(p.times)
	b.ReportMetric(float64(p.times[n-1].Microseconds()), name+"-max-µs")
	b.ReportMetric(float64(p.times[n-1-n/100].Microseconds()), name+"-p99-µs")
}

// BenchmarkPause counts sources, destinations and flows in windows of 2 million packets,
// all of them new. It reports the CPU time that counting a batch takes at most: in the
// first window, when nothing is known of the size of windows, and in the others. The
// variants count over the past as well, and with a bound that makes all counters go over
// to samples.
func BenchmarkPause(b *testing.B) {
	b.Run("windows", func(b *testing.B) { measurePause(b, 0, 0) })
	b.Run("past", func(b *testing.B) { measurePause(b, time.Hour, 0) })
	b.Run("samples", func(b *testing.B) { measurePause(b, time.Hour, 64<<20) })
}

func measurePause(b *testing.B, over time.Duration, budget int) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var first, later pauses
	sum := time.Duration(0)
	for b.Loop() {
		c := New(&Config{
			Keys:     []Key{{Name: "src", PerPacket: 1}, {Name: "dst", PerPacket: 1}, {Name: "flow", PerPacket: 1}},
			Implies:  func(i, j int) bool { return i == 2 || i == j },
			Calendar: calendar.Calendar{Every: time.Hour}, Method: methodAuto, FPR: 1e-9,
			Past: over, Budget: budget,
			Emit: func(int64, int64, []Count) error { return nil },
		})
		rng, batch, times := rand.New(rand.NewPCG(31, 32)), c.NewBatch(), make([]int64, pauseBatch)
		for made := 0; made < pauseWindow*pauseWindows; {
			for i := range times {
				times[i] = int64(made) * (int64(time.Hour) / pauseWindow)
				made++
			}
			randomBatch(batch, rng, times)
			begin := check.ThreadTime()
			if err := c.Count(batch, nil); err != nil {
				b.Fatal(err)
			}
			took := check.ThreadTime() - begin
			sum += took
			if made <= pauseWindow {
				first.add(took)
			} else {
				later.add(took)
			}
		}
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
	}
	first.report(b, "first")
	later.report(b, "later")
	b.ReportMetric(float64(sum.Nanoseconds())/float64(b.N)/(pauseWindow*pauseWindows), "cpu-ns/packet")
	b.ReportMetric(0, "ns/op") // it would count the making of packets, too
}
