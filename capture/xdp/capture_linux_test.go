// SPDX-License-Identifier: Apache-2.0

package xdp

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/bpf"

	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/labtest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// TestEveryFrame checks that every frame arrives once, whole and in order, in records that
// files can have.
func TestEveryFrame(t *testing.T) {
	enterLab(t, "1")
	src := open(t, Config{Promiscuous: true})
	want := frames(3000)
	begin := time.Now().UnixNano()
	send(t, "left", want...)
	lab.Settle()
	end := time.Now().UnixNano()
	got := labtest.Rest(t, src, nil)
	capturetest.CompareFrames(t, got.Data, want)
	if p := src.ports[0].program; !p.stamps {
		end = time.Now().UnixNano()
		t.Log("the kernel makes no times")
	}
	const unit = 2 << stampShift
	for i, f := range got.Frames {
		if f.Time < begin-unit || f.Time > end+unit || i > 0 && f.Time < got.Frames[i-1].Time-unit || f.WireLen != uint32(len(want[i])) {
			t.Fatalf("frame %d: %+v", i, f)
		}
	}
	if s := sum(src); s.Received != 3000 || s.Delivered != 3000 || s.Dropped != 0 || s.Truncated != 0 {
		t.Errorf("%+v", s)
	}
	capturetest.CompareFrames(t, written(t, got), want)
}

// written returns the frames of the file that a capture was written to.
func written(t *testing.T, got *labtest.Taken) (frames [][]byte) {
	t.Helper()
	src, err := pcapfile.NewReader(&got.File, "file", pcapfile.Options{Warn: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	for b := (capture.Batch{}); src.Next(&b) == nil; {
		for i := range b.Frames {
			frames = append(frames, bytes.Clone(b.Data(i)))
		}
	}
	return frames
}

// TestManyRounds takes all memory through the kernel several times.
func TestManyRounds(t *testing.T) {
	enterLab(t, "1")
	src := open(t, Config{RingBytes: 1 << 20})
	want := frames(400)
	for range 12 {
		send(t, "left", want...)
		got := labtest.Take(t, src, len(want), nil)
		if got.Err != nil {
			t.Fatal(got.Err)
		}
		capturetest.CompareFrames(t, got.Data, want)
	}
}

// TestTwoQueues checks the order within each queue.
func TestTwoQueues(t *testing.T) {
	enterLab(t, "2")
	src := open(t, Config{})
	if n := len(src.Stats()); n != 2 {
		t.Fatalf("%d queues", n)
	}
	want := frames(2000)
	send(t, "left", want...)
	got := labtest.Rest(t, src, nil).Data
	last := map[byte]int{} // by flow
	for _, f := range got {
		n := numberOf(f)
		if before, seen := last[f[35]]; seen && n <= before {
			t.Fatalf("frame %d after %d", n, before)
		}
		last[f[35]] = n
	}
	slices.SortFunc(got, func(a, b []byte) int { return numberOf(a) - numberOf(b) })
	capturetest.CompareFrames(t, got, want)
	for _, s := range src.Stats() {
		if s.Received == 0 || s.Received != s.Delivered {
			t.Errorf("%+v", s)
		}
	}
}

// TestGeneric captures where the driver takes no program: veth needs as many queues to
// receive as the other end has to send.
func TestGeneric(t *testing.T) {
	enterLab(t, "1")
	remakePair(t, "2", "1")
	generic := false
	src := open(t, Config{Warn: func(err error) { generic = generic || strings.Contains(err.Error(), "generic") }})
	if !generic {
		t.Error("no warning")
	}
	want := [][]byte{tagged(frame(1, 1, 200), 7), frame(2, 2, 60), frame(3, 3, 1514)}
	send(t, "left", want...)
	capturetest.CompareFrames(t, labtest.Rest(t, src, nil).Data, want)
}

// TestTags checks that tags are where they were on the wire.
func TestTags(t *testing.T) {
	enterLab(t, "1")
	src := open(t, Config{})
	want := [][]byte{tagged(frame(1, 1, 200), 7), tagged(tagged(frame(2, 2, 1506), 8), 9), frame(3, 3, 60)}
	send(t, "left", want...)
	capturetest.CompareFrames(t, labtest.Rest(t, src, nil).Data, want)
}

// TestOffloadedTags checks what the package says about tags that the driver takes off, also
// where the program asks for times of the network card. A pair has none: the host's clock
// takes their place.
func TestOffloadedTags(t *testing.T) {
	for _, cards := range []bool{false, true} {
		t.Run(fmt.Sprint("cards=", cards), func(t *testing.T) { testOffloadedTags(t, cards) })
	}
}

func testOffloadedTags(t *testing.T, cards bool) {
	enterLab(t, "1")
	if err := lab.VLAN("left", "inside", lab.Tag{Type: lab.Dot1Q, VLAN: 7}); err != nil {
		t.Skip(err)
	}
	warnings := 0
	src := open(t, Config{HardwareTime: cards, Warn: func(error) { warnings++ }})
	want := frame(1, 1, 100)
	begin := time.Now()
	send(t, "inside", want)
	got := labtest.Take(t, src, 1, nil)
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	if p := src.ports[0].program; p.cards != cards && p.tags {
		t.Error("the program does not ask for times of the network card")
	}
	if at := time.Unix(0, got.Frames[0].Time); at.Before(begin.Add(-time.Microsecond)) || at.After(time.Now()) || src.Stats()[0].Hardware != 0 {
		t.Errorf("time %v, %+v", at, src.Stats())
	}
	whole := tagged(want, 7)
	switch hasTags := src.ports[0].program.tags; {
	case hasTags || warnings == 0:
		capturetest.CompareFrames(t, got.Data, [][]byte{whole})
	case !hasTags:
		t.Log("the kernel tells no tags")
	}
}

// TestSnapLen checks that frames are cut, and counted.
func TestSnapLen(t *testing.T) {
	enterLab(t, "1")
	src := open(t, Config{SnapLen: 100})
	long, short := frame(1, 1, 1000), frame(2, 2, 100)
	send(t, "left", long, short)
	got := labtest.Rest(t, src, nil)
	capturetest.CompareFrames(t, got.Data, [][]byte{long[:100], short})
	if got.Frames[0].WireLen != 1000 || sum(src).Truncated != 1 {
		t.Errorf("%+v %+v", got.Frames[0], sum(src))
	}
}

// TestLong takes frames that do not fit into a single frame of memory.
func TestLong(t *testing.T) {
	enterLab(t, "1")
	for _, name := range []string{"left", "right"} {
		labtest.IP(t, "link set "+name+" mtu 9000")
	}
	src := open(t, Config{})
	want := [][]byte{frame(1, 1, 9000), frame(2, 2, 60), frame(3, 3, 3500), frame(4, 4, 3837), frame(5, 5, 9014)}
	send(t, "left", want...)
	got := labtest.Rest(t, src, nil)
	if s := sum(src); s.Dropped > 0 && s.Received == uint64(len(want)) {
		t.Skipf("the kernel splits no frames: %+v", s)
	}
	capturetest.CompareFrames(t, got.Data, want)
}

// TestMTU takes frames of all sizes of memory.
func TestMTU(t *testing.T) {
	for _, mtu := range []string{"1500", "1766", "1767", "3498"} {
		enterLab(t, "1")
		for _, name := range []string{"left", "right"} {
			labtest.IP(t, "link set "+name+" mtu "+mtu)
		}
		src := open(t, Config{})
		n := 0
		for _, c := range mtu {
			n = 10*n + int(c-'0')
		}
		want := [][]byte{frame(1, 1, n+14), frame(2, 2, 60)}
		send(t, "left", want...)
		capturetest.CompareFrames(t, labtest.Rest(t, src, nil).Data, want)
	}
}

// TestFilter checks that unwanted packets are neither delivered nor counted.
func TestFilter(t *testing.T) {
	enterLab(t, "1")
	program, err := bpf.Assemble([]bpf.Instruction{
		bpf.LoadAbsolute{Off: 34, Size: 2}, bpf.JumpIf{Val: 7, SkipFalse: 1}, bpf.RetConstant{Val: 1}, bpf.RetConstant{},
	})
	if err != nil {
		t.Fatal(err)
	}
	src := open(t, Config{Filter: program, RingBytes: 1 << 20})
	all := frames(200)
	var want, got [][]byte
	for range 5 { // more than the memory holds
		send(t, "left", all...)
		some := labtest.Take(t, src, 2, nil)
		if some.Err != nil {
			t.Fatal(some.Err)
		}
		got = append(got, some.Data...)
		want = append(want, all[7], all[107])
	}
	capturetest.CompareFrames(t, append(got, labtest.Rest(t, src, nil).Data...), want)
	if s := sum(src); s.Received != 10 || s.Delivered != 10 {
		t.Errorf("%+v", s)
	}
}

// TestStalledReader checks that losses are counted, and that the capture goes on.
func TestStalledReader(t *testing.T) {
	enterLab(t, "1")
	src := open(t, Config{RingBytes: minRingBytes, Idle: time.Second})
	all := frames(1000)
	send(t, "left", all...)
	lab.Settle()
	s := sum(src)
	const room = minRingBytes / smallFrame
	if s.Received != 1000 || s.Dropped != 1000-room || s.Freezes == 0 {
		t.Fatalf("%+v", s)
	}
	got := labtest.Take(t, src, room, nil)
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	capturetest.CompareFrames(t, got.Data, all[:room])
	var b capture.Batch
	if err := src.Next(&b); err != nil || len(b.Frames) != 0 {
		t.Fatal(err, b.Frames)
	}
	send(t, "left", all[:room/2]...)
	capturetest.CompareFrames(t, labtest.Rest(t, src, nil).Data, all[:room/2])
}

// TestUnread closes a capture with packets that wait. They still count as received.
func TestUnread(t *testing.T) {
	enterLab(t, "1")
	src := open(t, Config{})
	send(t, "left", frames(100)...)
	lab.Settle()
	if err := src.Close(); err != nil {
		t.Fatal(err)
	}
	if s := sum(src); s.Received != 100 || s.Delivered != 0 || s.Dropped != 0 {
		t.Errorf("%+v", s)
	}
}

// TestStartPaused checks that the host has its packets before the start and after a stop.
func TestStartPaused(t *testing.T) {
	enterLab(t, "1")
	other, err := afpacket.Open(afpacket.Config{Interfaces: []string{"right"}, RingBytes: 8 << 20, BlockBytes: 1 << 15, IgnoreOutgoing: true})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	src := open(t, Config{StartPaused: true})
	all := frames(300)
	send(t, "left", all[:100]...)
	lab.Settle()
	if err := src.Start(); err != nil {
		t.Fatal(err)
	}
	send(t, "left", all[100:200]...)
	capturetest.CompareFrames(t, labtest.Rest(t, src, nil).Data, all[100:200])
	send(t, "left", all[200:]...)
	lab.Settle()
	other.Stop()
	var b capture.Batch
	var got [][]byte
	for other.Next(&b) == nil {
		for i := range b.Frames {
			got = append(got, bytes.Clone(b.Data(i)))
		}
	}
	capturetest.CompareFrames(t, got, append(slices.Clone(all[:100]), all[200:]...))
}
