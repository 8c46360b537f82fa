// SPDX-License-Identifier: Apache-2.0

package afpacket

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/labtest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/frametest"
)

// BenchmarkTake walks ring blocks that lie in the cache, and copies packets unless they stay
// in place.
func BenchmarkTake(b *testing.B) {
	for _, inPlace := range []bool{false, true} {
		for _, size := range []int{60, 300, 1514} {
			b.Run(fmt.Sprintf("in-place=%t/bytes=%d", inPlace, size), func(b *testing.B) { benchmarkTake(b, size, inPlace) })
		}
	}
}

func benchmarkTake(b *testing.B, size int, inPlace bool) {
	r := rand.New(rand.NewPCG(1, 2))
	var packets []testPacket
	for at := blockHeadLen; at+96+size < 1<<18; at += (82 + size + 15) &^ 15 {
		p := randomPacket(r, size)
		p.status = 0
		packets = append(packets, p)
	}
	block := blockOf(1<<18, packets...)
	w := walker{snapLen: MaxSnapLen, tagged: true, inPlace: inPlace}
	var batch capture.Batch
	for b.Loop() {
		for again := true; again; again = w.left > 0 {
			batch.Reset()
			w.bytes = 0
			if err := w.take(&batch, block, 0); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(packets)), "ns/packet")
}

// liveFrames is how many frames an iteration of BenchmarkLive injects.
const liveFrames = 4 << 20

// BenchmarkLive captures what the generator injects at full rate from its own processor, 4
// million frames per iteration: use -benchtime 3x or the like. The case next is Capture.Next.
// The case look also reads 4 bytes of each packet that Next returned. bench/baseline/ring
// measures the cost of only walking the ring.
func BenchmarkLive(b *testing.B) {
	for _, size := range []int{60, 300, 1514} {
		for _, reader := range []struct {
			name string
			read func(src *Capture) (uint32, error)
		}{
			{"next", func(src *Capture) (uint32, error) { return readNext(src, false) }},
			{"look", func(src *Capture) (uint32, error) { return readNext(src, true) }},
		} {
			b.Run(fmt.Sprintf("bytes=%d/%s", size, reader.name), func(b *testing.B) {
				benchmarkLive(b, size, reader.read)
			})
		}
	}
}

func benchmarkLive(b *testing.B, size int, read func(src *Capture) (uint32, error)) {
	enterLab(b)
	pin(b, 0)
	g, err := lab.NewGenerator("right", size)
	if err != nil {
		b.Skip("no generator: ", err)
	}
	defer g.Close()
	src := open(b, Config{Interfaces: []string{"right"}, RingBytes: DefaultRingBytes, BlockBytes: DefaultBlockBytes})
	busy := make(chan time.Duration)
	go func() {
		runtime.LockOSThread()
		pin(b, 1)
		start := processorTime()
		for err := error(nil); err == nil; {
			_, err = read(src)
		}
		busy <- processorTime() - start
	}()
	for b.Loop() {
		if err := g.Run(liveFrames); err != nil {
			b.Skip("no live frames: ", err)
		}
	}
	src.Stop()
	used := <-busy
	s := sum(src)
	taken := float64(s.Received - s.Dropped)
	b.ReportMetric(taken/used.Seconds()/1e6, "Mpackets/CPU-s")
	b.ReportMetric(float64(s.Received)/b.Elapsed().Seconds()/1e6, "Mpackets/s")
	b.ReportMetric(float64(s.Dropped)/float64(s.Received)*100, "dropped-%")
}

// pin keeps the calling thread on a processor.
func pin(b *testing.B, processor int) {
	var set unix.CPUSet
	set.Set(processor % runtime.NumCPU())
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		b.Log(err)
	}
}

// processorTime returns the processor time of the calling thread.
func processorTime() time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

var benchBatch capture.Batch

// readNext reads a batch, and the source address of each packet in it.
func readNext(src *Capture, walk bool) (all uint32, err error) {
	if err := src.Next(&benchBatch); err != nil || !walk {
		return 0, err
	}
	for i := range benchBatch.Frames {
		all += le.Uint32(benchBatch.Data(i)[26:])
	}
	return all, nil
}

// BenchmarkSend sends to an interface whose peer has no listener. It measures the time of
// the sending thread, nearly all of which is spent in the kernel.
func BenchmarkSend(b *testing.B) {
	for _, size := range []int{60, 1514} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			enterLab(b)
			pin(b, 0)
			s, err := OpenSender(SenderConfig{Interface: "left"})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			var frames [][]byte
			for i := range 1 << 12 {
				frames = append(frames, numbered(i, size))
			}
			batch := frametest.NewBatch(capture.LinkEthernet, frames...)
			start := processorTime()
			for b.Loop() {
				if err := s.Send(batch, nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(s.Stats().Sent)/(processorTime()-start).Seconds()/1e6, "Mpackets/CPU-s")
		})
	}
}

// BenchmarkForward measures the delay that a tool behind --forward sees: from the
// kernel's timestamp of a packet on the way in to that on the way out, at 100,000 packets
// a second in bursts of 100.
func BenchmarkForward(b *testing.B) {
	enterLab(b)
	labtest.Pair(b, "out", "tool")
	in := open(b, Config{Interfaces: []string{"right"}, BlockTimeout: time.Millisecond, BlockBytes: 1 << 16})
	// This ring is read only at the end, and every timeout uses up a block.
	tool := open(b, Config{Interfaces: []string{"tool"}, RingBytes: DefaultRingBytes, BlockTimeout: time.Second})
	forward, source := openSender(b, "out"), openSender(b, "left")
	came := make(chan []int64)
	go func() {
		var times []int64
		for batch := (capture.Batch{}); in.Next(&batch) == nil; {
			for i := range batch.Frames {
				times = append(times, batch.Frames[i].Time)
			}
			if err := forward.Send(&batch, nil); err != nil {
				b.Error(err)
			}
		}
		came <- times
	}()
	burst := frametest.NewBatch(capture.LinkEthernet, flows(100)...)
	for b.Loop() {
		if err := source.Send(burst, nil); err != nil {
			b.Fatal(err)
		}
		time.Sleep(time.Millisecond - time.Duration(b.Elapsed())%time.Millisecond)
	}
	in.Stop()
	times := <-came
	left := rest(b, tool).Frames
	if len(left) != len(times) {
		b.Fatalf("%d packets left, of %d", len(left), len(times))
	}
	delays := make([]int64, len(times))
	for i := range left {
		delays[i] = left[i].Time - times[i]
	}
	slices.Sort(delays)
	b.ReportMetric(float64(delays[len(delays)/2])/1e6, "ms-median")
	b.ReportMetric(float64(delays[len(delays)*99/100])/1e6, "ms-p99")
}
