// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// long are frames of 200 bytes, none of which is a copy.
func long(n int) (frames [][]byte) {
	for i := range n {
		frames = append(frames, append(clitest.Frame{ID: uint16(i), Src: 1, TTL: 64}.Bytes(), make([]byte, 140)...))
	}
	return frames
}

// sendLost sends frames that the other end does not take, which the kernel reports, and does not try again.
func sendLost(t *testing.T, name string, frames [][]byte) {
	t.Helper()
	at, err := net.InterfaceByName(name)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for _, f := range frames {
		if err := unix.Sendto(fd, f, 0, &unix.SockaddrLinklayer{Ifindex: at.Index}); err != nil && err != unix.ENOBUFS {
			t.Fatal(err)
		}
	}
}

// TestLiveCard counts what an interface loses before the capture, and only while the run captures.
func TestLiveCard(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right")
	clitest.IP(t, "link set lo up")        // for HTTP
	clitest.IP(t, "link set left mtu 100") // the kernel drops longer frames that arrive
	sendLost(t, "right", long(3))
	r := startProgram(t, "-i", "left", "--http", "127.0.0.1:0", "--json")
	address := r.address()
	r.Event(" started ")
	sendLost(t, "right", long(7))
	clitest.SendTo(t, "right", burst(10, func(*clitest.Frame) {})...)
	r.Event(`lost packets before the capture interface=left ring=0 dropped=7 dropped_total=7 counters="rx_dropped 7"`)
	wait.Until(t, "a metric", func() bool {
		_, body := ask(t, address, "localhost", "/metrics")
		return strings.Contains(body, `flowdedup_card_dropped_total{interface="left"} 7`)
	})
	s := r.finish()
	if i := s.Interfaces[0]; s.PacketsIn != 20 || i.Received != 20 || i.Dropped != 0 || i.CardDropped != 7 || len(i.CardCounters) != 1 || i.CardCounters["rx_dropped"] != 7 {
		t.Errorf("%+v", s)
	}
	warning := "left: the network card or the host lost at least 7 packets before the capture: rx_dropped 7"
	if text := r.Stderr.String(); !strings.Contains(text, "drops=7") || !strings.Contains(text, warning) {
		t.Error(text)
	}

	r = startLive(t, "-i", "left")
	sendLost(t, "right", long(4))
	if r.signal(syscall.SIGINT); r.Wait() != 130 {
		t.Error(r.Stderr.String())
	}
	if text := r.Stdout.String(); !strings.Contains(text, "0 received, at least 4 lost before by the network card or the host (rx_dropped 4)\n") {
		t.Error(text)
	}
}

// TestLiveCardNot captures tagged packets that the host itself drops, as it has no use for them: these
// are not lost.
func TestLiveCardNot(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right")
	r := startLive(t, "-i", "left", "--identity", "frame", "--json")
	var frames [][]byte
	for i := range 50 {
		f := clitest.Frame{ID: uint16(i), TTL: 64, VLAN: 7}.Bytes()
		f[16], f[17] = 0x88, 0xB5 // an ethertype for experiments
		frames = append(frames, f)
	}
	clitest.SendBytes(t, "right", frames...)
	s := r.finish()
	if i := s.Interfaces[0]; s.PacketsIn != 50 || i.CardDropped != 0 {
		t.Errorf("%+v", s)
	}
}

// TestLiveMoved says that an interface was moved to another network namespace, and goes on when it comes
// back.
func TestLiveMoved(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right")
	other := exec.Command("sleep", "600")
	other.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if err := other.Start(); err != nil {
		t.Skip(err)
	}
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	pid := strconv.Itoa(other.Process.Pid)
	back := func() {
		t.Helper()
		here := fmt.Sprintf("/proc/%d/task/%d/ns/net", os.Getpid(), unix.Gettid())
		move := exec.Command("nsenter", "--net=/proc/"+pid+"/ns/net", "ip", "link", "set", "left", "netns", here)
		if out, err := move.CombinedOutput(); err != nil {
			t.Skipf("%v: %s", err, out)
		}
		clitest.IP(t, "link set left up")
	}
	const moved = "the interface was moved to another network namespace"
	r := startLive(t, "-i", "left", "--json")
	clitest.IP(t, "link set left netns "+pid)
	if code := r.Wait(); code != 1 || !strings.Contains(r.Stderr.String(), "left: the interface was removed: "+moved) {
		t.Errorf("exit code %d\n%s", code, r.Stderr.String())
	}
	back()
	r = startLive(t, "-i", "left", "--json", "--wait")
	clitest.IP(t, "link set left netns "+pid)
	r.Event(`down or gone interface=left ring=0 reason="` + moved)
	back()
	r.Event("is back")
	clitest.SendTo(t, "right", burst(10, func(*clitest.Frame) {})...)
	if s := r.finish(); s.PacketsIn != 20 || s.Interfaces[0].Outages != 1 {
		t.Errorf("%+v\n%s", s, r.Stderr.String())
	}
}

// TestLiveXDPFollow captures from queues that come later, and longer frames of a larger MTU.
func TestLiveXDPFollow(t *testing.T) {
	t.Parallel()
	needXDP(t)
	clitest.IP(t, "link del left")
	clitest.IP(t, "link add left numrxqueues 2 numtxqueues 2 type veth peer name right numrxqueues 2 numtxqueues 2")
	channels := func(n string) {
		t.Helper()
		for _, name := range []string{"left", "right"} {
			out, err := exec.Command("ethtool", "-L", name, "rx", n, "tx", n).CombinedOutput()
			if err != nil {
				t.Skipf("%v: %s", err, out)
			}
		}
	}
	channels("1")
	clitest.IP(t, "link set left up")
	clitest.IP(t, "link set right up")
	r := startLive(t, "-i", "left", "--json")
	clitest.SendBytes(t, "right", long(100)...)
	channels("2")
	r.Event("2 receive queues instead of 1")
	clitest.IP(t, "link set left mtu 3000")
	clitest.IP(t, "link set right mtu 3000")
	r.Event("its MTU is now 3000")
	frames := long(100)
	for i := range frames {
		frames[i][34] = byte(i) // the source port chooses the queue
		frames[i] = append(frames[i], make([]byte, 2600)...)
	}
	clitest.SendBytes(t, "right", frames...)
	s := r.finish()
	if i := s.Interfaces[0]; s.PacketsIn != 200 || i.Received != 200 || i.Dropped != 0 || i.CardDropped != 0 {
		t.Errorf("%+v", s)
	}
}
