// SPDX-License-Identifier: Apache-2.0

package afpacket

import (
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/labtest"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/internal/frametest"
)

// TestSendKept sends the frames that a bitmap keeps, in order, and skips frames that cannot be
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
		b := frametest.NewBatch(capture.LinkEthernet, frames...)
		drop := make([]uint64, 5)
		drop[0], drop[1], drop[4] = 1|1<<63, 0xFF, 1<<(299-256)
		b.Frames[100].WireLen++ // truncated
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
		capturetest.CompareFrames(t, rest(t, src).Data, want)
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

// TestForward sends captured frames on, and finds them behind the second link.
func TestForward(t *testing.T) {
	enterLab(t)
	labtest.Pair(t, "out", "tool")
	in := open(t, Config{Interfaces: []string{"right"}, BlockTimeout: time.Millisecond})
	tool := open(t, Config{Interfaces: []string{"tool"}})
	forward := openSender(t, "out")
	sent := append(flows(3000), taggedFrames()...)
	send(t, openSender(t, "left"), sent...)
	lab.Settle()
	in.Stop()
	for b := (capture.Batch{}); in.Next(&b) == nil; {
		if err := forward.Send(&b, nil); err != nil {
			t.Fatal(err)
		}
	}
	capturetest.CompareFrames(t, rest(t, tool).Data, sent)
}

// TestSendRefused removes the other end.
func TestSendRefused(t *testing.T) {
	enterLab(t)
	labtest.IP(t, "link set right down")
	const retryTimeout = 20 * time.Millisecond
	s, err := OpenSender(SenderConfig{Interface: "left", RetryTimeout: retryTimeout})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := frametest.NewBatch(capture.LinkEthernet, numbered(0, 60), numbered(1, 60), numbered(2, 60))
	start := time.Now()
	for range 100 {
		if err := s.Send(b, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.Stats(); n.Refused != 300 || n.Retries == 0 || n.Sent != 0 {
		t.Errorf("%+v", n)
	}
	if took := time.Since(start); took < retryTimeout {
		t.Errorf("gave up after %v", took)
	}
	labtest.IP(t, "link set right up")
	for deadline := time.Now().Add(wait.Timeout); s.Stats().Sent == 0; {
		if err := s.Send(b, nil); err != nil || time.Now().After(deadline) {
			t.Fatalf("%+v, %v", s.Stats(), err)
		}
	}
}

// TestSendLinkType sends Ethernet frames and nothing else.
func TestSendLinkType(t *testing.T) {
	enterLab(t)
	src := open(t, Config{Interfaces: []string{"right"}})
	b := frametest.NewBatch(capture.LinkEthernet, numbered(0, 60), numbered(1, 60), numbered(2, 60))
	b.Interfaces = append(b.Interfaces, capture.Interface{LinkType: capture.LinkLinuxSLL2})
	b.Frames[1].Interface = 1
	s := openSender(t, "left")
	if err := s.Send(b, nil); !errors.Is(err, ErrLinkType) {
		t.Errorf("%v", err)
	}
	clear(b.Buf) // the owner of a batch may do so
	if err := s.Send(frametest.NewBatch(capture.LinkEthernet), nil); !errors.Is(err, ErrLinkType) {
		t.Errorf("%v, and nothing was sent since", err)
	}
	if err := s.Send(frametest.NewBatch(capture.LinkEthernet, numbered(3, 60)), nil); err != nil {
		t.Error(err)
	}
	capturetest.CompareFrames(t, rest(t, src).Data, [][]byte{numbered(0, 60), numbered(2, 60), numbered(3, 60)})
	if n := s.Stats(); n.Sent != 3 || n.Lost != 1 {
		t.Errorf("%+v", n)
	}
}

// dropCapabilities drops the capabilities of the test's thread for good. Programs that it
// starts have all capabilities of root again.
func dropCapabilities(t *testing.T) {
	t.Helper()
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&head, &none[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenSender(SenderConfig{Interface: "left"}); !errors.Is(err, ErrNotPermitted) {
		t.Fatal("still permitted: ", err)
	}
}

// TestSendWarns checks that the first skipped frame of each kind is reported, with what
// to do.
func TestSendWarns(t *testing.T) {
	enterLab(t)
	labtest.IP(t, "link set left mtu 1400")
	var warned []error
	s, err := OpenSender(SenderConfig{Interface: "left", RetryTimeout: time.Millisecond, Warn: func(err error) { warned = append(warned, err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := frametest.NewBatch(capture.LinkEthernet, numbered(0, 60), numbered(1, 1514), numbered(2, 1414), numbered(3, 60), numbered(4, 60_000))
	b.Frames[3].WireLen = 90
	send := func() {
		t.Helper()
		if err := s.Send(b, nil); err != nil {
			t.Fatal(err)
		}
	}
	send()
	send()
	labtest.IP(t, "link set right down")
	send()
	send()
	if n := s.Stats(); n.Sent != 4 || n.Truncated != 4 || n.TooLong < 4 || n.Refused == 0 || n.Lost != 0 {
		t.Errorf("%+v", n)
	}
	want := []struct {
		reason error
		text   string
	}{
		{ErrFrameTooLong, "left: frames longer than the interface can carry are not sent: one of 1514 bytes, and its MTU is 1400: ip link set left mtu 1500; if receive offload"},
		{ErrFrameTruncated, "left: truncated frames are not sent: one of 90 bytes, of which 60"},
		{ErrFrameRefused, "left: frames that the interface's queue keeps refusing"},
	}
	if len(warned) != len(want) {
		t.Fatalf("%q", warned)
	}
	for _, w := range want {
		found := false
		for _, err := range warned {
			found = found || errors.Is(err, w.reason) && strings.HasPrefix(err.Error(), w.text)
		}
		if !found {
			t.Errorf("no %q in %q", w.text, warned)
		}
	}
}

// TestSendMerged checks the advice about frames that are too long for any interface, also if
// they are too long for a ring block.
func TestSendMerged(t *testing.T) {
	enterLab(t)
	for _, cut := range []uint32{0, 100} {
		var warned error
		s, err := OpenSender(SenderConfig{Interface: "left", Warn: func(err error) { warned = err }})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		b := frametest.NewBatch(capture.LinkEthernet, numbered(0, 40_000))
		b.Frames[0].CapLen -= cut
		if err := s.Send(b, nil); err != nil {
			t.Fatal(err)
		}
		if text := warned.Error(); !strings.Contains(text, NotMerging) || strings.Contains(text, "ip link") {
			t.Error(text)
		}
	}
}
