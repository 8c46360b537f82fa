package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// host is the network namespace of a machine that talks to others. It lasts as long as
// the test.
type host struct {
	t    *testing.T
	file *os.File
}

// newHost makes one with no interfaces but its own loopback.
func newHost(t *testing.T) *host {
	t.Helper()
	home := presentHost(t)
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skip("no network namespace: ", err)
	}
	defer home.enter()
	quiet(t)
	ip(t, "link set lo up")
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

// at has the test's thread do something at the host: interfaces that are named there,
// sockets that are opened and programs that are started are the host's.
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
	ip(h.t, "link add "+here+" type veth peer name "+there+" netns "+name)
	ip(h.t, "link set "+here+" up")
	h.at(func() {
		ip(h.t, "link set "+there+" up")
		awaitLink(h.t, there)
	})
	awaitLink(h.t, here)
}

// assign gives addresses to an interface, which may use them at once.
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
		ip(t, "address add dev "+name+" "+address)
	}
}

// serve echoes what comes to an address over TCP and UDP, from sockets of the host.
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

// answer sends each datagram back, from a socket that is not connected: equal ones are
// equal packets then, with the number 0.
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
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
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
		if out, err := exec.Command("ping", strings.Fields(arguments)...).CombinedOutput(); err != nil && exitCodeOf(h.t, err) != 1 {
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
