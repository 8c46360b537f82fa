package distinct

import (
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

const (
	pauseBatch   = 4096    // packets
	pauseWindow  = 2 << 20 // packets, each of another flow
	pauseWindows = 4
)

// pauseStream makes batches of raw UDP packets of random flows.
type pauseStream struct {
	rng   *rand.Rand
	batch capture.Batch
	made  int // packets
}

func newPauseStream() *pauseStream {
	const size = 28
	s := &pauseStream{rng: rand.New(rand.NewPCG(31, 32))}
	s.batch.Buf = make([]byte, pauseBatch*size)
	s.batch.Interfaces = []capture.Interface{{LinkType: capture.LinkRaw}}
	s.batch.Sections = make([]capture.Section, 1)
	for i := range pauseBatch {
		copy(s.batch.Buf[i*size:], []byte{0x45, 0, 0, size, 0, 0, 0, 0, 64, 17})
		s.batch.Frames = append(s.batch.Frames, capture.Frame{Data: uint32(i * size), CapLen: size, WireLen: size})
	}
	return s
}

func (s *pauseStream) next() *capture.Batch {
	for i := range s.batch.Frames {
		f := &s.batch.Frames[i]
		f.Time = int64(s.made) * (int64(time.Hour) / pauseWindow)
		binary.LittleEndian.PutUint64(s.batch.Buf[f.Data+12:], s.rng.Uint64())
		binary.LittleEndian.PutUint32(s.batch.Buf[f.Data+20:], s.rng.Uint32())
		s.made++
	}
	return &s.batch
}

// pauses are times of calls.
type pauses struct{ times []time.Duration }

func (p *pauses) add(t time.Duration) { p.times = append(p.times, t) }

func (p *pauses) report(b *testing.B, name string) {
	slices.Sort(p.times)
	n := len(p.times)
	b.ReportMetric(float64(p.times[n-1].Microseconds()), name+"-max-µs")
	b.ReportMetric(float64(p.times[n-1-n/100].Microseconds()), name+"-p99-µs")
}

// threadTime returns the time that the calling thread has been on a CPU: what else runs
// on the machine does not show in it, and neither does waiting.
func threadTime(b *testing.B) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		b.Skip(err)
	}
	return time.Duration(t.Nano())
}

// BenchmarkPause counts sources, destinations and flows in windows of 2 million packets, all
// of them new, and tells the CPU time that counting a batch takes at most: in the first
// window, when nothing is known of the size of windows, and in the others. Live runs count over the
// past as well, in rows that slide, and with a bound that makes all counters go over to samples.
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
		c := NewCounting(&Config{
			Keys:     []flow.KeyConfig{{Of: flow.Src}, {Of: flow.Dst}, {Of: flow.Flow}},
			Calendar: calendar.Calendar{Every: time.Hour}, Method: methodAuto, FPR: 1e-9,
			Past: over, Budget: budget,
			Rows: func([]Row) error { return nil },
		})
		t := &task{packets: c.NewPackets()}
		for s := newPauseStream(); s.made < pauseWindow*pauseWindows; {
			batch := s.next()
			t.Prepare(batch)
			begin := threadTime(b)
			if err := t.Apply(batch); err != nil {
				b.Fatal(err)
			}
			took := threadTime(b) - begin
			sum += took
			if s.made <= pauseWindow {
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
