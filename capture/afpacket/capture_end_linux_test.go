// SPDX-License-Identifier: Apache-2.0

package afpacket

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/labtest"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/internal/frametest"
)

// TestDrained stops a capture whose only packets lie in a block that is far from full and
// from its timeout.
func TestDrained(t *testing.T) { bothPlaces(t, testDrained) }

func testDrained(t *testing.T, inPlace bool) {
	enterLab(t)
	src := open(t, Config{InPlace: inPlace, Interfaces: []string{"right", "left"}, BlockTimeout: 300 * time.Millisecond, IgnoreOutgoing: true})
	send(t, openSender(t, "left"), numbered(0, 60), numbered(1, 60))
	send(t, openSender(t, "right"), numbered(2, 60))
	lab.Settle()
	src.Stop()
	send(t, openSender(t, "left"), numbered(3, 60)) // may come or not
	got := take(t, src, -1)
	if n := len(got.Data); got.Err != nil || n < 3 || n > 4 {
		t.Fatalf("%d frames, %v", n, got.Err)
	}
	interfaces := [2]int{}
	for _, f := range got.Frames {
		interfaces[f.Interface]++
	}
	if interfaces[0] < 2 || interfaces[1] != 1 {
		t.Errorf("%v frames of the interfaces", interfaces)
	}
}

// TestStopUnderLoad stops while packets come faster than they are read.
func TestStopUnderLoad(t *testing.T) { bothPlaces(t, testStopUnderLoad) }

func testStopUnderLoad(t *testing.T, inPlace bool) {
	enterLab(t)
	src := open(t, Config{InPlace: inPlace, Interfaces: []string{"right"}})
	s, full := openSender(t, "left"), make([][]byte, 1000)
	for i := range full {
		full[i] = numbered(i, 1000)
	}
	src.Stop()
	var b capture.Batch
	for range 100 { // batches; the ring holds a few at a time
		send(t, s, full...)
		if err := src.Next(&b); err == io.EOF {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
	t.Error("it goes on")
}

// TestOverload fills a ring that is not read.
func TestOverload(t *testing.T) { bothPlaces(t, testOverload) }

func testOverload(t *testing.T, inPlace bool) {
	enterLab(t)
	src := open(t, Config{
		InPlace: inPlace, Interfaces: []string{"right"}, RingBytes: 1 << 17, BlockBytes: 1 << 16,
		BlockTimeout: 5 * time.Millisecond, Idle: 20 * time.Millisecond,
	})
	var frames [][]byte
	for i := range 5000 {
		frames = append(frames, numbered(i, 100))
	}
	s := openSender(t, "left")
	var got [][]byte
	for round := range 3 {
		send(t, s, frames...)
		lab.Settle()
		got = append(got, take(t, src, 1).Data...)
		b := capture.Batch{}
		if err := src.Next(&b); err != nil || len(b.Frames) > 0 {
			t.Fatal(len(b.Frames), err)
		}
		if n := sum(src); n.Received != uint64(len(frames)*(round+1)) || n.Dropped == 0 {
			t.Errorf("round %d: %+v", round, n)
		}
	}
	got = append(got, rest(t, src).Data...)
	n := sum(src)
	if n.Received != 15000 || n.Delivered+n.Dropped != n.Received || n.Freezes == 0 || uint64(len(got)) != n.Delivered {
		t.Errorf("%d frames, %+v", len(got), n)
	}
	for i, f := range got {
		number := int(binary.BigEndian.Uint32(f[14:]))
		if !bytes.Equal(f, frames[number]) {
			t.Fatalf("frame %d: %x", i, f)
		}
	}
	if again := sum(src); again != n {
		t.Errorf("counters changed: %+v, %+v", n, again)
	}
	if err := src.Close(); err != nil || sum(src) != n {
		t.Errorf("after Close: %+v, %v", sum(src), err)
	}
}

func TestInterfaceGoes(t *testing.T) {
	for _, tt := range []struct {
		command string
		want    error
	}{{"link set right down", ErrDown}, {"link del right", ErrRemoved}} {
		enterLab(t)
		src := open(t, Config{Interfaces: []string{"right"}, Rings: 2, BlockTimeout: 100 * time.Millisecond})
		send(t, openSender(t, "left"), numbered(0, 60))
		lab.Settle()
		ended := make(chan *labtest.Taken)
		go func() { ended <- take(t, src, -1) }()
		labtest.IP(t, tt.command)
		got := <-ended
		if !errors.Is(got.Err, tt.want) || len(got.Data) != 1 {
			t.Errorf("%s: %v after %d frames", tt.command, got.Err, len(got.Data))
		}
		if err := src.Next(&capture.Batch{}); !errors.Is(err, tt.want) {
			t.Errorf("%s: then %v", tt.command, err)
		}
	}
}

func TestInterfaceComesBack(t *testing.T) { bothPlaces(t, testInterfaceComesBack) }

func testInterfaceComesBack(t *testing.T, inPlace bool) {
	enterLab(t)
	labtest.IP(t, "link set right down")
	src := open(t, Config{InPlace: inPlace, Interfaces: []string{"right"}, Rings: 2, Wait: true})
	// Only this thread is in the namespace, so it opens all sockets.
	phase := 0
	works := func(when string) {
		t.Helper()
		phase++
		want := numbered(phase, 60)
		stop := traffic(t, "left", time.Millisecond, want) // a ring has room for seconds of it
		defer stop()
		for {
			got := take(t, src, 1).Data
			if len(got) == 0 {
				t.Fatal(when, ": nothing came")
			}
			if bytes.Equal(got[len(got)-1], want) {
				return
			}
		}
	}
	labtest.IP(t, "link set right up")
	works("up")
	labtest.IP(t, "link set right down")
	labtest.IP(t, "link set right up")
	works("down and up")
	labtest.IP(t, "link del right")
	labtest.Pair(t, "left", "right")
	works("made anew")
	labtest.IP(t, "link set right name renamed")
	works("renamed")
	labtest.IP(t, "link set renamed down")
	labtest.IP(t, "link set renamed name other up")
	works("renamed while it was down")
	if src.Stats()[0].Down {
		t.Error("an interface whose packets come counts as down")
	}
	labtest.IP(t, "link set other down")
	labtest.IP(t, "link set left name its-peer")
	labtest.Pair(t, "left", "right")
	works("another one has its name")
	if s := sum(src); s.Outages < 2 || s.Received < 4 || s.Dropped != 0 {
		t.Errorf("%+v", s)
	}
	rest(t, src)
}

// TestNamesSwapped captures each of two interfaces once after they have swapped names.
func TestNamesSwapped(t *testing.T) {
	enterLab(t)
	labtest.Pair(t, "other", "its-peer")
	src := open(t, Config{Interfaces: []string{"right", "other"}, Wait: true, IgnoreOutgoing: true, Idle: time.Millisecond})
	for _, change := range []string{
		"right down", "right name free", "other down", "other name right", "right up", "free name other", "other up",
	} {
		labtest.IP(t, "link set "+change)
		wait.Until(t, "the capture to follow: "+change, func() bool {
			if err := src.Next(&capture.Batch{}); err != nil {
				t.Fatal(err)
			}
			s := src.Stats()
			return s[0].Down == (change != "other up") && s[1].Down == (change == "other down" || change == "other name right")
		})
	}
	want := [][]byte{numbered(0, 60), numbered(1, 60)}
	send(t, openSender(t, "left"), want[0])
	lab.Settle()
	send(t, openSender(t, "its-peer"), want[1])
	capturetest.CompareFrames(t, rest(t, src).Data, want)
}

// TestNotThereYet captures from an interface and sends to an interface that both appear later.
func TestNotThereYet(t *testing.T) {
	labtest.Enter(t)
	src := open(t, Config{Interfaces: []string{"right"}, Wait: true, Idle: time.Millisecond})
	s, err := OpenSender(SenderConfig{Interface: "left", Wait: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := frametest.NewBatch(capture.LinkEthernet, numbered(0, 60))
	if err := s.Send(b, nil); !errors.Is(err, ErrNoInterface) || s.Stats().Lost != 1 {
		t.Errorf("%v, %+v", err, s.Stats())
	}
	labtest.Pair(t, "left", "right")
	for src.Stats()[0].Down { // it lets packets in when it has noticed
		if err := src.Next(&capture.Batch{}); err != nil {
			t.Fatal(err)
		}
	}
	wait.Until(t, "the interface to work", func() bool { return s.Send(b, nil) == nil })
	capturetest.CompareFrames(t, rest(t, src).Data, [][]byte{numbered(0, 60)})
	if n := sum(src); n.Outages != 0 {
		t.Errorf("%+v", n)
	}
	for _, c := range []SenderConfig{{Interface: "a-name-that-is-too-long", Wait: true}, {Interface: Any, Wait: true}} {
		if s, err := OpenSender(c); err == nil {
			t.Errorf("it waits for %s", c.Interface)
			_ = s.Close()
		}
	}
}

func TestIdle(t *testing.T) {
	enterLab(t)
	src := open(t, Config{Interfaces: []string{"right"}, Idle: 20 * time.Millisecond})
	var b capture.Batch
	for i := range 3 {
		if err := src.Next(&b); err != nil || len(b.Frames) > 0 {
			t.Fatalf("%d: %d frames, %v", i, len(b.Frames), err)
		}
	}
}

func TestStatsMeanwhile(t *testing.T) {
	enterLab(t)
	src := open(t, Config{Interfaces: []string{"right"}, Rings: 2})
	ended := make(chan *labtest.Taken)
	go func() { ended <- take(t, src, -1) }()
	s := openSender(t, "left")
	last := uint64(0)
	for i := range 50 {
		send(t, s, flows(100)...)
		if n := sum(src).Received; n < last || n > uint64(i+1)*100 {
			t.Errorf("%d received after %d", n, last)
		}
	}
	lab.Settle()
	src.Stop()
	if got := <-ended; got.Err != nil || len(got.Data) != 5000 || sum(src).Delivered != 5000 {
		t.Errorf("%d frames, %v, %+v", len(got.Data), got.Err, sum(src))
	}
}

func TestClose(t *testing.T) { bothPlaces(t, testClose) }

func testClose(t *testing.T, inPlace bool) {
	enterLab(t)
	src := open(t, Config{InPlace: inPlace, Interfaces: []string{"right"}})
	var b capture.Batch
	send(t, openSender(t, "left"), numbered(7, 60))
	for len(b.Frames) == 0 {
		if err := src.Next(&b); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := src.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if !inPlace && !bytes.Equal(b.Data(0), numbered(7, 60)) {
		t.Error("the batch changed")
	}
	src.Stop()
	if err := src.Next(&b); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Next after Close: %v", err)
	}
}

func TestOpenErrors(t *testing.T) {
	enterLab(t)
	labtest.IP(t, "link set left down")
	for _, tt := range []struct {
		conf Config
		want error
	}{
		{Config{Interfaces: []string{"none"}}, ErrNoInterface},
		{Config{Interfaces: []string{"a-name-that-is-too-long"}}, ErrNoInterface},
		{Config{Interfaces: []string{"a-name-that-is-too-long"}, Wait: true}, ErrNoInterface},
		{Config{Interfaces: []string{"right", "left"}}, ErrDown},
		{Config{Interfaces: []string{Any}, Filters: filters(capture.LinkLinuxSLL2, bpf.RawInstruction{Op: 0x30, K: 12}, bpf.RawInstruction{Op: 6})}, ErrFilter},
		{Config{Interfaces: []string{"right"}, Filters: filters(capture.LinkEthernet, bpf.RawInstruction{Op: 0xFFFF})}, ErrKernelFilter},
		{Config{Interfaces: []string{"right"}, Filters: filters(capture.LinkEthernet, slices.Repeat(rejectAll, 1<<16+1)...)}, ErrKernelFilter},
		{Config{Interfaces: []string{"right"}, Filters: filters(capture.LinkRaw, rejectAll...)}, ErrNoFilter},
		{Config{Interfaces: []string{"right"}, BlockBytes: maxBlockBytes + 1}, nil},
		{Config{Interfaces: []string{"right", Any}}, nil},
		{Config{Interfaces: []string{"right", "right"}}, nil},
		{Config{}, nil},
		{Config{Interfaces: []string{"right"}, Rings: 257}, nil},
		{Config{Interfaces: []string{"right"}, SnapLen: 8}, nil},
		{Config{Interfaces: []string{"right"}, RingBytes: -1}, nil},
		{Config{Interfaces: []string{"right"}, BlockBytes: -1}, nil},
		{Config{Interfaces: []string{"right"}, BlockTimeout: -1}, nil},
		{Config{Interfaces: []string{"right"}, Idle: -1}, nil},
	} {
		if !possible(&tt.conf) {
			t.Logf("left out, as the kernel loads no filters: %+v", tt.conf)
			continue
		}
		src, err := Open(tt.conf)
		if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%+v: %v", tt.conf, err)
			_ = src.Close()
		}
	}
	for name, want := range map[string]error{"none": ErrNoInterface, "left": ErrDown} {
		if _, err := OpenSender(SenderConfig{Interface: name}); !errors.Is(err, want) {
			t.Errorf("sender to %s: %v", name, err)
		}
	}
}

// TestPrivileges runs itself as user nobody. With CAP_NET_RAW everything works, without
// it nothing does.
func TestPrivileges(t *testing.T) {
	const key = "FLOWDEDUP_NOBODY"
	if as := os.Getenv(key); as != "" {
		src, err := Open(Config{Interfaces: []string{"right"}, Rings: 2, Promiscuous: true, IgnoreOutgoing: true, HardwareTime: true})
		s, err2 := OpenSender(SenderConfig{Interface: "left"})
		if as == "nobody" {
			if !errors.Is(err, ErrNotPermitted) || !errors.Is(err2, ErrNotPermitted) {
				t.Errorf("Open: %v; OpenSender: %v", err, err2)
			}
			return
		}
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		send(t, s, numbered(0, 60))
		capturetest.CompareFrames(t, rest(t, src).Data, [][]byte{numbered(0, 60)})
		return
	}
	enterLab(t)
	needFilters(t, &Config{Rings: 2})
	for as, capabilities := range map[string][]uintptr{"nobody": nil, "raw": {unix.CAP_NET_RAW}} {
		command := exec.Command("/proc/self/exe", "-test.run=^TestPrivileges$")
		command.Env = append(os.Environ(), key+"="+as)
		command.Dir = "/"
		command.SysProcAttr = &syscall.SysProcAttr{
			Credential: &syscall.Credential{Uid: 65534, Gid: 65534}, AmbientCaps: capabilities,
		}
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", as, err, out)
		}
	}
}
