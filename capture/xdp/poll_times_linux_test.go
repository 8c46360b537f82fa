// SPDX-License-Identifier: Apache-2.0

package xdp

import (
	"os/exec"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/labtest"
	"github.com/flowdedup/flowdedup/capture/internal/sockets"
)

// TestPollTimes checks that the packets of a poll share a time, and that each poll has its
// own.
func TestPollTimes(t *testing.T) {
	enterLab(t, "1")
	src := open(t, Config{})
	if p := src.ports[0].program; !p.stamps || p.polls == nil {
		t.Skip("each packet has a time of its own")
	}
	g, err := lab.NewPeerGenerator("left", lab.MinFrame)
	if err != nil {
		t.Skip(err)
	}
	defer g.Close()
	const packets, ofPoll = 1 << 10, 64
	for sent := uint64(0); sent < packets; { // a signal ends a call before
		if err := g.Run(packets - int(sent)); err != nil {
			t.Fatal(err)
		}
		if sent, err = g.Injected(); err != nil {
			t.Fatal(err)
		}
	}
	times := map[int64]bool{}
	got := labtest.Rest(t, src, nil)
	for i := range got.Frames {
		times[got.Frames[i].Time] = true
	}
	// Ticks, and signals that end a batch of the generator, make some more.
	if polls := packets / ofPoll; len(got.Frames) != packets || len(times) < polls/2 || len(times) > 4*polls {
		t.Errorf("%d packets with %d times", len(got.Frames), len(times))
	}
}

// TestNoPolls knows a driver that hands over packets without polls.
func TestNoPolls(t *testing.T) {
	enterLab(t, "1")
	if out, err := exec.Command("ip", "tuntap", "add", "dev", "tap", "mode", "tap").CombinedOutput(); err != nil {
		t.Skip("no taps: ", string(out))
	}
	polls := func(name string) bool {
		d, err := sockets.LookUp(name)
		return err == nil && polls(d.Driver)
	}
	if polls("tap") || !polls("right") || polls("none") {
		t.Error("a tap polls, or a pair does not, or what is not there does")
	}
}
