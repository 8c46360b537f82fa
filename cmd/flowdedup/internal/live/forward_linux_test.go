// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	benchlab "github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// address returns the address of a run with --listen, from what the run logs before it
// captures.
func (r *liveRun) address() string {
	r.T.Helper()
	_, text, _ := strings.Cut(r.Event(" listening "), "url=")
	at, err := url.Parse(text)
	if err != nil || at.Port() == "" || at.Port() == "0" {
		r.T.Fatalf("it listens at %q: %v", text, err)
	}
	return at.Host
}

// ask sends a request to a run from the test's own thread, which is in its namespace.
func ask(t *testing.T, address, host, path string) (code int, body string) {
	t.Helper()
	c, err := net.DialTimeout("tcp4", address, wait.Timeout)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(all)
}

// statusTime returns when the state was taken that a run shows.
func statusTime(t *testing.T, address string) string {
	t.Helper()
	_, body := ask(t, address, "localhost", "/metrics")
	_, rest, _ := strings.Cut(body, "\nflowdedup_last_status_timestamp_seconds ")
	at, _, ok := strings.Cut(rest, "\n")
	if !ok {
		t.Fatal("no time in ", body)
	}
	return at
}

// awaitHealth waits until a run is healthy, or fails for a reason.
func awaitHealth(t *testing.T, address, reason string) {
	t.Helper()
	wait.Until(t, "health: "+reason, func() bool {
		code, body := ask(t, address, "localhost", "/healthz")
		return (code == http.StatusOK) == (reason == "") && strings.Contains(body, reason)
	})
}

// forwarded returns how many packets a run sent or failed to send.
func (s *liveSummary) forwarded(reasons ...string) (n uint64) {
	for _, reason := range reasons {
		n += uint64(s.Forwards[0][reason].(float64))
	}
	return n
}

// TestLiveForwardOutage takes the output interface down and up, and removes and recreates
// it while packets flow. A run without privileges recovers too. An output works again
// with the first packet that is sent, and not sooner.
func TestLiveForwardOutage(t *testing.T) {
	type outage struct{ away, back, why string }
	clitest.AtOnce(t, map[string]outage{
		"down":    {"link set out down", "link set out up", "the interface is down"},
		"removed": {"link del out", "link add out type veth peer name sensor", "no such interface"},
	}, func(t *testing.T, c outage) {
		clitest.Lab(t, "left right", "out sensor")
		clitest.IP(t, "link set lo up")
		r := startProgram(t, "-i", "left", "--forward", "out", "--wait", "--user", "65534", "--http", "0", "--json", "--window", "1ms")
		address := r.address()
		r.Event(" started ")
		id := uint16(0)
		next := func() []clitest.Frame {
			id++
			return []clitest.Frame{{ID: id, TTL: 64}, {ID: id, Src: 1, TTL: 64}}
		}
		clitest.SendTo(t, "right", next()...)
		awaitHealth(t, address, "")
		clitest.IP(t, c.away)
		clitest.SendTo(t, "right", next()...)
		r.Event("output failed")
		awaitHealth(t, address, c.why)
		clitest.IP(t, c.back)
		clitest.IP(t, "link set out up")
		clitest.IP(t, "link set sensor up")
		// The run looks at the clock ten times between two states, and nothing is to be sent.
		for last := range 2 {
			before := statusTime(t, address)
			wait.Until(t, fmt.Sprint("state ", last), func() bool { return statusTime(t, address) != before })
		}
		awaitHealth(t, address, c.why)
		awaitOutput(t, r, func() { clitest.SendTo(t, "right", next()...) })
		benchlab.Settle()
		r.signal(syscall.SIGTERM)
		s := r.end(1)
		if s.PacketsOut != 2*uint64(id) || s.forwarded("sent", "lost", "refused") != s.PacketsOut || s.forwarded("lost") < 2 || s.forwarded("sent") == 0 {
			t.Errorf("%d packets: %+v", id, s)
		}
		if stderr := r.Stderr.String(); strings.Count(stderr, "works again") != 1 || strings.Count(stderr, "output failed output=out") != 1 ||
			!strings.Contains(stderr, " until the output worked again, after: out: "+c.why) || strings.Contains(stderr, "available: ") {
			t.Errorf("told:\n%s", stderr)
		}
	})
}

// TestLiveNotThereYet starts before its interfaces are there. A filter and conditions work on them
// later.
func TestLiveNotThereYet(t *testing.T) {
	t.Parallel()
	clitest.Lab(t)
	file := t.TempDir() + "/kept.pcapng"
	r := startLive(t, "-i", "left", "--forward", "out", "-w", file, "--wait", "--only", "udp", "--json", "--window", "1m", "udp")
	r.Event(`interface is not there yet interface=left ring=0 error="left: no such interface; available: lo, `)
	r.Event("output failed")
	clitest.Pair(t, "left", "right")
	r.Event("is back")
	id := uint16(0)
	sendTwice := func() {
		id++
		clitest.SendTo(t, "right", clitest.Frame{ID: id, TTL: 64}, clitest.Frame{ID: id, TTL: 64})
	}
	sendTwice()
	wait.Until(t, "a packet in the file", func() bool { return packetsIn(file) == 1 })
	clitest.Pair(t, "out", "sensor")
	awaitOutput(t, r, sendTwice)
	benchlab.Settle()
	r.signal(syscall.SIGTERM)
	s := r.end(cli.ExitFailed)
	if n := uint64(id); s.PacketsIn != 2*n || s.Duplicates != n || s.forwarded("sent", "lost", "refused") != n || s.forwarded("sent") == 0 || s.forwarded("lost") == 0 || packetsIn(file) != int(n) || s.Interfaces[0].Outages != 0 {
		t.Errorf("%d packets: %+v", id, s)
	}
	if stderr := r.Stderr.String(); !strings.Contains(stderr, "until the output worked again, after: out: no such interface") {
		t.Error(stderr)
	}
}

// TestLiveForwardEnds takes the interface down without --wait. Another output goes on,
// and later packets for the interface count as lost.
func TestLiveForwardEnds(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right", "out sensor")
	r := startLive(t, "-i", "left", "--forward", "out", "-w", t.TempDir()+"/kept.pcapng", "--json", "--window", "1ms")
	clitest.IP(t, "link set out down")
	clitest.SendTo(t, "right", clitest.Frame{ID: 1, TTL: 64})
	r.Event("output failed")
	const n = 20
	for id := range uint16(n) {
		clitest.SendTo(t, "right", clitest.Frame{ID: 2 + id, TTL: 64})
	}
	benchlab.Settle()
	r.signal(syscall.SIGTERM)
	if s := r.end(1); s.PacketsOut != n+1 || s.forwarded("lost") != n+1 || s.forwarded("sent", "refused", "truncated", "too_long") != 0 {
		t.Errorf("%+v", s)
	}
}

// TestLiveForwardEndsAll takes the only output down, which ends the run. Packets that were captured
// until then count as lost.
func TestLiveForwardEndsAll(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right", "out sensor")
	r := startLive(t, "-i", "left", "--forward", "out", "--window", "1ms", "--json")
	r.signal(syscall.SIGSTOP)
	clitest.IP(t, "link set out down")
	flood(t, "right", 1<<14)
	benchlab.Settle()
	r.signal(syscall.SIGCONT)
	s := r.end(cli.ExitFailed)
	if s.PacketsIn+s.dropped() != 1<<14 || s.Unprocessed != 0 || s.forwarded("lost") != s.PacketsOut {
		t.Errorf("%+v", s)
	}
	if want := fmt.Sprintf("flowdedup: out: the interface is down: ip link set out up (%d packets lost)\n", s.PacketsOut); !strings.Contains(r.Stderr.String(), want) {
		t.Errorf("no %q in\n%s", want, r.Stderr.String())
	}
}

// TestLiveForwardMTU forwards packets that are too long for the interface.
func TestLiveForwardMTU(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right", "out sensor")
	clitest.IP(t, "link set lo up")
	clitest.IP(t, "link set out mtu 1400")
	r := startProgram(t, "-i", "left", "--forward", "out", "--http", "0", "--json", "--window", "1ms")
	address := r.address()
	r.Event(" started ")
	const n = 50
	for i := range n {
		long := append(clitest.Frame{ID: uint16(i), Src: 1, TTL: 64}.Bytes(), make([]byte, 1454)...)
		clitest.SendBytes(t, "right", clitest.Frame{ID: uint16(i), TTL: 64}.Bytes(), long)
	}
	r.Event("longer than the interface can carry")
	awaitHealth(t, address, "packets longer than the interface can carry")
	s := r.finish()
	if s.forwarded("sent") != n || s.forwarded("too_long") != n {
		t.Errorf("%+v", s)
	}
	stderr := r.Stderr.String()
	for text, want := range map[string]int{"its MTU is 1400: ip link set out mtu 1500": 1, "out: 50 of 100 packets were not sent": 1} {
		if got := strings.Count(stderr, text); got != want {
			t.Errorf("%q is told %d times in\n%s", text, got, stderr)
		}
	}
}

// TestLiveListens checks that the run logs its address, and answers to no other host
// name.
func TestLiveListens(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right")
	clitest.IP(t, "link set lo up")
	r := startProgram(t, "-i", "left", "--http", ":0", "--json")
	address := r.address()
	r.Event(" started ")
	awaitHealth(t, address, "")
	for host, want := range map[string]int{address: 200, "localhost": 200, "rebound.example.com": 421} {
		for _, path := range []string{"/", "/metrics", "/healthz"} {
			if code, body := ask(t, address, host, path); code != want {
				t.Errorf("%s of %s: %d %s", path, host, code, body)
			}
		}
	}
	r.stop()
}

// TestLiveNotifies checks that the service manager learns, also from another user, that
// the run is ready, alive and ending.
func TestLiveNotifies(t *testing.T) {
	clitest.Lab(t, "left right")
	name := t.TempDir() + "/notify"
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	t.Setenv("NOTIFY_SOCKET", name)
	hear := func(want string) {
		t.Helper()
		for buf := make([]byte, 4096); ; {
			if err := manager.SetReadDeadline(time.Now().Add(wait.Timeout)); err != nil {
				t.Fatal(err)
			}
			n, err := manager.Read(buf)
			if err != nil {
				t.Fatalf("no %s: %v", want, err)
			}
			if text := string(buf[:n]); !strings.Contains(text, "WATCHDOG=1\n") {
				t.Errorf("%q", text)
			} else if strings.Contains(text, want) {
				return
			}
		}
	}
	r := startLive(t, "-i", "left", "--user", "65534", "--json")
	hear("READY=1")
	hear("STATUS=0 packets")
	r.stop()
	hear("STOPPING=1")
}

// awaitOutput sends packets until a run says that its output works again.
func awaitOutput(t *testing.T, r *liveRun, send func()) {
	t.Helper()
	wait.Until(t, "the output to work again", func() bool {
		send()
		select {
		case line := <-r.Lines:
			return strings.Contains(line, "output works again")
		default:
			return false
		}
	})
}
