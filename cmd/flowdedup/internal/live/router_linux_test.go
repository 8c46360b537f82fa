// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	benchlab "github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// router makes this host a router between host a behind interface in and host b behind
// out. Both run echo servers.
func router(t *testing.T) (a, b *host) {
	t.Helper()
	clitest.Lab(t)
	a, b = newHost(t), newHost(t)
	for _, side := range []struct {
		*host
		here, number string
	}{{a, "in", "10"}, {b, "out", "20"}} {
		four, six := "10."+side.number+".0.", "fd00:"+side.number+"::"
		side.plug(side.here, "eth0")
		assign(t, side.here, four+"1/24", six+"1/64")
		side.at(func() {
			assign(t, "eth0", four+"2/24", six+"2/64")
			clitest.IP(t, "route add default via "+four+"1")
			clitest.IP(t, "-6 route add default via "+six+"1")
		})
	}
	for _, name := range []string{"ipv4/ip_forward", "ipv6/conf/all/forwarding"} {
		if err := os.WriteFile("/proc/sys/net/"+name, []byte("1"), 0); err != nil {
			t.Skip("no router: ", err)
		}
	}
	for _, address := range farEnds {
		b.serve(address)
	}
	return a, b
}

// farEnds are the servers of a router's b.
var farEnds = []string{"10.20.0.2:7", "[fd00:20::2]:7"}

// converse makes a talk to b in connections, with equal and with fragmented datagrams,
// and to the router, which forwards none of that.
func converse(a *host) {
	for _, far := range farEnds {
		for range 5 {
			a.tcp(far, 1, 100, 100_000)
		}
		a.udp(far, slices.Repeat([]int{80}, 100)...)
		a.udp(far, 3000, 20_000)
		name := strings.Trim(strings.TrimSuffix(far, ":7"), "[]")
		a.ping("-q -c 3 -i 0.01 " + name)
		a.ping("-q -c 1 -W 0.1 -t 1 " + name)
	}
	for _, near := range []string{"10.10.0.1", "fd00:10::1", "10.20.0.1"} {
		a.ping("-q -c 2 -i 0.01 " + near)
	}
}

// forwarded returns how many packets this host's kernel has forwarded.
func forwarded(t *testing.T) uint64 {
	t.Helper()
	four, err4 := os.ReadFile("/proc/thread-self/net/snmp")
	six, err6 := os.ReadFile("/proc/thread-self/net/snmp6")
	if err := errors.Join(err4, err6); err != nil {
		t.Fatal(err)
	}
	counts := map[string]string{}
	var names []string // of IPv4, a line of which is followed by one of numbers
	for line := range strings.Lines(string(four)) {
		words := strings.Fields(line)
		if len(names) == len(words) && names[0] == words[0] {
			for i := range words {
				counts[words[0]+names[i]] = words[i]
			}
		}
		names = words
	}
	for line := range strings.Lines(string(six)) {
		words := strings.Fields(line)
		counts[words[0]] = words[1]
	}
	sum := uint64(0)
	for _, name := range []string{"Ip:ForwDatagrams", "Ip6OutForwDatagrams"} {
		n, err := strconv.ParseUint(counts[name], 10, 64)
		if err != nil {
			t.Fatal(name, err)
		}
		sum += n
	}
	return sum
}

// wire are the offloads that ethtool(8) switches off so that frames are as on a wire.
const wire = "tx off rx off sg off tso off gso off gro off"

// TestLiveRouter captures on both sides of a router while programs talk. Exactly the
// packets that it forwards are copies: with offloads, where packets are long and their
// checksums empty, and without.
func TestLiveRouter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, offloads string
		interfaces     []string
	}{
		{"as it is", "", []string{"in", "out"}},
		{"as on a wire", wire, []string{"in", "out"}},
		{"any", "", []string{"any"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := router(t)
			if c.offloads != "" {
				a.offloads(c.offloads, "eth0")
				b.offloads(c.offloads, "eth0")
				presentHost(t).offloads(c.offloads, "in", "out")
			}
			before := forwarded(t)
			r, inPlace := startAcross(t, c.interfaces), startInPlace(t, c.interfaces)
			converse(a)
			benchlab.Settle()
			n := forwarded(t) - before
			s, other := r.finish(), inPlace.finish()
			if n < 400 || s.Duplicates != n || s.dropped() != 0 || other.Duplicates != n || other.dropped() != 0 {
				t.Errorf("%d packets were forwarded: %+v; in place %+v", n, s, other)
			}
			s.differ(t, "ttl", "mac", "interface")
			if merged := s.Interfaces[0].Coalesced > 0; merged != (c.offloads == "") || merged != (s.Interfaces[0].ChecksumOffloaded > 0) {
				t.Errorf("offloads %q: %+v", c.offloads, s.Interfaces)
			}
			r.checkCopies(&s, routed)
		})
	}
}

// routed reports whether a router turns one sighting of a packet into the other.
func routed(kept, removed *sighting) bool {
	ends := []string{kept.from, kept.to}
	slices.Sort(ends)
	between := slices.Equal(ends, []string{"10.10.0.2", "10.20.0.2"}) || slices.Equal(ends, []string{"fd00:10::2", "fd00:20::2"})
	return between && kept.at != removed.at && kept.addresses != removed.addresses && max(kept.hops, removed.hops) == min(kept.hops, removed.hops)+1
}

// TestLiveRouterChecksums lets the router fill in checksums that the hosts leave empty.
// Copies are found if checksums are not compared.
func TestLiveRouterChecksums(t *testing.T) {
	t.Parallel()
	a, b := router(t)
	for _, h := range []*host{a, b} {
		h.offloads("tso off gso off", "eth0") // else the router cuts packets, too
	}
	presentHost(t).offloads("tx off", "in", "out")
	before := forwarded(t)
	both := []string{"in", "out"}
	whole, without := startAcross(t, both), startAcross(t, both, "--ignore", "l4-checksum")
	converse(a)
	benchlab.Settle()
	n := forwarded(t) - before
	if s := whole.finish(); s.Duplicates > n/4 || s.dropped() != 0 {
		t.Errorf("%d packets were forwarded, compared with checksums: %+v", n, s)
	}
	s := without.finish()
	if s.Duplicates != n || s.dropped() != 0 {
		t.Errorf("%d packets were forwarded: %+v", n, s)
	}
}

// host is the network namespace of another machine. It lasts as long as the test.
type host struct {
	t    *testing.T
	file *os.File
}

// newHost returns a host that has only its loopback interface.
func newHost(t *testing.T) *host {
	t.Helper()
	home := presentHost(t)
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skip("no network namespace: ", err)
	}
	defer home.enter()
	if err := benchlab.Prepare(); err != nil {
		t.Skip(err)
	}
	clitest.IP(t, "link set lo up")
	return presentHost(t)
}

// presentHost returns the namespace that the test's thread is in.
func presentHost(t *testing.T) *host {
	t.Helper()
	file, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() }) // only read
	return &host{t, file}
}

func (h *host) enter() {
	h.t.Helper()
	if err := unix.Setns(int(h.file.Fd()), unix.CLONE_NEWNET); err != nil {
		h.t.Fatal(err)
	}
}

// at runs do in the host's namespace, so that interfaces, sockets and started programs
// belong to the host.
func (h *host) at(do func()) {
	h.t.Helper()
	home := presentHost(h.t)
	h.enter()
	defer home.enter()
	do()
}

// plug connects an interface here with one of the host.
func (h *host) plug(here, there string) {
	h.t.Helper()
	name := fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), h.file.Fd())
	clitest.IP(h.t, "link add "+here+" type veth peer name "+there+" netns "+name)
	clitest.IP(h.t, "link set "+here+" up")
	h.at(func() {
		clitest.IP(h.t, "link set "+there+" up")
		clitest.AwaitLink(h.t, there)
	})
	clitest.AwaitLink(h.t, here)
}

// assign adds addresses to an interface, usable at once.
func assign(t *testing.T, name string, addresses ...string) {
	t.Helper()
	for _, setting := range []string{"accept_dad", "disable_ipv6"} {
		if err := os.WriteFile("/proc/sys/net/ipv6/conf/"+name+"/"+setting, []byte("0"), 0); err != nil {
			t.Skip("no IPv6: ", err)
		}
	}
	for _, address := range addresses {
		if strings.Contains(address, ":") {
			address += " nodad"
		}
		clitest.IP(t, "address add dev "+name+" "+address)
	}
}

// serve echoes what an address receives over TCP and UDP, from sockets of the host.
func (h *host) serve(address string) {
	h.t.Helper()
	h.at(func() {
		l, err := net.Listen("tcp", address)
		if err != nil {
			h.t.Fatal(err)
		}
		datagrams, err := net.ListenPacket("udp", address)
		if err != nil {
			h.t.Fatal(err)
		}
		h.t.Cleanup(func() {
			if err := errors.Join(l.Close(), datagrams.Close()); err != nil {
				h.t.Error(err)
			}
		})
		go accept(l)
		go answer(datagrams)
	})
}

func accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return // closed
		}
		go func() {
			_, _ = io.Copy(conn, conn) // what fails here, the client finds
			_ = conn.Close()
		}()
	}
}

// answer returns each datagram from a socket that is not connected, so that equal
// datagrams become equal packets, with IP ID 0.
func answer(c net.PacketConn) {
	for b := make([]byte, 1<<16); ; {
		n, from, err := c.ReadFrom(b)
		if err != nil {
			return // closed
		}
		_, _ = c.WriteTo(b[:n], from)
	}
}

// tcp sends messages to the server at an address, and waits for each to come back.
func (h *host) tcp(address string, messages ...int) {
	h.t.Helper()
	h.at(func() { echo(h.t, "tcp", address, messages...) })
}

// udp does so with datagrams.
func (h *host) udp(address string, messages ...int) {
	h.t.Helper()
	h.at(func() { echo(h.t, "udp", address, messages...) })
}

func echo(t *testing.T, network, address string, messages ...int) {
	t.Helper()
	conn, err := net.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(wait.Timeout)); err != nil {
		t.Fatal(err)
	}
	for _, n := range messages {
		sent, got := bytes.Repeat([]byte("flowdedup"), n/9+1)[:n], make([]byte, n)
		written := make(chan error, 1)
		go func() {
			_, err := conn.Write(sent)
			written <- err
		}()
		if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, sent) {
			t.Fatalf("an echo over %s of %d bytes to %s: %v", network, n, address, err)
		}
		if err := <-written; err != nil {
			t.Fatal(err)
		}
	}
	// The last packets of a connection are sent before echo returns.
	if stream, ok := conn.(*net.TCPConn); ok {
		if err := stream.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, stream); n != 0 || err != nil {
			t.Fatalf("%d bytes more from %s: %v", n, address, err)
		}
	}
}

// ping asks an address for echoes, if the program is installed.
func (h *host) ping(arguments string) {
	h.t.Helper()
	if _, err := exec.LookPath("ping"); err != nil {
		h.t.Log("without ping(8): ", err)
		return
	}
	h.at(func() {
		// No answer is an answer too: exit code 1.
		if out, err := exec.Command("ping", strings.Fields(arguments)...).CombinedOutput(); err != nil && clitest.ExitCode(h.t, err) != 1 {
			h.t.Fatalf("ping %s: %v: %s", arguments, err, out)
		}
	})
}

// offloads switches offloads of interfaces of the host on or off.
func (h *host) offloads(settings string, names ...string) {
	h.t.Helper()
	if _, err := exec.LookPath("ethtool"); err != nil {
		h.t.Skip("no ethtool(8): ", err)
	}
	h.at(func() {
		for _, name := range names {
			args := append([]string{"-K", name}, strings.Fields(settings)...)
			if out, err := exec.Command("ethtool", args...).CombinedOutput(); err != nil {
				h.t.Fatalf("ethtool %s: %v: %s", args, err, out)
			}
		}
	})
}
