// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/labtest"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pipeline"
)

// TestReceive delivers every packet once, those of a sender in order, whatever the number of
// sockets and workers is.
func TestReceive(t *testing.T) {
	for _, c := range []struct{ sockets, workers int }{{1, 0}, {1, 1}, {1, 3}, {4, 0}, {4, 1}, {4, 3}} {
		t.Run(fmt.Sprintf("%d sockets, %d workers", c.sockets, c.workers), func(t *testing.T) {
			enter(t)
			m := capturing(t, Config{Sockets: c.sockets, Idle: time.Second}, "vxlan://127.0.0.1:4789", "geneve://127.0.0.1:6081")
			before := time.Now()
			const flows, each = 8, 500
			var conns []net.Conn
			for range flows {
				conns = append(conns, sender(t, 4789))
			}
			for n := range each {
				for vni, conn := range conns {
					send(t, conn, vxlan(uint32(vni), n, 10+n))
				}
			}
			send(t, sender(t, 6081), append([]byte(geneveLong), frame(5, 0)...))
			all := readAll(t, m, c.workers)
			if len(all) != flows*each+1 {
				t.Fatalf("%d packets", len(all))
			}
			next := map[string]int{}
			points := map[uint32]string{}
			for _, p := range all {
				if point, ok := points[p.point]; ok && point != p.iface {
					t.Errorf("point %d is of %s and %s", p.point, point, p.iface)
				}
				points[p.point] = p.iface
				if p.time < before.UnixNano() || p.time > time.Now().UnixNano() {
					t.Fatalf("time %v", time.Unix(0, p.time))
				}
				if p.iface == "geneve:42" {
					continue
				}
				n := int(binary.BigEndian.Uint32([]byte(p.data[34:])))
				if want := string(vxlan(0, n, 10+n)[8:]); n != next[p.iface] || p.data != want {
					t.Fatalf("%s: packet %d, want %d", p.iface, n, next[p.iface])
				}
				next[p.iface]++
			}
			if len(points) != flows+1 {
				t.Errorf("%d points", len(points))
			}
			checkStats(t, m, flows*each)
		})
	}
}

// TestCoalesced takes apart what the kernel has put together (UDP_GRO).
func TestCoalesced(t *testing.T) {
	enter(t)
	m := capturing(t, Config{Idle: time.Second}, "vxlan://127.0.0.1:4789")
	conn := sender(t, 4789).(*net.UDPConn)
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	one := len(vxlan(7, 0, 100))
	_ = raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_SEGMENT, one) })
	if err != nil {
		t.Skip("no UDP_SEGMENT:", err)
	}
	var all []byte
	for n := range 20 {
		all = append(all, vxlan(7, n, 100)...)
	}
	all = append(all, vxlan(7, 20, 50)...) // the last may be shorter
	send(t, conn, all)
	packets := readAll(t, m, 0)
	if len(packets) != 21 || packets[20].data != string(vxlan(7, 20, 50)[8:]) || packets[5].data != string(vxlan(7, 5, 100)[8:]) {
		t.Fatalf("%d packets", len(packets))
	}
	if s := m.Stats()[0].Sockets[0]; s.Received != 21 || s.Delivered != 21 {
		t.Errorf("%+v", s)
	}
}

// TestTZSP numbers senders.
func TestTZSP(t *testing.T) {
	enter(t)
	labtest.IP(t, "addr add 192.0.2.7/32 dev lo")
	m := capturing(t, Config{Idle: time.Second}, "tzsp://")
	for _, from := range []string{"127.0.0.1", "192.0.2.7"} {
		conn, err := net.DialUDP("udp", &net.UDPAddr{IP: net.ParseIP(from)}, &net.UDPAddr{IP: net.ParseIP("192.0.2.7"), Port: 37008})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		send(t, conn, append([]byte(tzspTagged), frame(40, 0)...))
		send(t, conn, []byte("\x01\x04\x00\x00\x01"))
	}
	all := readAll(t, m, 0)
	if len(all) != 2 || all[0].iface != "tzsp:127.0.0.1" || all[1].iface != "tzsp:192.0.2.7" {
		t.Errorf("%v", all)
	}
	if s := m.Stats()[0]; s.Control != 2 {
		t.Errorf("%+v", s)
	}
}

// TestDrops counts what the kernel drops when nobody reads, and after the end.
func TestDrops(t *testing.T) {
	enter(t)
	m := capturing(t, Config{BufferBytes: 64 << 10, Idle: time.Second}, "vxlan://127.0.0.1:4789")
	conn := sender(t, 4789)
	const sent = 5000
	for n := range sent {
		send(t, conn, vxlan(1, n, 500))
	}
	all := readAll(t, m, 0)
	for range 2 {
		s := m.Stats()[0].Sockets[0]
		if s.Dropped == 0 || s.Dropped+uint64(len(all)) != sent || s.Received != sent || s.Delivered != uint64(len(all)) {
			t.Errorf("%d packets, %+v", len(all), s)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestIdle returns without packets, also while only malformed datagrams come, and ends at
// once.
func TestIdle(t *testing.T) {
	enter(t)
	m := capturing(t, Config{Idle: 10 * time.Millisecond, Sockets: 2, Delay: time.Millisecond}, "vxlan://127.0.0.1:4789")
	conn := sender(t, 4789)
	send(t, conn, []byte("nothing"))
	var b capture.Batch
	for range 3 {
		if err := m.Next(&b); err != nil || len(b.Frames) != 0 {
			t.Fatal(err, len(b.Frames))
		}
	}
	send(t, conn, vxlan(1, 1, 40))
	defer time.AfterFunc(wait.Timeout, m.Stop).Stop()
	for n := 0; n == 0; n = len(b.Frames) {
		if err := m.Next(&b); err != nil {
			t.Fatal(err)
		}
	}
	if len(b.Frames) != 1 {
		t.Fatalf("%d packets", len(b.Frames))
	}
	m.Stop()
	m.Stop()
	for err := error(nil); err != io.EOF; err = m.Next(&b) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if done, _ := m.Offset(); done == 0 {
		t.Error("nothing was read")
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if err := m.Next(&b); err == nil {
		t.Error("a capture that was closed goes on")
	}
}

// TestStopWhileRead ends a run whose workers wait, under a load.
func TestStopWhileRead(t *testing.T) {
	enter(t)
	m := capturing(t, Config{Sockets: 3}, "vxlan://127.0.0.1:4789")
	conn := sender(t, 4789)
	var sending sync.WaitGroup
	stop := make(chan bool)
	sending.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
				_, _ = conn.Write(vxlan(uint32(rand.IntN(10)), n, 100))
			}
		}
	})
	packets, end := 0, sync.OnceFunc(func() { go m.Stop() })
	err := pipeline.New(m).Run(context.Background(), 4, func() pipeline.Task {
		return pipeline.InOrder(func(b *capture.Batch) error {
			const many = 5000
			if packets += len(b.Frames); packets >= many {
				end()
			}
			return nil
		})
	})
	close(stop)
	sending.Wait()
	if err != nil {
		t.Error(packets, err)
	}
}

// TestPortInUse says that others have the port.
func TestPortInUse(t *testing.T) {
	enter(t)
	capturing(t, Config{Sockets: 2}, "vxlan://127.0.0.1:4789")
	for _, sockets := range []int{1, 2} {
		if _, err := Open(Config{Sockets: sockets, Targets: []Target{target(t, "vxlan://")}}); !errors.Is(err, ErrInUse) || !strings.HasPrefix(err.Error(), "vxlan://: the port is in use") {
			t.Errorf("%d sockets: %v", sockets, err)
		}
	}
	if err := lab.IP("link add vx0 type vxlan id 77 dstport 4790"); err != nil {
		t.Skip("no VXLAN interfaces: ", err)
	}
	labtest.IP(t, "link set vx0 up")
	if _, err := Open(Config{Targets: []Target{target(t, "vxlan://:4790")}}); !errors.Is(err, ErrInUse) {
		t.Error(err)
	}
	if _, err := Open(Config{Targets: []Target{target(t, "vxlan://192.0.2.1")}}); !errors.Is(err, unix.EADDRNOTAVAIL) {
		t.Error(err)
	}
}

// TestSteady allocates nothing for packets of known points.
func TestSteady(t *testing.T) {
	o, b := opening(t, "vxlan://", 1000)
	datagram := vxlan(7, 1, 100)
	round := func() {
		b.Reset()
		for range 1000 {
			o.open(b, datagram, netip.AddrPort{}, 1)
		}
	}
	round()
	if n := testing.AllocsPerRun(10, round); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestControlMessages reads what the kernel says, and nothing beyond it.
func TestControlMessages(t *testing.T) {
	message := func(level, kind int32, data []byte) []byte {
		p := make([]byte, unix.CmsgSpace(len(data)))
		head := unix.Cmsghdr{Level: level, Type: kind}
		head.SetLen(unix.CmsgLen(len(data)))
		var buf bytes.Buffer
		if err := binary.Write(&buf, binary.NativeEndian, head); err != nil {
			t.Fatal(err)
		}
		copy(p, buf.Bytes())
		copy(p[unix.CmsgLen(0):], data)
		return p
	}
	clock := binary.NativeEndian.AppendUint64(binary.NativeEndian.AppendUint64(nil, 3), 4)
	size := binary.NativeEndian.AppendUint32(nil, 1200)
	all := append(message(unix.SOL_SOCKET, unix.SO_RXQ_OVFL, size), message(unix.SOL_SOCKET, unix.SO_TIMESTAMPNS_NEW, clock)...)
	all = append(all, message(unix.SOL_UDP, unix.UDP_GRO, size)...)
	if c := parseControl(all); c != (control{3e9 + 4, 1200}) {
		t.Errorf("%+v", c)
	}
	for end := range all {
		parseControl(all[:end:end])
	}
}
