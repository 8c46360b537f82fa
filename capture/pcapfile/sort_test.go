// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
)

// sortSimply is Sort's promise, written plainly: after each packet leave the packets that are
// earlier by span than the latest so far, in the order of their times. cells is how many may
// wait, of one cell each.
func sortSimply(packets []seen, span int64, most int) (out []string, stats SortStats) {
	type entry struct {
		key    int64
		number int
		data   string
	}
	var waits []entry
	key, latest, left := int64(capture.NoTime), int64(math.MinInt64), int64(math.MinInt64)
	leave := func() {
		out, left = append(out, waits[0].data), waits[0].key
		waits = waits[1:]
	}
	for i, p := range packets {
		if p.time != capture.NoTime {
			key = p.time
		}
		if key < left {
			out = append(out, p.data)
			if p.time != capture.NoTime {
				if stats.Late++; stats.Late == 1 {
					stats.First = uint64(i + 1)
				}
				stats.By = max(stats.By, left-key)
			}
			continue
		}
		latest = max(latest, key)
		waits = append(waits, entry{key, i, p.data})
		slices.SortStableFunc(waits, func(a, b entry) int {
			switch {
			case a.key < b.key:
				return -1
			case a.key > b.key:
				return 1
			}
			return a.number - b.number
		})
		for len(waits) > 0 && (latest >= math.MinInt64+span && waits[0].key <= latest-span || waits[0].key == capture.NoTime) {
			leave()
		}
		for len(waits) > most {
			stats.Full = true
			leave()
		}
	}
	for len(waits) > 0 {
		leave()
	}
	return out, stats
}

// shuffled returns times that rise, and some that are late by at most late microseconds.
func shuffled(random *rand.Rand, n, late int) []int {
	times, now := make([]int, n), 0
	for i := range times {
		now += random.IntN(30)
		times[i] = max(0, now-random.IntN(late+1))
	}
	return times
}

// TestSort compares with the plain program, for inputs of both formats in pieces of several
// sizes, and for a merge of some.
func TestSort(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for round := range 60 {
		f := []capture.Format{capture.FormatPcap, capture.FormatPcapNG}[round%2]
		times := shuffled(random, random.IntN(400), []int{300, 10, 0}[random.IntN(3)])
		for k := range times {
			if f == capture.FormatPcapNG && random.IntN(15) == 0 {
				times[k] = -1
			}
		}
		data := timed(f, "p", times)
		alone := readAll(t, open(t, data, Options{}))
		cfg := SortConfig{Span: int64([]int{0, 50, 150, 300, 1e9}[random.IntN(5)]) * 1000, Memory: 1 << 20}
		if random.IntN(3) == 0 {
			cfg.Memory = (1 + random.IntN(20)) * (cellSize + waitingBytes)
		}
		want, stats := sortSimply(alone.packets, cfg.Span, cfg.Memory/(cellSize+waitingBytes))
		for _, chunk := range []int{0, 100} {
			s := Sort(open(t, data, Options{ChunkSize: chunk}), cfg)
			s.least = 1
			w := readAll(t, s)
			if w.err != nil {
				t.Fatal(w.err)
			}
			var got []string
			for _, p := range w.packets {
				got = append(got, p.data)
			}
			if !slices.Equal(got, want) || s.Stats() != stats {
				t.Fatalf("round %d, %+v, chunk %d: %+v, want %+v\n got %q\nwant %q", round, cfg, chunk, s.Stats(), stats, got, want)
			}
			checkSorted(t, w, alone, &stats)
			if len(w.blocks) != len(alone.blocks) {
				t.Fatalf("%d blocks, want %d", len(w.blocks), len(alone.blocks))
			}
		}
	}
}

// checkSorted checks that packets are the packets of the input, and in order if none was late.
func checkSorted(t *testing.T, w, in whole, stats *SortStats) {
	t.Helper()
	left := map[string]seen{}
	for _, p := range in.packets {
		left[p.data] = p
	}
	last := int64(math.MinInt64)
	for _, p := range w.packets {
		was, ok := left[p.data]
		if !ok || was.time != p.time || was.wireLen != p.wireLen {
			t.Fatalf("%+v, was %+v", p, was)
		}
		delete(left, p.data)
		if stats.Late == 0 && p.time != capture.NoTime && p.time < last {
			t.Fatalf("%q is out of order, and none was late", p.data)
		}
		if p.time != capture.NoTime {
			last = p.time
		}
	}
	if len(left) > 0 {
		t.Fatalf("%d packets are gone", len(left))
	}
}

// TestSortMerged sorts what Merge leaves out of order, whatever the inputs, as long as each
// is late by at most the span.
func TestSortMerged(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for range 20 {
		var sources []capture.Source
		for i := range 2 + random.IntN(5) {
			f := []capture.Format{capture.FormatPcap, capture.FormatPcapNG}[random.IntN(2)]
			sources = append(sources, open(t, timed(f, string(rune('a'+i)), shuffled(random, 300, 200)), Options{ChunkSize: 200}))
		}
		s := Sort(Merge(sources, nil), SortConfig{Span: 200_000})
		w := readAll(t, s)
		if !slices.IsSortedFunc(w.packets, func(a, b seen) int { return int(a.time - b.time) }) || s.Stats() != (SortStats{}) {
			t.Fatalf("not sorted: %+v", s.Stats())
		}
	}
}

// TestSortSections checks that no packet changes its section where sections are copied as they
// are, and that the output can be read.
func TestSortSections(t *testing.T) {
	one, two := timed(capture.FormatPcapNG, "a", []int{300, 100, 200}), timed(capture.FormatPcapNG, "b", []int{150, 500, 400})
	s := Sort(open(t, slices.Concat(one, two), Options{}), SortConfig{Span: 1e9})
	var out bytes.Buffer
	w := NewWriter(&out, WriterOptions{})
	if err := capturetest.Each(t, s, func(b *capture.Batch) {
		if err := w.Write(b, nil); err != nil {
			t.Fatal(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range readAll(t, open(t, out.Bytes(), Options{})).packets {
		got = append(got, fmt.Sprint(p.data, p.iface.Section))
	}
	if want := []string{"a10", "a20", "a00", "b01", "b21", "b11"}; !slices.Equal(got, want) || s.Stats() != (SortStats{Late: 1, First: 4, By: 150_000}) {
		t.Errorf("%q, want %q; %+v", got, want, s.Stats())
	}
}

// TestSortDamage checks that what waits is delivered before the error.
func TestSortDamage(t *testing.T) {
	data := timed(capture.FormatPcap, "p", []int{30, 20, 10})
	s := Sort(open(t, data[:len(data)-1], Options{}), SortConfig{Span: 1e9})
	w := readAll(t, s)
	var in *capture.InputError
	if len(w.packets) != 2 || w.packets[0].data != "p1" || !errors.As(w.err, &in) {
		t.Errorf("%d packets, %v", len(w.packets), w.err)
	}
}

// TestSortGap checks that a batch keeps its size when all that waits leaves at once.
func TestSortGap(t *testing.T) {
	const n = 30000
	times := make([]int, n)
	for i := range times {
		times[i] = (i*7919 + 1) % n
	}
	times[n-1] = 1e6 + n
	s := Sort(open(t, timed(capture.FormatPcap, "p", times), Options{}), SortConfig{Span: 1e9})
	total, last := 0, int64(-1)
	if err := capturetest.Each(t, s, func(b *capture.Batch) {
		if len(b.Buf) > 2*mergeTarget {
			t.Fatalf("%d bytes", len(b.Buf))
		}
		for i := range b.Frames {
			if b.Frames[i].Time < last {
				t.Fatal("out of order")
			}
			last = b.Frames[i].Time
		}
		total += len(b.Frames)
	}); err != nil || total != n {
		t.Errorf("%d packets, %v", total, err)
	}
}

// stepping is a source of batches whose packets step back now and then.
type stepping struct {
	capture.Source
	one capture.Batch
	at  int64
}

func (e *stepping) Inputs() []string { return []string{"stepping"} }

func (e *stepping) Next(b *capture.Batch) error {
	b.Reset()
	b.Buf = append(b.Buf, e.one.Buf...)
	for i, f := range e.one.Frames {
		e.at += 1000
		f.Time = e.at - int64(i%7)*5000
		b.Frames = append(b.Frames, f)
	}
	b.Interfaces, b.Sections = e.one.Interfaces, e.one.Sections
	return nil
}

// TestSortAllocates checks that a long run allocates nothing.
func TestSortAllocates(t *testing.T) {
	src := &stepping{}
	at := src.one.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
	src.one.Reset() // the blocks
	for i := range 1000 {
		src.one.Append(capture.Frame{Interface: at}, make([]byte, 60+i))
	}
	s := Sort(src, SortConfig{Span: 3e6})
	var b capture.Batch
	next := func() {
		if err := s.Next(&b); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		next()
	}
	if n := testing.AllocsPerRun(100, next); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestSortMemory checks that memory is bounded where all packets have the same time, and where a
// packet of the far future leaves the others behind.
func TestSortMemory(t *testing.T) {
	o := binary.LittleEndian
	data := capturetest.PcapHeader(o, magicMicroseconds, 2, 4, 0, 1)
	data = append(capturetest.PcapRecord(data, o, 4e9, 0, 1, 1), 0)
	for range 20000 {
		data = append(capturetest.PcapRecord(data, o, 1000, 0, 100, 100), make([]byte, 100)...)
	}
	const memory = 1 << 20
	s := Sort(open(t, data, Options{}), SortConfig{Span: math.MaxInt64, Memory: memory})
	if w := readAll(t, s); len(w.packets) != 20001 || w.packets[20000].data != "\x00" || s.Stats() != (SortStats{Full: true}) {
		t.Errorf("%d packets, %+v", len(w.packets), s.Stats())
	}
	if n := (len(s.waiting.store.chunks) + len(s.waiting.records.chunks)) * chunkBytes; n > 2*memory {
		t.Errorf("%d bytes", n)
	}
	if _, err := s.Offset(); err < 0 || s.Next(&capture.Batch{}) != io.EOF {
		t.Error("not at the end")
	}
}

func BenchmarkSort(b *testing.B) {
	src := &stepping{}
	at := src.one.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
	src.one.Reset()
	for range 1000 {
		src.one.Append(capture.Frame{Interface: at}, make([]byte, 200))
	}
	s, packets := Sort(src, SortConfig{Span: 1e7}), 0
	var batch capture.Batch
	for b.Loop() {
		if err := s.Next(&batch); err != nil {
			b.Fatal(err)
		}
		packets += len(batch.Frames)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(packets), "ns/packet")
}
