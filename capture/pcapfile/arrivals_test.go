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
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
)

// pcapOf returns a pcap file in nanoseconds with a packet of 4 bytes, its number, for each
// time.
func pcapOf(times ...int64) []byte {
	p := binary.LittleEndian.AppendUint32(nil, magicNanoseconds)
	p = append(p, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0)
	for i, t := range times {
		for _, v := range []uint32{uint32(t / 1e9), uint32(t % 1e9), 4, 60, uint32(i)} {
			p = binary.LittleEndian.AppendUint32(p, v)
		}
	}
	return p
}

// ending is a capture of a pipe that Stop closes.
type ending struct {
	capture.Source
	pipe *io.PipeWriter
}

func (s ending) Stop() { _ = s.pipe.Close() }

// fed is a capture that the test writes.
func fed(t *testing.T, a *Arrivals, slot string, first []byte) *io.PipeWriter {
	t.Helper()
	r, w := io.Pipe()
	go func() { _, _ = w.Write(first) }()
	src, err := NewReader(r, slot, Options{Remote: true})
	if err != nil {
		t.Fatal(err)
	}
	a.Add(Arrival{Source: ending{src, w}, Slot: slot})
	return w
}

// keyed is a packet of a merged stream.
type keyed struct {
	time  int64
	point uint32
	id    uint32
}

// nextPackets returns the packets of the next batch.
func nextPackets(t *testing.T, a capture.Source) (all []keyed, err error) {
	t.Helper()
	var b capture.Batch
	if err := a.Next(&b); err != nil {
		return nil, err
	}
	for i := range b.Frames {
		f := &b.Frames[i]
		all = append(all, keyed{f.Time, b.Interfaces[f.Interface].CapturePoint, binary.LittleEndian.Uint32(b.Data(i))})
	}
	return all, nil
}

func allPackets(t *testing.T, a capture.Source) (all []keyed, err error) {
	t.Helper()
	for {
		more, err := nextPackets(t, a)
		if err != nil {
			return all, err
		}
		all = append(all, more...)
	}
}

// TestArrivalsPatient merges files as Merge does, whose wait is without end.
func TestArrivalsPatient(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		a := NewArrivals([]string{"in"}, 0)
		var sources []capture.Source
		for range 1 + draw.IntN(5) {
			now := int64(0)
			times := make([]int64, draw.IntN(200))
			for i := range times {
				now += draw.Int64N(10) - 1
				times[i] = max(now, 0)
			}
			file := pcapOf(times...)
			for _, add := range []func(capture.Source){
				func(s capture.Source) { sources = append(sources, s) },
				func(s capture.Source) { a.Add(Arrival{Source: s, Patient: true}) },
			} {
				src, err := NewReader(bytes.NewReader(file), "in", Options{ChunkSize: 100 + draw.IntN(1000)})
				if err != nil {
					t.Fatal(err)
				}
				add(src)
			}
		}
		want, _ := allPackets(t, Merge(sources, nil))
		got, err := allPackets(t, a)
		if err != io.EOF || !slices.Equal(byFirst(got), byFirst(want)) {
			t.Fatalf("%v, got %d packets, want %d", err, len(got), len(want))
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

// byFirst numbers points in the order of their first packets.
func byFirst(all []keyed) []keyed {
	numbers := map[uint32]uint32{}
	for i := range all {
		n, ok := numbers[all[i].point]
		if !ok {
			n = uint32(len(numbers))
			numbers[all[i].point] = n
		}
		all[i].point = n
	}
	return all
}

// TestArrivalsIdle delivers packets though a capture is silent, and packets of that capture
// later, counted.
func TestArrivalsIdle(t *testing.T) {
	a := NewArrivals([]string{"in"}, 20*time.Millisecond)
	silent := fed(t, a, "silent", pcapOf())
	busy := fed(t, a, "busy", pcapOf(100, 200))
	for n := 0; n < 2; {
		more, err := nextPackets(t, a)
		if err != nil {
			t.Fatal(err)
		}
		n += len(more)
	}
	go func() {
		_, _ = silent.Write(pcapOf(50, 150, 300)[24:])
		silent.Close()
		busy.Close()
	}()
	rest, err := allPackets(t, a)
	if err != io.EOF || len(rest) != 3 || a.Late() != 2 {
		t.Errorf("%v, %v, %d late, want 2", rest, err, a.Late())
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// TestArrivalsWrongTime has a single time of a capture far ahead. Once that capture has right times
// again, packets of others wait for it as before, and are not late.
func TestArrivalsWrongTime(t *testing.T) {
	const wrong = int64(time.Hour)
	a := NewArrivals([]string{"in"}, 24*time.Hour)
	x, y := fed(t, a, "x", pcapOf(wrong, 10)), fed(t, a, "y", pcapOf(20, wrong))
	var got []int64
	for written := false; len(got) < 5; {
		more, err := nextPackets(t, a)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range more {
			got = append(got, p.time)
		}
		if len(got) >= 3 && !written {
			written = true
			go func() {
				_, _ = x.Write(pcapOf(30)[24:])
				x.Close()
				y.Close()
			}()
		}
	}
	if want := []int64{20, wrong, 10, 30, wrong}; !slices.Equal(got, want) || a.Late() != 0 {
		t.Errorf("%d, %d late, want %d", got, a.Late(), want)
	}
}

// TestArrivalsWaits keeps the order of captures that are both behind by less than the wait.
func TestArrivalsWaits(t *testing.T) {
	a := NewArrivals([]string{"in"}, time.Hour)
	x, y := fed(t, a, "x", pcapOf()), fed(t, a, "y", pcapOf())
	go func() {
		for i := int64(1); i < 100; i += 2 {
			_, _ = x.Write(pcapOf(i)[24:])
			_, _ = y.Write(pcapOf(i + 1)[24:])
		}
		x.Close()
		y.Close()
	}()
	all, err := allPackets(t, a)
	if err != io.EOF || len(all) != 100 || a.Late() != 0 {
		t.Fatalf("%v, %d packets, %d late", err, len(all), a.Late())
	}
	for i := range all {
		if all[i].time != int64(i+1) {
			t.Fatalf("packet %d has time %d", i, all[i].time)
		}
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// TestArrivalsEarlier does not wait for a capture that has delivered later packets already.
func TestArrivalsEarlier(t *testing.T) {
	a := NewArrivals([]string{"in"}, time.Hour)
	x := fed(t, a, "x", pcapOf(10, 1000))
	y := fed(t, a, "y", pcapOf(20, 30, 2000))
	var got []keyed
	for len(got) < 4 {
		more, err := nextPackets(t, a)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, more...)
	}
	if last := got[3].time; last != 1000 {
		t.Errorf("the last packet that may leave has time %d", last)
	}
	x.Close()
	y.Close()
	if rest, err := allPackets(t, a); err != io.EOF || len(rest) != 1 {
		t.Errorf("%v, %v", rest, err)
	}
}

// TestArrivalsPoints gives a capture that comes again the point that it had.
func TestArrivalsPoints(t *testing.T) {
	a := NewArrivals([]string{"in"}, 0)
	done := a.Expect(func() {})
	points := map[string][]uint32{}
	for _, slot := range []string{"x", "y", "x", "", ""} {
		w := fed(t, a, slot, pcapOf(1))
		all, err := nextPackets(t, a)
		for err == nil && len(all) == 0 {
			all, err = nextPackets(t, a)
		}
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		points[slot] = append(points[slot], all[0].point)
		w.Close()
	}
	done()
	if _, err := allPackets(t, a); err != io.EOF {
		t.Error(err)
	}
	if fmt.Sprint(points) != "map[:[2 3] x:[0 0] y:[1]]" {
		t.Error(points)
	}
	if name := a.ifaces[0].Name; name != "x" {
		t.Errorf("the interface is %q", name)
	}
}

// TestArrivalsTables ends a capture that describes more interfaces than there may be.
func TestArrivalsTables(t *testing.T) {
	file := capture.AppendSectionHeader(nil)
	one := capture.AppendInterface(nil, &capture.Interface{LinkType: 1}, false)
	file = append(file, bytes.Repeat(one, maxArrivingTables+1)...)
	src, err := NewReader(bytes.NewReader(file), "in", Options{})
	if err != nil {
		t.Fatal(err)
	}
	a := NewArrivals([]string{"in"}, 0)
	a.Add(Arrival{Source: src})
	if _, err := allPackets(t, a); !errors.Is(err, capture.ErrNotSupported) {
		t.Error(err)
	}
	if n := len(a.ifaces); n > maxArrivingTables {
		t.Errorf("%d interfaces", n)
	}
}

// TestArrivalsAgain keeps the tables of a capture that comes again and again, unless it
// describes something else.
func TestArrivalsAgain(t *testing.T) {
	section := func(links ...uint16) []byte {
		p := capture.AppendSectionHeader(nil)
		for _, link := range links {
			p = capture.AppendInterface(p, &capture.Interface{LinkType: capture.LinkType(link)}, true)
		}
		return p
	}
	packet := func(p []byte, iface uint32) []byte {
		var b capture.Batch
		for range iface + 1 {
			b.AppendInterface(capture.Interface{LinkType: 1})
		}
		b.Append(capture.Frame{Time: 5, Interface: iface}, []byte{1, 2, 3, 4})
		return append(p, b.Record(0)...)
	}
	a := NewArrivals([]string{"in"}, 0)
	done := a.Expect(func() {})
	var out bytes.Buffer
	writer := NewWriter(&out, WriterOptions{Derived: true})
	for round, c := range []struct {
		file       []byte
		interfaces int // that are known then
	}{
		{pcapOf(1), 1}, {pcapOf(2), 1}, {packet(section(1, 101), 1), 3}, {packet(section(1, 101), 0), 3},
		{packet(section(1), 0), 3}, {packet(section(1, 101, 1), 2), 6}, {pcapOf(3), 7},
	} {
		w := fed(t, a, "x", c.file)
		for n := 0; n == 0; {
			var b capture.Batch
			if err := a.Next(&b); err != nil {
				t.Fatal(err)
			}
			if n += len(b.Frames); n > 0 && len(b.Interfaces) != c.interfaces {
				t.Errorf("round %d: %d interfaces, want %d", round, len(b.Interfaces), c.interfaces)
			}
			if err := writer.Write(&b, nil); err != nil {
				t.Fatal(round, err)
			}
		}
		w.Close()
	}
	done()
	if _, err := allPackets(t, a); err != io.EOF {
		t.Error(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	src, err := NewReader(&out, "out", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if all, err := allPackets(t, src); err != io.EOF || len(all) != 7 {
		t.Error(all, err)
	}
}
