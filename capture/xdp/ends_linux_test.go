// SPDX-License-Identifier: Apache-2.0

package xdp

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/labtest"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
)

// TestEnds checks what ends a capture, and with which error.
func TestEnds(t *testing.T) {
	for _, test := range []struct {
		what string
		want error
	}{{"link set right down", afpacket.ErrDown}, {"link del left", afpacket.ErrRemoved}} {
		enterLab(t, "1")
		src := open(t, Config{})
		want := frames(50)
		send(t, "left", want...)
		lab.Settle()
		labtest.IP(t, test.what)
		got := labtest.Take(t, src, -1, nil)
		if !errors.Is(got.Err, test.want) {
			t.Errorf("%s: %v", test.what, got.Err)
		}
		capturetest.CompareFrames(t, got.Data, want)
		if s := sum(src); s.Outages != 1 || !src.Stats()[0].Down {
			t.Errorf("%+v", s)
		}
	}
}

// TestWait captures from an interface that is not there yet, and over outages.
func TestWait(t *testing.T) {
	enterLab(t, "1")
	labtest.IP(t, "link del left")
	src := open(t, Config{Wait: true, Idle: 10 * time.Millisecond})
	want := frames(100)
	both := func(change string) {
		t.Helper()
		labtest.IP(t, change)
		var b capture.Batch
		for deadline := time.Now().Add(wait.Timeout); !src.Stats()[0].Down && time.Now().Before(deadline); {
			if err := src.Next(&b); err != nil {
				t.Fatal(err)
			}
		}
	}
	back := func() {
		t.Helper()
		labtest.AwaitLink(t, "right")
		var b capture.Batch
		for deadline := time.Now().Add(wait.Timeout); src.Stats()[0].Down && time.Now().Before(deadline); {
			if err := src.Next(&b); err != nil {
				t.Fatal(err)
			}
		}
		send(t, "left", want...)
		got := labtest.Take(t, src, len(want), nil)
		if got.Err != nil {
			t.Fatal(got.Err)
		}
		capturetest.CompareFrames(t, got.Data, want)
	}
	made := func() {
		t.Helper()
		labtest.Pair(t, "left", "right")
		back()
	}
	made()
	both("link set right down")
	labtest.IP(t, "link set right up")
	back()
	both("link del left")
	made()
	if s := sum(src); s.Outages != 2 || s.Received != 300 || s.Delivered != 300 {
		t.Errorf("%+v", s)
	}
}

func TestGatherTime(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		most            time.Duration
		waiting, memory int
		arrived         uint32
		passed, want    time.Duration
	}{
		{ms, 0, 32768, 0, ms, 0},               // nothing comes
		{ms, 1, 32768, 1, 10 * ms, ms},         // little comes
		{ms, 255, 32768, 2000, 2 * ms, ms},     // a million a second: memory lasts for 32 ms
		{ms, 255, 32768, 8192, 2 * ms, ms / 8}, // 4 million: for 8 ms
		{ms, 0, 32768, 8192, 2 * ms, ms / 8},   // the same
		{ms, 256, 32768, 8192, 2 * ms, 0},      // enough for a batch
		{ms / 16, 10, 32768, 8192, 2 * ms, ms / 16},
		{0, 10, 32768, 8192, 2 * ms, 0}, // no delay is wanted
		{time.Hour, 1, 32768, 1, 1<<63 - 1, time.Hour},
	} {
		if got := gatherTime(c.most, c.waiting, c.memory, c.arrived, c.passed); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestStopWakes checks that Stop ends a Next that waits, and that every Next after Close ends.
func TestStopWakes(t *testing.T) {
	enterLab(t, "1")
	src := open(t, Config{Delay: time.Hour})
	var b capture.Batch
	if err := src.Next(&b); err != nil || len(b.Blocks) != 2 {
		t.Fatal(err, b.Blocks)
	}
	send(t, "left", frame(1, 1, 100))
	lab.Settle()
	time.AfterFunc(10*time.Millisecond, src.Stop)
	n := 0
	for {
		err := src.Next(&b)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		n += len(b.Frames)
	}
	if n != 1 {
		t.Errorf("%d frames", n)
	}
	if err := src.Close(); err != nil {
		t.Fatal(err)
	}
	src.Stop()
	if err := src.Next(&b); err == nil {
		t.Error("a batch of a closed capture")
	}
	if s := sum(src); s.Received != 1 {
		t.Errorf("%+v", s)
	}
}

// TestRefusals checks which interfaces are refused, and why.
func TestRefusals(t *testing.T) {
	enterLab(t, "1")
	labtest.IP(t, "link set lo up")
	labtest.IP(t, "link set right down")
	for _, test := range []struct {
		name  string
		setup []string
		want  error
		taken error // with Take
	}{
		{name: "lo", want: ErrUnfit, taken: ErrUnfit},
		{name: afpacket.Any, want: ErrUnfit, taken: ErrUnfit},
		{name: "nothing", want: afpacket.ErrNoInterface, taken: afpacket.ErrNoInterface},
		{name: "right", want: afpacket.ErrDown, taken: afpacket.ErrDown},
		{name: "right", setup: []string{"link set right up", "addr add 10.1.1.1/24 dev right"}, want: ErrInUse},
		{name: "right", setup: []string{"addr flush dev right", "link add bridge0 type bridge", "link set right master bridge0"}, want: ErrInUse},
	} {
		possible := true
		for _, arguments := range test.setup {
			if err := lab.IP(arguments); err != nil {
				t.Log(err)
				possible = false
			}
		}
		if !possible {
			continue
		}
		for take, want := range map[bool]error{false: test.want, true: test.taken} {
			src, err := Open(Config{Interfaces: []string{test.name}, Take: take, RingBytes: minRingBytes})
			if !errors.Is(err, want) || (err == nil) != (want == nil) {
				t.Errorf("%s %v, take %v: %v", test.name, test.setup, take, err)
			}
			if err == nil {
				_ = src.Close()
			}
		}
	}
	if _, err := net.InterfaceByName("right"); err != nil {
		t.Error(err)
	}
}

// TestSecond checks the error of a second capture of an interface.
func TestSecond(t *testing.T) {
	enterLab(t, "1")
	open(t, Config{})
	if _, err := Open(Config{Interfaces: []string{"right"}}); err == nil || !bytes.Contains([]byte(err.Error()), []byte("another XDP program")) {
		t.Error(err)
	}
}

// TestZeroCopyRefused captures where the driver refuses sockets with zero copy.
func TestZeroCopyRefused(t *testing.T) {
	enterLab(t, "2")
	defer func() { bindSocket = unix.Bind }()
	refused := 0
	bindSocket = func(fd int, address unix.Sockaddr) error {
		if address.(*unix.SockaddrXDP).Flags&unix.XDP_COPY == 0 {
			refused++
			return unix.EOPNOTSUPP
		}
		return unix.Bind(fd, address)
	}
	src := open(t, Config{})
	want := frames(100)
	send(t, "left", want...)
	if got := labtest.Take(t, src, len(want), nil); got.Err != nil || len(got.Data) != len(want) {
		t.Fatalf("%d frames (%v)", len(got.Data), got.Err)
	}
	if n := len(src.Stats()); refused != 1 || n != 2 {
		t.Errorf("%d sockets refused, %d opened", refused, n)
	}
}
