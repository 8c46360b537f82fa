// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"os/exec"
	"strings"
	"testing"

	benchlab "github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestLiveAdviceMerged follows the advice about merged packets. Those of hosts that share the machine
// were never split, and no offload of the capturing interfaces matters.
func TestLiveAdviceMerged(t *testing.T) {
	t.Parallel()
	a, b := router(t)
	merged := func() (is bool) {
		r := startLive(t, "-i", "in", "-i", "out", "--json")
		converse(a)
		benchlab.Settle()
		s := r.stop()
		if is = strings.Contains(r.Stderr.String(), afpacket.NotMerging); is != (s.Interfaces[0].Merged > 0) {
			t.Errorf("%d merged: %s", s.Interfaces[0].Merged, r.Stderr.String())
		}
		return is
	}
	captured := presentHost(t)
	captured.offloads("gro off lro off", "in", "out")
	if !merged() {
		t.Fatal("nothing is merged without the advice, or the receivers' half suffices")
	}
	captured.offloads("tso off", "in", "out")
	a.offloads("tso off", "eth0")
	b.offloads("tso off", "eth0")
	if merged() {
		t.Error("the advice does not help")
	}
}

// TestLiveAdviceTags follows the advice about VLAN tags in the generic path of AF_XDP: they are beside
// frames, whatever ethtool says of the receiver.
func TestLiveAdviceTags(t *testing.T) {
	t.Parallel()
	needXDP(t)
	clitest.IP(t, "link set left mtu 9000") // no driver takes a program for a peer with longer frames
	clitest.Pair(t, "source", "port") // a bridge between takes tags off, and keeps them beside frames
	for _, command := range []string{"add name bridge type bridge", "set port master bridge", "set left master bridge", "set bridge up"} {
		clitest.IP(t, "link "+command)
	}
	const n = 20
	lost := func(capture string) (duplicates uint64, warned bool) {
		r := startLive(t, "-i", "right", "--capture", capture, "--identity", "frame", "--window", "10s", "--json")
		for id := range uint16(n) {
			clitest.SendTo(t, "source", clitest.Frame{ID: id + 1, TTL: 64, VLAN: 100}, clitest.Frame{ID: id + 1, TTL: 64, VLAN: 101})
		}
		benchlab.Settle()
		s := r.stop()
		return s.Duplicates, strings.Contains(r.Stderr.String(), "which loses VLAN tags that the kernel keeps beside frames: use --capture afpacket")
	}
	check := func(capture string, want uint64) {
		t.Helper()
		if got, warned := lost(capture); got != want || warned != (want > 0) {
			t.Errorf("%s: %d duplicates, want %d; warned %v", capture, got, want, warned)
		}
	}
	check("xdp", n)
	if out, err := exec.Command("ethtool", "-K", "right", "rxvlan", "off").CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out)
	}
	check("xdp", n)
	check("afpacket", 0)
}
