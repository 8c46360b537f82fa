// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/internal/check"
)

// BenchmarkReturning counts sources, destinations and flows, of which each flow returns in no
// order, a million packets a second. It reports the CPU time of a packet's count, without
// keys and digests, in windows and with the past hour, by the number of flows.
func BenchmarkReturning(b *testing.B) {
	for _, flows := range []uint32{1 << 10, 1 << 15, 1 << 20, 1 << 22} {
		for _, over := range []time.Duration{0, time.Hour} {
			b.Run(fmt.Sprintf("flows=%d/past=%v", flows, over), func(b *testing.B) { measureReturning(b, flows, over) })
		}
	}
}

func measureReturning(b *testing.B, flows uint32, over time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := New(&Config{
		Keys:     []Key{{Name: "src", PerPacket: 1}, {Name: "dst", PerPacket: 1}, {Name: "flow", PerPacket: 1}},
		Implies:  func(i, j int) bool { return i == 2 || i == j },
		Calendar: calendar.Calendar{Every: time.Hour}, Method: methodAuto, FPR: 1e-9,
		Past: over,
		Emit: func(int64, int64, []Count) error { return nil },
	})
	const batch = 4096
	rng, one, times := rand.New(rand.NewPCG(33, 34)), c.NewBatch(), make([]int64, batch)
	packets, now, took := make([]uint32, batch), int64(0), time.Duration(0)
	one.Derive = func(i int, v4, _ []uint32) { addFlows(one, one.Derived()[i].Keys, packets, v4) }
	for made := 0; made < b.N+4*int(flows); made += batch {
		for i := range times {
			now += 1000
			times[i], packets[i] = now, rng.Uint32N(flows)
		}
		one.Reset(times)
		addFlows(one, one.Direct(), packets, upTo(batch))
		begin := check.ThreadTime()
		if err := c.Count(one, nil); err != nil {
			b.Fatal(err)
		}
		if made >= 4*int(flows) { // the counters have grown
			took += check.ThreadTime() - begin
		}
	}
	if err := c.Close(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(took.Nanoseconds())/float64(max(b.N, batch)), "cpu-ns/packet")
	b.ReportMetric(0, "ns/op") // it would count the making of packets, too
}

// addFlows adds elements of the flows of packets, which have 2^16 sources and 2^8 destinations.
func addFlows(b *Batch, keys []int, packets, numbers []uint32) {
	for _, key := range keys {
		switch key {
		case 0, 1:
			mask := [2]uint32{1<<16 - 1, 1<<8 - 1}[key]
			for i, items := 0, b.Elements(key).Addr4.Add(numbers, 0); i < len(items); i++ {
				items[i] = packets[numbers[i]] & mask
			}
		default:
			for i, items := 0, b.Elements(key).V4.Add(numbers, 0); i < len(items); i++ {
				flow := rand.NewPCG(uint64(packets[numbers[i]]), 1)
				items[i] = digest.Digest{flow.Uint64(), flow.Uint64()}
			}
		}
	}
}
