// SPDX-License-Identifier: Apache-2.0

package analyzers_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// sighting is how a point sees a packet: what it makes of an Ethernet frame.
type sighting func(frame []byte) []byte

// seen writes a capture in which each IPv4 packet of another capture comes once for each
// sighting, a microsecond apart, and returns how many packets there were.
func (k *kitchen) seen(from, to string, by ...sighting) (packets int) {
	k.t.Helper()
	text, err := os.ReadFile(filepath.Join(capturesDir, from))
	if err != nil {
		k.t.Fatal(err)
	}
	const fileHead, recordHead = 24, 16
	out, at := slices.Clone(text[:fileHead]), time.Unix(1_700_000_000, 0)
	for i := fileHead; i+recordHead <= len(text); {
		frame := text[i+recordHead:][:binary.LittleEndian.Uint32(text[i+8:])]
		i += recordHead + len(frame)
		if binary.BigEndian.Uint16(frame[12:]) != 0x0800 {
			continue
		}
		packets++
		at = at.Add(10 * time.Millisecond)
		for n, see := range by {
			made := see(slices.Clone(frame))
			head := []uint32{uint32(at.Unix()), uint32(at.Nanosecond()/1000 + n), uint32(len(made)), uint32(len(made))}
			for _, word := range head {
				out = binary.LittleEndian.AppendUint32(out, word)
			}
			out = append(out, made...)
		}
	}
	k.write(to, string(out))
	return packets
}

// plain is a frame as the host sends it.
func plain(frame []byte) []byte { return frame }

// routed is a frame behind a router: other hardware addresses, one hop less.
func routed(frame []byte) []byte {
	copy(frame, "\x02\x00\x00\x00\x00\x0a\x02\x00\x00\x00\x00\x0b")
	ip := frame[14:]
	ip[8]--
	sum := uint32(binary.BigEndian.Uint16(ip[10:])) + 0x0100
	binary.BigEndian.PutUint16(ip[10:], uint16(sum+sum>>16))
	return frame
}

// over puts a payload into UDP between two ends of a tunnel.
func over(port uint16, header string, payload []byte) []byte {
	body := append([]byte(header), payload...)
	outer := append([]byte("\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02\x08\x00"),
		"\x45\x00\x00\x00\x00\x00\x40\x00\x40\x11\x00\x00\xc0\x00\x02\x01\xc0\x00\x02\x02"...)
	binary.BigEndian.PutUint16(outer[16:], uint16(28+len(body)))
	sum := uint32(0)
	for i := 14; i < 34; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(outer[i:]))
	}
	binary.BigEndian.PutUint16(outer[24:], ^uint16(sum+sum>>16))
	outer = binary.BigEndian.AppendUint16(outer, 49152)
	outer = binary.BigEndian.AppendUint16(outer, port)
	outer = binary.BigEndian.AppendUint16(outer, uint16(8+len(body)))
	return append(append(outer, 0, 0), body...)
}

// vxlan carries what an inner sighting sees, with a VNI.
func vxlan(vni byte, inner sighting) sighting {
	return func(frame []byte) []byte {
		return over(4789, "\x08\x00\x00\x00\x00\x00"+string(vni)+"\x00", inner(frame))
	}
}

// geneve carries Ethernet.
func geneve(frame []byte) []byte { return over(6081, "\x00\x00\x65\x58\x00\x00\x01\x00", frame) }

// gtp carries the datagram with the number of a tunnel, as on N3 and N9.
func gtp(teid byte) sighting {
	return func(frame []byte) []byte {
		datagram := frame[14:]
		header := binary.BigEndian.AppendUint16([]byte{0x30, 0xff}, uint16(len(datagram)))
		return over(2152, string(append(header, 0, 0, 0, teid)), datagram)
	}
}

// pppoe carries the datagram in a session of PPPoE.
func pppoe(frame []byte) []byte {
	datagram := frame[14:]
	head := append(slices.Clone(frame[:12]), 0x88, 0x64, 0x11, 0, 0, 7)
	head = binary.BigEndian.AppendUint16(head, uint16(2+len(datagram)))
	return append(append(head, 0, 0x21), datagram...)
}

// TestTunnels runs the recipe for EVPN, GENEVE and mobile networks: of each packet one
// sighting stays, without its tunnel where that is asked for, and of N6 where it was seen.
func TestTunnels(t *testing.T) {
	k := newKitchen(t, "tcpdump")
	packets := k.seen("router-out.pcap", "fabric.pcap", vxlan(10, plain), geneve, vxlan(99, routed), gtp(1), gtp(2), routed)
	k.cook(blocks(t, "## EVPN, GENEVE and mobile networks")[0])
	count := func(file, filter string) int {
		return strings.Count(k.cook("tcpdump -n -t -q -r "+file+" '"+filter+"' 2>/dev/null"), "\n")
	}
	tunnels := "udp port 4789 or udp port 6081 or udp port 2152"
	for _, c := range []struct {
		file, filter string
		want         int
	}{
		{"once.pcapng", "ip", packets}, {"plain.pcap", "ip", packets}, {"plain.pcap", tunnels, 0},
		{"n6.pcapng", "ip", packets}, {"n6.pcapng", "udp port 2152", 0}, {"fabric.pcap", "ip", 6 * packets},
	} {
		if got := count(c.file, c.filter); got != c.want || packets < 100 {
			t.Errorf("%s has %d packets of %q, want %d", c.file, got, c.filter, c.want)
		}
	}
}

// TestPPPoE runs the recipe: a program that knows no PPPoE finds the packets, each once.
func TestPPPoE(t *testing.T) {
	k := newKitchen(t, "tcpdump")
	packets := k.seen("router-out.pcap", "pppoe.pcap", pppoe, pppoe)
	k.cook(strings.Split(blocks(t, "## PPPoE mirrors")[0], "\n")[0])
	if got := strings.Count(k.cook("tcpdump -n -t -q -r plain.pcap ip 2>/dev/null"), "\n"); got != packets || packets < 100 {
		t.Errorf("%d packets of IP behind Ethernet, want %d", got, packets)
	}
	if got := k.cook("tcpdump -n -t -q -r pppoe.pcap ip 2>/dev/null"); got != "" {
		t.Errorf("before: %s", got)
	}
}
