// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab/labtest"
	"github.com/flowdedup/flowdedup/capture"
)

// TestDatagrams delivers datagrams as packets with their sender, whatever the number of
// sockets.
func TestDatagrams(t *testing.T) {
	enter(t)
	labtest.IP(t, "addr add 192.0.2.7/32 dev lo")
	for _, sockets := range []int{1, 3} {
		m, err := Open(Config{Targets: []Target{Datagrams(netip.MustParseAddrPort("[::]:2055"))}, Sockets: sockets, Idle: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for i := range 10 {
			from := &net.UDPAddr{IP: net.ParseIP([]string{"127.0.0.1", "192.0.2.7"}[i%2])}
			conn, err := net.DialUDP("udp", from, &net.UDPAddr{IP: net.ParseIP("192.0.2.7"), Port: 2055})
			if err != nil {
				t.Fatal(err)
			}
			send(t, conn, fmt.Append(nil, "datagram ", i))
			want = append(want, fmt.Sprintf("%v datagram %d", conn.LocalAddr(), i))
			_ = conn.Close()
		}
		var have []string
		for _, g := range readAll(t, m, 0) {
			if g.iface != "udp" || g.time < time.Now().Add(-time.Minute).UnixNano() {
				t.Errorf("%+v", g)
			}
			p := []byte(g.data)
			if p[0] != 0x45 || p[9] != 17 || int(binary.BigEndian.Uint16(p[2:])) != len(p) {
				t.Errorf("%x is no datagram", p)
			}
			from := netip.AddrPortFrom(netip.AddrFrom4([4]byte(p[12:])), binary.BigEndian.Uint16(p[20:]))
			have = append(have, fmt.Sprintf("%v %s", from, p[28:]))
		}
		slices.Sort(want)
		if slices.Sort(have); !slices.Equal(have, want) {
			t.Errorf("%d sockets: %q, want %q", sockets, have, want)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestOpenEach reads each socket by itself: all packets of a sender come to the same socket, in
// its order.
func TestOpenEach(t *testing.T) {
	enter(t)
	const senders, each, sockets = 32, 20, 4
	all, err := OpenEach(Config{Targets: []Target{Datagrams(netip.MustParseAddrPort("127.0.0.1:2055"))}, Sockets: sockets})
	if err != nil || len(all) != sockets {
		t.Fatal(len(all), err)
	}
	var conns []net.Conn
	for range senders {
		conn, err := net.Dial("udp", "127.0.0.1:2055")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conns = append(conns, conn)
	}
	for n := range each {
		for _, conn := range conns {
			send(t, conn, []byte{byte(n)})
		}
	}
	home, next, used := map[uint16]int{}, map[uint16]byte{}, 0
	for i, c := range all {
		got := readAll(t, c, 0)
		for _, g := range got {
			port, number := binary.BigEndian.Uint16([]byte(g.data)[20:]), g.data[28]
			if at, ok := home[port]; ok && at != i {
				t.Errorf("port %d sends to sockets %d and %d", port, at, i)
			}
			if number != next[port] {
				t.Errorf("datagram %d of port %d comes as number %d", number, port, next[port])
			}
			home[port], next[port] = i, number+1
		}
		if len(got) > 0 {
			used++
		}
		if s := c.Stats(); len(s) != 1 || len(s[0].Sockets) != 1 || s[0].Sockets[0].Delivered != uint64(len(got)) || s[0].Sockets[0].Ring != i {
			t.Errorf("socket %d: %+v", i, s)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(home) != senders || used < 2 {
		t.Errorf("%d senders came to %d sockets", len(home), used)
	}
	for port, n := range next {
		if n != each {
			t.Errorf("%d datagrams of port %d", n, port)
		}
	}
	if _, err := OpenEach(Config{}); err == nil {
		t.Error("sockets without a target")
	}
}

// TestDatagramsAllocate takes datagrams without allocating.
func TestDatagramsAllocate(t *testing.T) {
	target := Datagrams(netip.MustParseAddrPort("[::]:2055"))
	o := opener{target: &target, table: newTable([]Target{target}, 1<<16)}
	b, datagram := &capture.Batch{}, make([]byte, 1400)
	senders := []netip.AddrPort{netip.MustParseAddrPort("192.0.2.1:1"), netip.MustParseAddrPort("[2001:db8::1]:2")}
	open := func() {
		b.Reset()
		for _, from := range senders {
			o.open(b, datagram, from, 7)
		}
	}
	open()
	if n := testing.AllocsPerRun(100, open); n > 0 || len(b.Frames) != 2 || len(b.Interfaces) != 1 {
		t.Errorf("%v allocations, %d packets of %d interfaces", n, len(b.Frames), len(b.Interfaces))
	}
}

// TestSilent is silent while a Next waits and nothing has come, and at no other time.
func TestSilent(t *testing.T) {
	enter(t)
	m, err := Open(Config{Targets: []Target{Datagrams(netip.MustParseAddrPort("127.0.0.1:2055"))}})
	if err != nil {
		t.Fatal(err)
	}
	if m.Silent() {
		t.Error("it is silent before it is read")
	}
	conn, err := net.Dial("udp", "127.0.0.1:2055")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	come, next := make(chan int), make(chan bool)
	go func() {
		defer close(come)
		for b := new(capture.Batch); m.Next(b) == nil; <-next {
			come <- len(b.Frames)
		}
	}()
	deliver := func() (n int) {
		for n = <-come; n == 0; n = <-come {
			next <- true
		}
		return n
	}
	for range 3 {
		send(t, conn, []byte("datagram"))
		if n := deliver(); n != 1 || m.Silent() {
			t.Errorf("%d datagrams came, or it is silent while they are delivered", n)
		}
		send(t, conn, []byte("another"))
		next <- true
		if n := deliver(); n != 1 || m.Silent() {
			t.Errorf("%d datagrams came, or it is silent while they are delivered", n)
		}
		next <- true
		for !m.Silent() {
			runtime.Gosched()
		}
	}
	m.Stop()
	for range come {
		next <- true
	}
	if m.Silent() {
		t.Error("it is silent when it has ended")
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// TestGather wakes up once in a delay while few datagrams come, and lets fewer gather in a small buffer.
func TestGather(t *testing.T) {
	enter(t)
	const delay, datagrams = 40 * time.Millisecond, 30
	conf := Config{Targets: []Target{Datagrams(netip.MustParseAddrPort("127.0.0.1:2055"))}, BufferBytes: 1 << 20, Delay: delay}
	m, err := Open(conf)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if conf.BufferBytes *= 4; m.sockets[0].delay != delay || delayOf(m.sockets[0].fd, &conf) != delay/4 {
		t.Errorf("%v, and %v in a quarter of the buffer", m.sockets[0].delay, delayOf(m.sockets[0].fd, &conf))
	}
	conn, err := net.Dial("udp", "127.0.0.1:2055")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	began := time.Now()
	go func() {
		for range datagrams {
			send(t, conn, []byte("datagram"))
			time.Sleep(2 * time.Millisecond)
		}
	}()
	got, batches := 0, 0
	for b := new(capture.Batch); got < datagrams; got += len(b.Frames) {
		if err := m.Next(b); err != nil {
			t.Fatal(err)
		}
		batches++
	}
	if most := 2 + int(time.Since(began)/delay); batches > most {
		t.Errorf("%d batches, want at most %d", batches, most)
	}
}

// TestPick reads the socket that is furthest behind, also after the clock of the host was set back
// behind the packets of a socket.
func TestPick(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		name          string
		first, second time.Duration // how long the last packets of two sockets had waited
		want          int
	}{
		{"the first is behind", 5 * time.Millisecond, time.Millisecond, 0},
		{"the second is behind", time.Millisecond, 5 * time.Millisecond, 1},
		{"set back since a packet of the first", -2 * time.Hour, time.Millisecond, 0},
		{"set forward since a packet of the second", time.Millisecond, 2 * time.Hour, 1},
	} {
		sockets := []*socket{{}, {}}
		m := &Capture{sockets: sockets}
		for i, read := range []struct{ at, lag time.Duration }{{0, c.first}, {2 * time.Millisecond, c.second}} {
			before := now.Add(read.at)
			m.release(sockets[i], true, reachedBy(before, before.Add(-read.lag).UnixNano()), nil)
		}
		if got, _ := m.pick(); got != sockets[c.want] {
			t.Errorf("%s: not read", c.name)
		}
	}
}
