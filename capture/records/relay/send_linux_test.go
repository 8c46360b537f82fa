// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"bytes"
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab/labtest"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/capture/records/relay"
)

// TestSend sends messages with the own address, and with addresses of exporters.
func TestSend(t *testing.T) {
	labtest.Enter(t)
	if err := os.WriteFile("/proc/sys/net/ipv6/conf/all/disable_ipv6", []byte("0"), 0); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if err := os.WriteFile("/proc/sys/net/ipv6/conf/lo/disable_ipv6", []byte("0"), 0); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, arguments := range []string{"link set lo up", "addr add 192.0.2.1/32 dev lo", "route add default dev lo"} {
		labtest.IP(t, arguments)
	}
	long := bytes.Repeat([]byte("long"), 5000) // more than a packet holds
	for _, c := range []struct {
		collector, from string
		spoof           bool
		want            string // where it comes from; empty for any port of the collector's host
		own             uint64
	}{
		{"192.0.2.1", "203.0.113.9:2055", true, "203.0.113.9:2055", 0},
		{"192.0.2.1", "203.0.113.9:2055", false, "", 0},
		{"192.0.2.1", "[2001:db8::9]:2055", true, "", 1},
		{"192.0.2.1", "", true, "", 1},
		{"::1", "[2001:db8::9]:2056", true, "[2001:db8::9]:2056", 0},
	} {
		collector, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(c.collector)})
		if err != nil {
			t.Skip(err)
		}
		s, err := relay.OpenSender("udp://"+collector.LocalAddr().String(), c.spoof)
		if errors.Is(err, relay.ErrNotPermitted) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		from, _ := netip.ParseAddrPort(c.from)
		for _, message := range [][]byte{[]byte("message"), long, []byte("m")} {
			if err := s.Send(from, message); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, 1<<16)
			if err := collector.SetReadDeadline(time.Now().Add(wait.Timeout)); err != nil {
				t.Fatal(err)
			}
			n, sender, err := collector.ReadFromUDPAddrPort(got)
			if err != nil || !bytes.Equal(got[:n], message) {
				t.Fatalf("%+v: %d bytes from %v: %v", c, n, sender, err)
			}
			if sender = netip.AddrPortFrom(sender.Addr().Unmap(), sender.Port()); c.want != "" && sender.String() != c.want {
				t.Errorf("%+v: from %v", c, sender)
			}
		}
		if n := s.Stats(); n.Sent != 3 || n.Bytes != uint64(len(long))+8 || n.Failed != 0 || n.Own != 3*c.own {
			t.Errorf("%+v: %+v", c, n)
		}
		if err := s.Send(from, make([]byte, 70000)); err == nil || s.Stats().Failed != 1 {
			t.Errorf("%+v: a datagram of 70,000 bytes: %v", c, err)
		}
		if err := errors.Join(s.Close(), collector.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestAddress refuses what names no collector.
func TestAddress(t *testing.T) {
	for _, name := range []string{"", "collector", "udp://", "udp://:2055", "udp://127.0.0.1", "tcp://127.0.0.1:2055", "udp://127.0.0.1:2055/x", "udp://a@127.0.0.1:2055"} {
		if _, err := relay.OpenSender(name, false); !errors.Is(err, relay.ErrAddress) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := relay.OpenSender("udp://127.0.0.1:99999", false); err == nil {
		t.Error("a port of 99999")
	}
}
