// SPDX-License-Identifier: Apache-2.0

package afpacket

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/labtest"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/internal/frametest"
)

// TestSendOutage takes an interface down and up, and removes and recreates it. The error
// stays until a frame was sent, and sending again needs no capability.
func TestSendOutage(t *testing.T) {
	enterLab(t)
	s, err := OpenSender(SenderConfig{Interface: "left"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	dropCapabilities(t)
	b := frametest.NewBatch(capture.LinkEthernet, numbered(0, 60), numbered(1, 60), numbered(2, 60))
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
		labtest.IP(t, c.away)
		lost := s.Stats().Lost
		if err := s.Send(b, nil); !errors.Is(err, c.want) || s.Stats().Lost != lost+3 {
			t.Errorf("%s: %v, %+v", c.away, err, s.Stats())
		}
		requireIdleError(t, s, b, c.want)
		labtest.IP(t, c.back)
		labtest.IP(t, "link set left up")
		labtest.IP(t, "link set right up")
		requireIdleError(t, s, b, c.want)
		offered += 6
		wait.Until(t, "the interface to work again", func() bool {
			offered += 3
			sent := s.Stats().Sent
			err := s.Send(b, nil)
			if (err == nil) != (s.Stats().Sent > sent) {
				t.Fatalf("%v, and %d frames sent", err, s.Stats().Sent-sent)
			}
			return err == nil
		})
	}
	if n := s.Stats(); n.Sent+n.Lost+n.Refused != offered || n.Lost == 0 || n.Truncated+n.TooLong != 0 {
		t.Errorf("%+v of %d frames", n, offered)
	}
}

// TestSendRenamed renames the interface, and gives its name to a new interface. A sender follows it as
// a capture does.
func TestSendRenamed(t *testing.T) {
	enterLab(t)
	s := openSender(t, "left")
	b := frametest.NewBatch(capture.LinkEthernet, numbered(0, 60))
	works := func(at, when string) {
		t.Helper()
		if err := lab.AwaitLink(at); err != nil {
			t.Fatal(err)
		}
		wait.Until(t, when, func() bool { return s.Send(b, nil) == nil })
		src := open(t, Config{Interfaces: []string{at}})
		send(t, s, numbered(1, 60))
		capturetest.CompareFrames(t, rest(t, src).Data, [][]byte{numbered(1, 60)})
	}
	labtest.IP(t, "link set left name renamed")
	works("right", "renamed")
	labtest.IP(t, "link set renamed down")
	if err := s.Send(b, nil); !errors.Is(err, ErrDown) {
		t.Error(err)
	}
	labtest.IP(t, "link set renamed name other up")
	works("right", "renamed while it was down")
	labtest.IP(t, "link set other down")
	if err := s.Send(b, nil); !errors.Is(err, ErrDown) {
		t.Error(err)
	}
	labtest.Pair(t, "left", "another")
	works("another", "another one has its name")
}

// TestSendNamesSwapped sends to each of two interfaces once after they have swapped names, and each
// was down.
func TestSendNamesSwapped(t *testing.T) {
	enterLab(t)
	labtest.Pair(t, "other", "its-peer")
	senders := []*Sender{openSender(t, "left"), openSender(t, "other")}
	b := frametest.NewBatch(capture.LinkEthernet, numbered(0, 60))
	for _, s := range senders {
		s.Avoid(senders)
	}
	for _, change := range []string{"left name free", "other name left", "free name other"} {
		labtest.IP(t, "link set "+change)
	}
	for i, now := range []string{"other", "left"} {
		labtest.IP(t, "link set "+now+" down")
		if err := senders[i].Send(b, nil); !errors.Is(err, ErrDown) {
			t.Error(err)
		}
		labtest.IP(t, "link set "+now+" up")
		wait.Until(t, now+" to work again", func() bool { return senders[i].Send(b, nil) == nil })
	}
	for i, peer := range []string{"right", "its-peer"} {
		if err := lab.AwaitLink(peer); err != nil {
			t.Fatal(err)
		}
		src := open(t, Config{Interfaces: []string{peer}})
		want := [][]byte{numbered(1+i, 60)}
		send(t, senders[i], want[0])
		send(t, senders[1-i], numbered(9, 60))
		capturetest.CompareFrames(t, rest(t, src).Data, want)
	}
	labtest.IP(t, "link del other") // the renamed interface had it
	wait.Until(t, "the error to say that the interface is in use", func() bool {
		err := senders[0].Send(b, nil)
		return errors.Is(err, ErrNoInterface) && strings.Contains(err.Error(), "in use already")
	})
}

// requireIdleError passes batches without a frame to send.
func requireIdleError(t *testing.T, s *Sender, b *capture.Batch, want error) {
	t.Helper()
	before := s.Stats()
	for _, idle := range []struct {
		b    *capture.Batch
		drop []uint64
	}{{frametest.NewBatch(capture.LinkEthernet), nil}, {b, []uint64{7}}} {
		if err := s.Send(idle.b, idle.drop); !errors.Is(err, want) {
			t.Errorf("nothing to be sent: %v, want %v", err, want)
		}
	}
	if after := s.Stats(); after != before {
		t.Errorf("%+v after %+v", after, before)
	}
}

// TestSendAnew removes and recreates the interface while frames are sent. Frames that
// were counted as sent come out at the other end.
func TestSendAnew(t *testing.T) {
	enterLab(t)
	s, err := OpenSender(SenderConfig{Interface: "left", Queue: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := frametest.NewBatch(capture.LinkEthernet, numbered(0, 60), numbered(1, 60))
	// The program starts from the test's thread, so it runs in its namespace.
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
	wait.Until(t, "the interface to work again", func() bool {
		for range 10 { // frames are sent at any time of the change
			offered += 2
			if err := s.Send(b, nil); there && err == nil {
				return true
			}
		}
		select {
		case err := <-made:
			if err != nil {
				t.Fatal(err)
			}
			there = true
		default:
		}
		return false
	})
	if n := s.Stats(); n.Sent+n.Lost+n.Refused != offered {
		t.Errorf("%+v of %d frames", n, offered)
	}
	lab.Settle()
	src := open(t, Config{Interfaces: []string{"right"}})
	if err := s.Send(b, nil); err != nil {
		t.Fatal(err)
	}
	if got := rest(t, src).Data; len(got) != 2 {
		t.Errorf("%d frames at the other end", len(got))
	}
}
