package mirror

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
)

// TestDatagrams delivers datagrams as packets that tell their sender, whatever the number of
// sockets.
func TestDatagrams(t *testing.T) {
	enter(t)
	ip(t, "addr add 192.0.2.7/32 dev lo")
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
