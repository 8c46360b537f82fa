// SPDX-License-Identifier: Apache-2.0

package live

import (
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/keys"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/count"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/distinct/windows"
	"github.com/flowdedup/flowdedup/engine/window"
)

// BenchmarkTask measures the work on a packet of a batch, for the traffic of bench/live
// at two million packets per second.
func BenchmarkTask(b *testing.B) {
	for name, change := range benchCases {
		b.Run(name, func(b *testing.B) { benchmarkTask(b, change) })
	}
}

// benchCases configure the counts; nil counts nothing.
var benchCases = map[string]func(*count.Config){
	"judged":  nil,
	"windows": func(c *count.Config) { c.Past = 0 },
	"past":    func(c *count.Config) {},
}

// apart is how many nanoseconds lie between packets.
const apart = 500

// benchPackets is how many packets a batch has.
const benchPackets = 1 << 12

func benchmarkTask(b *testing.B, change func(*count.Config)) {
	r, t, batch := newBenchTask(b, change)
	number := uint64(0)
	for number < 2*lab.Flows { // until all of them were seen
		number = fill(batch, number, benchPackets)
		r.take(b, t, batch)
	}
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		number = fill(batch, number, benchPackets)
		b.StartTimer()
		r.take(b, t, batch)
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/benchPackets, "ns/packet")
}

// newBenchTask makes a run that counts as changed, or not at all, a task of it, and an
// empty batch.
func newBenchTask(b *testing.B, change func(*count.Config)) (*runner, *task, *capture.Batch) {
	secret := engine.Secret{1}
	cfg := &dedup.Config{
		Identity: identity.Config{Kind: identity.L3},
		Window:   window.Window{Duration: 100 * time.Millisecond}, Secret: secret, Digest: "aes", Method: "auto",
	}
	judging, err := dedup.New(cfg, 0)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { judging.Close() })
	r := &runner{diffs: traits.NewCounter(nil)}
	r.phase.Store(&phase{detector: judging, cfg: cfg})
	if change != nil {
		cfg := count.Config{
			Keys:   []keys.Config{{Kind: keys.Src}, {Kind: keys.Dst}, {Kind: keys.Flow}},
			Config: windows.Config{Calendar: calendar.Calendar{Every: time.Hour}, Past: time.Hour, Method: "auto", Secret: secret, FPR: 1e-6},
			Rows:   func([]count.Row) error { return nil },
		}
		change(&cfg)
		r.counter = count.NewCounter(&cfg)
		b.Cleanup(func() { r.counter.Close() })
	}
	return r, newTask(r), &capture.Batch{
		Interfaces: []capture.Interface{{LinkType: capture.LinkEthernet, TicksPerSecond: 1e9}},
		Sections:   []capture.Section{{Format: capture.FormatPcapNG}},
	}
}

// fill fills a batch with packets from a number on, and returns the number of the next
// one.
func fill(b *capture.Batch, number uint64, packets int) uint64 {
	b.Buf = slices.Grow(b.Buf[:0], packets*lab.MinFrame)[:packets*lab.MinFrame]
	b.Frames = slices.Grow(b.Frames[:0], packets)[:packets]
	for i := range b.Frames {
		at := i * lab.MinFrame
		frame := b.Buf[at : at+lab.MinFrame]
		copy(frame, lab.NewFrame(lab.MinFrame))
		lab.Renumber(frame, number)
		b.Frames[i] = capture.Frame{
			Time: 1.7e18 + int64(number)*apart, Data: uint32(at), CapLen: lab.MinFrame, WireLen: lab.MinFrame,
		}
		number++
	}
	return number
}

// take does with a batch what Prepare and Judge do.
func (r *runner) take(b *testing.B, t *task, batch *capture.Batch) {
	t.Prepare(batch)
	drop := t.packets.Judge(batch)
	r.diffs.Add(t.sampler, batch, drop)
	if t.keys != nil {
		if err := t.keys.Count(batch, drop); err != nil {
			b.Fatal(err)
		}
	}
}
