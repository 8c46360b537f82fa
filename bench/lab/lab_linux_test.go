// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/afpacket"
)

// TestGenerator captures the frames of several runs.
func TestGenerator(t *testing.T) {
	if err := lab.Enter(); err != nil {
		t.Skip(err)
	}
	if err := lab.Pair("left", "right"); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{lab.MinFrame, 300} {
		frames := captured(t, size)
		want := lab.NewFrame(size)
		for i, got := range frames {
			if lab.Renumber(want, uint64(i)); !bytes.Equal(got, want) {
				t.Fatalf("frame %d is\n%x, want\n%x", i, got, want)
			}
		}
	}
}

// TestPaced sends no faster than requested.
func TestPaced(t *testing.T) {
	if err := lab.Enter(); err != nil {
		t.Skip(err)
	}
	if err := lab.Pair("left", "right"); err != nil {
		t.Fatal(err)
	}
	const frames, rate, slack = 2000, 100_000, 100 * time.Microsecond
	g, err := lab.NewPacedGenerator("left", lab.MinFrame, rate)
	if err != nil {
		t.Skip("no generator: ", err)
	}
	defer g.Close()
	begin := time.Now()
	if err := g.Run(frames); err != nil {
		t.Skip("no live frames: ", err)
	}
	took := time.Since(begin)
	n, err := g.Injected()
	if least := time.Duration(max(n, 1)-1) * time.Second / rate; err != nil || n == 0 || n > frames+1 || took < least-slack {
		t.Errorf("%d frames in %v (%v)", n, took, err)
	}
}

func captured(t *testing.T, size int) [][]byte {
	t.Helper()
	// The test reads only at the end, and every timeout uses up a block.
	src, err := afpacket.Open(afpacket.Config{Interfaces: []string{"right"}, RingBytes: 8 << 20, BlockTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	g, err := lab.NewGenerator("right", size)
	if err != nil {
		t.Skip("no generator: ", err)
	}
	for _, n := range []int{100, 1, 2000} {
		if err := g.Run(n); err != nil {
			t.Skip("no live frames: ", err)
		}
	}
	injected, err := g.Injected()
	if err != nil || injected == 0 || injected > 2101 {
		t.Fatalf("%d injected: %v", injected, err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	lab.Settle()
	src.Stop()
	var frames [][]byte
	for b := (capture.Batch{}); src.Next(&b) == nil; {
		for i := range b.Frames {
			frames = append(frames, bytes.Clone(b.Data(i)))
		}
	}
	if len(frames) != int(injected) {
		t.Fatalf("%d frames, want %d", len(frames), injected)
	}
	return frames
}

// TestVLAN sends frames over a trunk, which carries them with tags. They must come out of
// the VLAN at the other end, and others must not.
func TestVLAN(t *testing.T) {
	for _, tags := range [][]lab.Tag{
		{{lab.Dot1Q, 100}}, {{lab.Dot1AD, 200}}, {{lab.Dot1AD, 200}, {lab.Dot1Q, 100}},
	} {
		if err := lab.Enter(); err != nil {
			t.Skip(err)
		}
		if err := lab.Pair("left", "right"); err != nil {
			t.Fatal(err)
		}
		for _, parent := range []string{"left", "right"} {
			if err := lab.VLAN(parent, parent+"v", tags...); err != nil {
				t.Skip(err)
			}
		}
		src, err := afpacket.Open(afpacket.Config{Interfaces: []string{"right", "rightv"}, RingBytes: 8 << 20})
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		plain := lab.NewFrame(lab.MinFrame)
		tagged := slices.Clone(plain[:12])
		for _, tag := range tags {
			tagged = binary.BigEndian.AppendUint32(tagged, uint32(tag.Type)<<16|uint32(tag.VLAN))
		}
		tagged = append(tagged, plain[12:]...)
		other := slices.Clone(tagged)
		other[15]++
		send(t, "leftv", plain)
		send(t, "left", other)
		got := map[uint32][][]byte{}
		watch := time.AfterFunc(wait.Timeout, src.Stop)
		for b := (capture.Batch{}); len(got[0])+len(got[1]) < 3 && src.Next(&b) == nil; {
			for i := range b.Frames {
				n := b.Frames[i].Interface
				got[n] = append(got[n], bytes.Clone(b.Data(i)))
			}
		}
		watch.Stop()
		if want := [][]byte{tagged, other}; !slices.EqualFunc(got[0], want, bytes.Equal) {
			t.Errorf("%v: the trunk carries\n%x, want\n%x", tags, got[0], want)
		}
		if want := [][]byte{plain}; !slices.EqualFunc(got[1], want, bytes.Equal) {
			t.Errorf("%v: the VLAN carries\n%x, want\n%x", tags, got[1], want)
		}
	}
}

func send(t *testing.T, name string, frame []byte) {
	t.Helper()
	s, err := afpacket.OpenSender(afpacket.SenderConfig{Interface: name, Queue: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := &capture.Batch{
		Interfaces: []capture.Interface{{LinkType: capture.LinkEthernet}}, Sections: make([]capture.Section, 1), Buf: frame,
		Frames: []capture.Frame{{CapLen: uint32(len(frame)), WireLen: uint32(len(frame))}},
	}
	if err := s.Send(b, nil); err != nil {
		t.Fatal(err)
	}
}
