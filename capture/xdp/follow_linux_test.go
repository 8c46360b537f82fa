// SPDX-License-Identifier: Apache-2.0

package xdp

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/bench/lab/labtest"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/capture"
)

// ethtool changes an interface of the test's namespace. The kernel frees queues some time after a capture.
func ethtool(t *testing.T, arguments string) {
	t.Helper()
	for deadline := time.Now().Add(wait.Timeout); ; time.Sleep(10 * time.Millisecond) {
		out, err := exec.Command("ethtool", strings.Fields(arguments)...).CombinedOutput()
		switch {
		case err == nil:
			return
		case errors.Is(err, exec.ErrNotFound):
			t.Skip(err)
		case time.Now().After(deadline):
			t.Fatalf("ethtool %s: %v: %s", arguments, err, out)
		}
	}
}

// following is a capture that follows its interface, and what it delivers.
type following struct {
	*Capture
	t        *testing.T
	warnings []string
	numbers  []int
}

func follow(t *testing.T) *following {
	f := &following{t: t}
	f.Capture = open(t, Config{Idle: 5 * time.Millisecond, Warn: func(err error) { f.warnings = append(f.warnings, err.Error()) }})
	return f
}

// until reads until something is the case.
func (f *following) until(what string, is func() bool) {
	f.t.Helper()
	var b capture.Batch
	for deadline := time.Now().Add(wait.Timeout); !is(); {
		if time.Now().After(deadline) {
			f.t.Fatalf("no %s: %v %+v", what, f.warnings, sum(f.Capture))
		}
		if err := f.Next(&b); err != nil {
			f.t.Fatal(err)
		}
		for i := range b.Frames {
			f.numbers = append(f.numbers, numberOf(b.Data(i)))
		}
	}
}

func (f *following) warned(words string) func() bool {
	return func() bool {
		return slices.ContainsFunc(f.warnings, func(w string) bool { return strings.Contains(w, words) })
	}
}

// all checks that all of n packets were delivered or are counted, and how many were lost to the host.
func (f *following) all(n int, lost bool) {
	f.t.Helper()
	f.until("packets", func() bool { return len(f.numbers)+int(sum(f.Capture).Dropped) >= n })
	s := sum(f.Capture)
	slices.Sort(f.numbers)
	if int(s.Received) != n || len(slices.Compact(f.numbers)) != n-int(s.Dropped) || s.Dropped > 0 != lost {
		f.t.Errorf("%d delivered, %+v; %v", len(f.numbers), s, f.warnings)
	}
	if toHost := f.Stats()[0].ToHost; toHost != s.Dropped {
		f.t.Errorf("%d of %d dropped went to the host", toHost, s.Dropped)
	}
}

// TestMoreQueues captures from queues that come later, also while packets come, and counts what the
// host gets until then.
func TestMoreQueues(t *testing.T) {
	for _, meanwhile := range []bool{false, true} {
		enterLab(t, "4")
		for _, name := range []string{"left", "right"} {
			ethtool(t, "-L "+name+" rx 1 tx 1")
		}
		f := follow(t)
		all := frames(600)
		send(t, "left", all[:200]...)
		grow := func(n string) {
			ethtool(t, "-L right rx "+n+" tx "+n)
			ethtool(t, "-L left rx "+n+" tx "+n)
		}
		grow("2")
		if meanwhile {
			send(t, "left", all[200:300]...)
		}
		f.until("queue", f.warned("2 receive queues instead of 1"))
		if !meanwhile {
			send(t, "left", all[200:300]...)
		}
		grow("4")
		f.until("queues", f.warned("4 receive queues instead of 2"))
		send(t, "left", all[300:]...)
		f.all(600, meanwhile)
		if n := len(f.Stats()); n != 4 {
			t.Errorf("%d queues", n)
		}
		if n := len(f.warnings); n != 2 {
			t.Errorf("%d warnings: %v", n, f.warnings)
		}
	}
}

// TestOtherMTU captures frames of an MTU that was raised, whole and in pieces, and counts what the host
// gets meanwhile.
func TestOtherMTU(t *testing.T) {
	enterLab(t, "2")
	f := follow(t)
	sent := 0
	for _, step := range []struct {
		mtu   string
		bytes int
		again bool // sockets have to be opened again
	}{{"1500", 1514, false}, {"3000", 3014, true}, {"1500", 1500, false}, {"3500", 3500, false}, {"9000", 9014, true}, {"1500", 1500, false}, {"9000", 9014, false}} {
		f.warnings = nil
		labtest.IP(t, "link set right mtu "+step.mtu)
		if step.again {
			send(t, "left", frame(sent, 1, 60)) // may go to either
			sent++
			f.until("MTU", f.warned("its MTU is now "+step.mtu))
		}
		labtest.IP(t, "link set left mtu "+step.mtu)
		if strings.Contains(strings.Join(f.warnings, ""), "split") {
			t.Skip(f.warnings)
		}
		for range 20 {
			send(t, "left", frame(sent, sent, step.bytes))
			sent++
		}
		f.until("frames", func() bool { return len(f.numbers)+int(sum(f.Capture).Dropped) == sent })
		if n := len(f.warnings); n > 0 != step.again {
			t.Errorf("MTU %s: %v", step.mtu, f.warnings)
		}
	}
	s := sum(f.Capture)
	if s.Dropped > 2 || int(s.Received) != sent || s.Truncated > 0 || f.Stats()[0].TooLong > 0 {
		t.Errorf("%+v", s)
	}
}

// TestMoreQueuesUnprivileged counts the packets of queues that cannot be captured.
func TestMoreQueuesUnprivileged(t *testing.T) {
	enterLab(t, "2")
	for _, name := range []string{"left", "right"} {
		ethtool(t, "-L "+name+" rx 1 tx 1")
	}
	defer func() { newSocket = unix.Socket }()
	f := follow(t)
	newSocket = func(int, int, int) (int, error) { return -1, unix.EPERM }
	ethtool(t, "-L right rx 2 tx 2")
	ethtool(t, "-L left rx 2 tx 2")
	f.until("warning", f.warned("not permitted"))
	send(t, "left", frames(200)...)
	f.all(200, true)
	time.Sleep(1500 * time.Millisecond)
	f.until("idleness", func() bool { return true })
	if len(f.warnings) != 1 {
		t.Error(f.warnings)
	}
}

// TestRefusal has the driver say why it does not run the program.
func TestRefusal(t *testing.T) {
	for setup, want := range map[string]string{
		"link set left mtu 9000": "refuses the XDP program (veth: Peer MTU is too large to set XDP)",
		"":                       "refuses the XDP program (veth: XDP expects number of rx queues not less than peer tx queues)",
	} {
		enterLab(t, "1")
		if setup == "" {
			remakePair(t, "2", "1")
		} else {
			labtest.IP(t, setup)
		}
		f := follow(t)
		if !f.warned(want)() {
			t.Errorf("%s: %v", setup, f.warnings)
		}
		send(t, "left", frames(20)...)
		f.all(20, false)
	}
	enterLab(t, "1")
	labtest.IP(t, "link add bridge0 type bridge")
	labtest.IP(t, "link set bridge0 up")
	var warnings []string
	open(t, Config{Interfaces: []string{"bridge0"}, Warn: func(err error) { warnings = append(warnings, err.Error()) }})
	if len(warnings) == 0 || !strings.Contains(warnings[0], "the driver runs no XDP programs") {
		t.Error(warnings)
	}
}
