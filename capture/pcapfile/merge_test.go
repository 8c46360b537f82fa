// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
)

// timed returns a capture of packets "<name><number>" at the given
// microseconds; a negative time makes a simple packet in pcapng, which has none.
func timed(f capture.Format, name string, times []int) []byte {
	o := binary.LittleEndian
	var out []byte
	if f == capture.FormatPcap {
		out = capturetest.PcapHeader(o, magicMicroseconds, 2, 4, 0, 1)
	} else {
		out = append(capturetest.SectionBlock(o, 1, 0), capturetest.InterfaceBlock(o, 1, 0)...)
	}
	for i, us := range times {
		data := fmt.Appendf(nil, "%s%d", name, i)
		switch {
		case f == capture.FormatPcap:
			out = append(capturetest.PcapRecord(out, o, uint32(us/1e6), uint32(us%1e6), uint32(len(data)), 60), data...)
		case us < 0:
			out = append(out, capturetest.SimpleBlock(o, uint32(len(data)), data)...)
		default:
			out = append(out, capturetest.PacketBlock(o, 0, uint64(us), 60, data)...)
			out = append(out, capturetest.Block(o, 0x9999, data)...) // belongs behind its packet
		}
	}
	return out
}

// mergeSimply is what Merge promises, written plainly: of the inputs' next
// packets the earliest, the first input's if there are several; those without
// time at once.
func mergeSimply(inputs []whole) []string {
	next := make([]int, len(inputs))
	var out []string
	for {
		best := -1
		for i, w := range inputs {
			if next[i] < len(w.packets) && (best < 0 || w.packets[next[i]].time < inputs[best].packets[next[best]].time) {
				best = i
			}
		}
		if best < 0 {
			return out
		}
		out = append(out, inputs[best].packets[next[best]].data)
		next[best]++
	}
}

func TestMerge(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for round := range 60 {
		inputs := make([][]byte, 1+random.IntN(9))
		var alone []whole
		for i := range inputs {
			f := capture.FormatPcap
			if random.IntN(2) == 0 {
				f = capture.FormatPcapNG
			}
			times, now := make([]int, random.IntN(200)), random.IntN(100)
			for k := range times {
				now = max(0, now+random.IntN(40)-5) // ties, and steps back
				times[k] = now
				if f == capture.FormatPcapNG && random.IntN(10) == 0 {
					times[k] = -1
				}
			}
			inputs[i] = timed(f, string(rune('a'+i)), times)
			alone = append(alone, readAll(t, open(t, inputs[i], Options{})))
		}
		for _, chunk := range []int{0, 100} {
			var sources []capture.Source
			for _, data := range inputs {
				sources = append(sources, open(t, data, Options{ChunkSize: chunk}))
			}
			w := readAll(t, Merge(sources, nil))
			if w.err != nil {
				t.Fatal(w.err)
			}
			var got []string
			for i, p := range w.packets {
				got = append(got, p.data)
				if input := w.secs[p.iface.Section].Input; int(p.data[0]-'a') != input {
					t.Fatalf("round %d: packet %d %q is of input %d", round, i, p.data, input)
				}
			}
			if want := mergeSimply(alone); !slices.Equal(got, want) {
				t.Fatalf("round %d, chunk %d:\n got %q\nwant %q", round, chunk, got, want)
			}
			checkMergedBlocks(t, w)
			checkSameRecords(t, w, alone)
		}
	}
}

// checkMergedBlocks checks that the blocks of timed follow the packets whose
// data they repeat.
func checkMergedBlocks(t *testing.T, w whole) {
	t.Helper()
	for _, k := range w.blocks {
		if k.typ == 0x9999 {
			if p := w.packets[k.before-1]; !strings.HasPrefix(k.data[8:], p.data) || p.iface.Section != k.section {
				t.Fatalf("block %q behind packet %q", k.data, p.data)
			}
		}
	}
}

// checkSameRecords checks that each input's records are all there, in their
// order.
func checkSameRecords(t *testing.T, w whole, alone []whole) {
	t.Helper()
	for i := range alone {
		part := whole{}
		for _, p := range w.packets {
			if w.secs[p.iface.Section].Input == i {
				part.packets = append(part.packets, p)
			}
		}
		for n, p := range part.packets {
			if want := alone[i].packets[n]; p.record != want.record || p.time != want.time || p.wireLen != want.wireLen {
				t.Fatalf("input %d, packet %d: %+v, want %+v", i, n, p, want)
			}
		}
		if len(part.packets) != len(alone[i].packets) {
			t.Fatalf("input %d: %d packets, want %d", i, len(part.packets), len(alone[i].packets))
		}
	}
}

func TestJoinedTables(t *testing.T) {
	ng := ngVariants()
	pcap := capturetest.PcapHeader(binary.BigEndian, magicNanoseconds, 2, 4, 0, 113)
	for name, join := range map[string]func([]capture.Source) capture.Source{
		"concat": Concat,
		"merge":  func(s []capture.Source) capture.Source { return Merge(s, nil) },
		"nested": func(s []capture.Source) capture.Source {
			return Merge([]capture.Source{Concat(s[:1]), Concat(s[1:])}, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			src := join([]capture.Source{open(t, ng, Options{}), open(t, pcap, Options{}), open(t, ng, Options{ChunkSize: 64})})
			var b capture.Batch
			if err := src.Next(&b); err != nil {
				t.Fatal(err)
			}
			inputs, pcaps := map[int]bool{}, 0
			for _, s := range b.Sections {
				inputs[s.Input] = true
				if s.Format == capture.FormatPcap {
					pcaps++
				}
			}
			if len(inputs) != 3 || pcaps != 1 || !slices.ContainsFunc(b.Interfaces, func(it capture.Interface) bool { return it.LinkType == 113 }) {
				t.Errorf("the first batch has sections %+v and interfaces %+v", b.Sections, b.Interfaces)
			}
			w := whole{}
			w.add(t, &b)
			rest := readAll(t, src)
			for _, k := range rest.blocks {
				k.before += len(w.packets)
				w.blocks = append(w.blocks, k)
			}
			w.packets = append(w.packets, rest.packets...)
			if len(w.packets) != 20 || len(rest.secs) != 7 || len(rest.ifaces) != 13 {
				t.Fatalf("%d packets, %d sections, %d interfaces", len(w.packets), len(rest.secs), len(rest.ifaces))
			}
			checkPoints(t, rest)
			one := readAll(t, open(t, ng, Options{}))
			seenOf := map[int]int{}
			for _, p := range w.packets {
				input := rest.secs[p.iface.Section].Input
				want := one.packets[seenOf[input]]
				seenOf[input]++
				if p.data != want.data || p.time != want.time || p.big != want.big || p.iface.ID != want.iface.ID || p.iface.Name != want.iface.Name {
					t.Fatalf("input %d: %+v, want %+v", input, p, want)
				}
			}
			for _, k := range w.blocks {
				if k.typ == capture.BlockFileHeader != (rest.secs[k.section].Format == capture.FormatPcap) {
					t.Errorf("block of type %#x in section %+v", k.typ, rest.secs[k.section])
				}
			}
			if names := src.Inputs(); len(names) != 3 {
				t.Errorf("inputs %q", names)
			}
		})
	}
}

// checkPoints checks that each point has a single input, and a single number or name.
func checkPoints(t *testing.T, w whole) {
	t.Helper()
	type place struct {
		input int
		id    uint32
	}
	at := map[uint32]place{}
	for _, it := range w.ifaces {
		p := place{w.secs[it.Section].Input, it.ID}
		if old, ok := at[it.CapturePoint]; ok && old != p {
			t.Errorf("point %d is %+v and %+v", it.CapturePoint, old, p)
		}
		at[it.CapturePoint] = p
	}
	if len(at) != 7 {
		t.Errorf("%d points", len(at))
	}
}

func TestJoinedFailures(t *testing.T) {
	good := timed(capture.FormatPcap, "a", []int{1, 2, 3})
	bad := timed(capture.FormatPcap, "b", []int{2, 2, 9})
	bad = bad[:len(bad)-1]
	worse := timed(capture.FormatPcapNG, "c", []int{0, 5})
	worse = append(worse, capturetest.PacketBlock(binary.LittleEndian, 3, 0, 0, nil)...)
	for name, join := range map[string]func([]capture.Source, func(error)) capture.Source{
		"merge":  Merge,
		"concat": func(s []capture.Source, _ func(error)) capture.Source { return Concat(s) },
	} {
		for _, c := range []struct {
			inputs  [][]byte
			packets string
			reasons []error
		}{
			{[][]byte{good, good}, "a0 a0 a1 a1 a2 a2", nil},
			{[][]byte{good, bad}, "a0 a1 a2 b0 b1", []error{capture.ErrTruncated}},
			{[][]byte{bad, worse, good}, "a0 a1 a2 b0 b1 c0 c1", []error{capture.ErrTruncated, capture.ErrDamaged}},
			{[][]byte{bad}, "b0 b1", []error{capture.ErrTruncated}},
			{nil, "", nil},
		} {
			var sources []capture.Source
			for _, data := range c.inputs {
				sources = append(sources, open(t, data, Options{}))
			}
			var warned []error
			src := join(sources, func(err error) { warned = append(warned, err) })
			w := readAll(t, src)
			var got []string
			for _, p := range w.packets {
				got = append(got, p.data)
			}
			slices.Sort(got)
			if strings.Join(got, " ") != c.packets {
				t.Errorf("%s: packets %q, want %q", name, got, c.packets)
			}
			if (w.err != nil) != (len(c.reasons) > 0) {
				t.Errorf("%s: %v", name, w.err)
			}
			for _, reason := range c.reasons {
				if !errors.Is(w.err, reason) || inputError(t, w.err).Input != "test" {
					t.Errorf("%s: %v", name, w.err)
				}
			}
			if name == "merge" && len(warned) != len(c.reasons) {
				t.Errorf("warned of %v", warned)
			}
			done, total := src.Offset()
			if want := len(slices.Concat(c.inputs...)); done != int64(want) || total != 0 {
				t.Errorf("%s: offset %d of %d, want %d", name, done, total, want)
			}
			if err := errors.Join(src.Close(), src.Close()); err != nil {
				t.Error(err)
			}
		}
	}
}

// quiet is a source of batches in memory, some of them empty, whose records do
// not lie side by side.
type quiet struct{ batches []capture.Batch }

func (q *quiet) Next(b *capture.Batch) error {
	b.Reset()
	if len(q.batches) == 0 {
		return io.EOF
	}
	from := q.batches[0]
	q.batches = q.batches[1:]
	b.Buf = append(b.Buf, from.Buf...)
	b.Frames = append(b.Frames, from.Frames...)
	b.Interfaces, b.Sections = from.Interfaces, from.Sections
	return nil
}
func (q *quiet) Inputs() []string       { return []string{"quiet"} }
func (q *quiet) Offset() (int64, int64) { return 0, 0 }
func (q *quiet) Size() int64            { return 0 }
func (q *quiet) Close() error           { return nil }

func TestMergeScatteredRecords(t *testing.T) {
	section, iface := []capture.Section{{Format: capture.FormatPcap}}, []capture.Interface{{LinkType: 1}}
	frame := func(time int64, at uint32) capture.Frame {
		return capture.Frame{Time: time, Record: at, RecordLen: 3, Data: at + 1, CapLen: 2, WireLen: 2}
	}
	q := &quiet{batches: []capture.Batch{
		{},
		{Buf: []byte("..abc..def"), Frames: []capture.Frame{frame(1, 2), frame(5, 7)}, Interfaces: iface, Sections: section},
		{Interfaces: iface, Sections: section},
		{Buf: []byte("xghi"), Frames: []capture.Frame{frame(9, 1)}, Interfaces: iface, Sections: section},
	}}
	w := readAll(t, Merge([]capture.Source{q, open(t, timed(capture.FormatPcap, "t", []int{0}), Options{})}, nil))
	var got []string
	for _, p := range w.packets {
		got = append(got, p.data+":"+p.record[:1])
	}
	if want := []string{"t0:\x00", "bc:a", "ef:d", "hi:g"}; !slices.Equal(got, want) || w.err != nil {
		t.Errorf("%q, %v", got, w.err)
	}
}

// BenchmarkMerge merges captures whose packets come in turns, the worst case,
// and such with long runs.
func BenchmarkMerge(b *testing.B) {
	for _, inputs := range []int{2, 16} {
		for _, run := range []int{1, 1000} {
			b.Run(fmt.Sprintf("inputs=%d/run=%d", inputs, run), func(b *testing.B) {
				const packets = 1 << 18
				files := make([][]byte, inputs)
				o := binary.LittleEndian
				for i := range files {
					files[i] = capturetest.PcapHeader(o, magicMicroseconds, 2, 4, 0, 1)
				}
				for n := range packets {
					i := n / run % inputs
					files[i] = append(capturetest.PcapRecord(files[i], o, 1, uint32(n), 64, 64), make([]byte, 64)...)
				}
				b.SetBytes(packets * 80)
				var batch capture.Batch
				for b.Loop() {
					sources := make([]capture.Source, inputs)
					for i := range sources {
						sources[i], _ = NewReader(bytes.NewReader(files[i]), "bench", Options{})
					}
					n, src := 0, Merge(sources, nil)
					for src.Next(&batch) == nil {
						n += len(batch.Frames)
					}
					if n != packets {
						b.Fatal(n)
					}
				}
				b.ReportMetric(float64(b.N)*packets/b.Elapsed().Seconds()/1e6, "Mpackets/s")
			})
		}
	}
}
