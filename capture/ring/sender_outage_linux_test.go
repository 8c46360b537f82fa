package ring

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture"
)

// dropCapabilities takes them from the test's thread, for good. Programs that it starts
// have those of root again.
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

// TestSendOutage has an interface go down and up, and removed and made anew. The error
// stays until a frame was sent, which needs no capability again.
func TestSendOutage(t *testing.T) {
	enterLab(t)
	s, err := OpenSender(SenderConfig{Interface: "left"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	dropCapabilities(t)
	b := batchOf(numbered(0, 60), numbered(1, 60), numbered(2, 60))
	offered := uint64(0)
	for _, c := range []struct {
		away, back string
		want       error
	}{
		{"link set left down", "link set left up", ErrDown},
		{"link del left", "link add left type veth peer name right", ErrNoInterface},
	} {
		if err := s.Send(b, nil); err != nil {
			t.Fatal(err)
		}
		ip(t, c.away)
		lost := s.Stats().Lost
		if err := s.Send(b, nil); !errors.Is(err, c.want) || s.Stats().Lost != lost+3 {
			t.Errorf("%s: %v, %+v", c.away, err, s.Stats())
		}
		requireIdleError(t, s, b, c.want)
		ip(t, c.back)
		ip(t, "link set left up")
		ip(t, "link set right up")
		requireIdleError(t, s, b, c.want)
		offered += 6
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
			offered += 3
			sent := s.Stats().Sent
			err := s.Send(b, nil)
			if (err == nil) != (s.Stats().Sent > sent) {
				t.Fatalf("%v, and %d frames sent", err, s.Stats().Sent-sent)
			}
			if err == nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("it does not work again: ", err)
			}
		}
	}
	if n := s.Stats(); n.Sent+n.Lost+n.Refused != offered || n.Lost == 0 || n.Truncated+n.TooLong != 0 {
		t.Errorf("%+v of %d frames", n, offered)
	}
}

// requireIdleError hands over batches without a frame to be sent.
func requireIdleError(t *testing.T, s *Sender, b *capture.Batch, want error) {
	t.Helper()
	before := s.Stats()
	for _, idle := range []struct {
		b    *capture.Batch
		drop []uint64
	}{{batchOf(), nil}, {b, []uint64{7}}} {
		if err := s.Send(idle.b, idle.drop); !errors.Is(err, want) {
			t.Errorf("nothing to be sent: %v, want %v", err, want)
		}
	}
	if after := s.Stats(); after != before {
		t.Errorf("%+v after %+v", after, before)
	}
}

// TestSendAnew removes the interface and makes it anew while frames are sent. Those that
// are counted as sent come out at the other end.
func TestSendAnew(t *testing.T) {
	enterLab(t)
	s, err := OpenSender(SenderConfig{Interface: "left", Queue: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := batchOf(numbered(0, 60), numbered(1, 60))
	// In the test's namespace, as the program is started from its thread.
	script := strings.Join([]string{
		"set -e", "ip link del left", "ip link add left type veth peer name right", "ip link set right up", "ip link set left up",
	}, "\n")
	anew := exec.Command("sh", "-c", script)
	if err := anew.Start(); err != nil {
		t.Fatal(err)
	}
	made := make(chan error, 1)
	go func() { made <- anew.Wait() }()
	offered, there := uint64(0), false
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Microsecond) {
		offered += 2
		err := s.Send(b, nil)
		if there && err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it does not work again: ", err)
		}
		select {
		case err := <-made:
			if err != nil {
				t.Fatal(err)
			}
			there = true
		default:
		}
	}
	if n := s.Stats(); n.Sent+n.Lost+n.Refused != offered {
		t.Errorf("%+v of %d frames", n, offered)
	}
	src := open(t, Config{Interfaces: []string{"right"}})
	if err := s.Send(b, nil); err != nil {
		t.Fatal(err)
	}
	if got := rest(t, src).frames; len(got) != 2 {
		t.Errorf("%d frames at the other end", len(got))
	}
}

// TestSendWarns tells once why frames are passed over, with what to do.
func TestSendWarns(t *testing.T) {
	enterLab(t)
	ip(t, "link set left mtu 1400")
	var warned []error
	s, err := OpenSender(SenderConfig{Interface: "left", RetryTimeout: time.Millisecond, Warn: func(err error) { warned = append(warned, err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := batchOf(numbered(0, 60), numbered(1, 1514), numbered(2, 1414), numbered(3, 60), numbered(4, 60_000))
	b.Frames[3].WireLen = 90
	send := func() {
		t.Helper()
		if err := s.Send(b, nil); err != nil {
			t.Fatal(err)
		}
	}
	send()
	send()
	ip(t, "link set right down")
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
		{ErrFrameTruncated, "left: frames captured in part are not sent: one of 90 bytes, of which 60"},
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

// TestSendMerged tells what to do about frames that no interface carries.
func TestSendMerged(t *testing.T) {
	enterLab(t)
	var warned error
	s, err := OpenSender(SenderConfig{Interface: "left", Warn: func(err error) { warned = err }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Send(batchOf(numbered(0, 40_000)), nil); err != nil {
		t.Fatal(err)
	}
	if text := warned.Error(); !strings.Contains(text, "ethtool -K IFACE gro off lro off") || strings.Contains(text, "ip link") {
		t.Error(text)
	}
}
