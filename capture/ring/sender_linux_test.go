package ring

import (
	"errors"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
)

// TestSendKept sends what a bitmap keeps, in order, and passes over what cannot be
// sent.
func TestSendKept(t *testing.T) {
	enterLab(t)
	for _, queue := range []bool{false, true} {
		src := open(t, Config{Interfaces: []string{"right"}})
		s, err := OpenSender(SenderConfig{Interface: "left", Queue: queue})
		if err != nil {
			t.Fatal(err)
		}
		var frames, want [][]byte
		for i := range 300 {
			frames = append(frames, numbered(i, 60+i))
		}
		b := batchOf(frames...)
		drop := make([]uint64, 5)
		drop[0], drop[1], drop[4] = 1|1<<63, 0xFF, 1<<(299-256)
		b.Frames[100].WireLen++ // captured in part
		b.Frames[101].CapLen, b.Frames[101].WireLen = 13, 13
		b.Frames[102].CapLen, b.Frames[102].WireLen = 2000, 2000
		for i := range frames {
			if drop[i/64]>>(i%64)&1 == 0 && (i < 100 || i > 102) {
				want = append(want, frames[i])
			}
		}
		if err := s.Send(b, drop); err != nil {
			t.Fatal(err)
		}
		compare(t, rest(t, src).frames, want)
		bytes := 0
		for _, f := range want {
			bytes += len(f)
		}
		if n := s.Stats(); n != (SenderStats{Sent: uint64(len(want)), Bytes: uint64(bytes), Truncated: 2, TooLong: 1}) {
			t.Errorf("%+v, want %d frames of %d bytes", n, len(want), bytes)
		}
		for range 2 {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestForward sends on what is captured, and finds it behind the second link.
func TestForward(t *testing.T) {
	enterLab(t)
	makePair(t, "out", "tool")
	in := open(t, Config{Interfaces: []string{"right"}, BlockTimeout: time.Millisecond})
	tool := open(t, Config{Interfaces: []string{"tool"}})
	forward := openSender(t, "out")
	sent := append(flows(3000), taggedFrames()...)
	send(t, openSender(t, "left"), sent...)
	in.Stop()
	for b := (capture.Batch{}); in.Next(&b) == nil; {
		if err := forward.Send(&b, nil); err != nil {
			t.Fatal(err)
		}
	}
	compare(t, rest(t, tool).frames, sent)
}

// TestSendRefused takes the other end away.
func TestSendRefused(t *testing.T) {
	enterLab(t)
	ip(t, "link set right down")
	const patience = 20 * time.Millisecond
	s, err := OpenSender(SenderConfig{Interface: "left", RetryTimeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := batchOf(numbered(0, 60), numbered(1, 60), numbered(2, 60))
	start := time.Now()
	for range 100 {
		if err := s.Send(b, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.Stats(); n.Refused != 300 || n.Retries == 0 || n.Sent != 0 {
		t.Errorf("%+v", n)
	}
	if took := time.Since(start); took < patience {
		t.Errorf("gave up after %v", took)
	}
	ip(t, "link set right up")
	for deadline := time.Now().Add(10 * time.Second); s.Stats().Sent == 0; {
		if err := s.Send(b, nil); err != nil || time.Now().After(deadline) {
			t.Fatalf("%+v, %v", s.Stats(), err)
		}
	}
}

// TestSendLinkType sends what is Ethernet's, and nothing else.
func TestSendLinkType(t *testing.T) {
	enterLab(t)
	src := open(t, Config{Interfaces: []string{"right"}})
	b := batchOf(numbered(0, 60), numbered(1, 60), numbered(2, 60))
	b.Interfaces = append(b.Interfaces, capture.Interface{LinkType: capture.LinkLinuxSLL2})
	b.Frames[1].Interface = 1
	s := openSender(t, "left")
	if err := s.Send(b, nil); !errors.Is(err, ErrLinkType) {
		t.Errorf("%v", err)
	}
	clear(b.Buf) // as whoever has a batch may do
	if err := s.Send(batchOf(), nil); !errors.Is(err, ErrLinkType) {
		t.Errorf("%v, and nothing was sent since", err)
	}
	if err := s.Send(batchOf(numbered(3, 60)), nil); err != nil {
		t.Error(err)
	}
	compare(t, rest(t, src).frames, [][]byte{numbered(0, 60), numbered(2, 60), numbered(3, 60)})
	if n := s.Stats(); n.Sent != 3 || n.Lost != 1 {
		t.Errorf("%+v", n)
	}
}
