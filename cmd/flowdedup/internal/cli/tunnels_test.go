// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// carriedPackets is how many packets each of the tests below sends.
const carriedPackets = 20

// serialize returns a packet of layers, with lengths and checksums.
func serialize(t *testing.T, all ...gopacket.SerializableLayer) []byte {
	t.Helper()
	buf := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, all...); err != nil {
		t.Fatal(err)
	}
	return slices.Clone(buf.Bytes())
}

// carriedPacket is packet number n that tunnels carry, with and without its Ethernet header.
func carriedPacket(t *testing.T, n int) (frame, packet []byte) {
	ip := &layers.IPv4{Version: 4, TTL: 64, Id: uint16(n + 1), Protocol: layers.IPProtocolUDP, SrcIP: []byte{192, 0, 2, 1}, DstIP: []byte{198, 51, 100, 2}}
	udp := &layers.UDP{SrcPort: 1000, DstPort: 2000}
	if err := udp.SetNetworkLayerForChecksum(ip); err != nil {
		t.Fatal(err)
	}
	packet = serialize(t, ip, udp, gopacket.Payload(fmt.Sprintf("packet %d", n)))
	return overEthernet(packet, 0x0800), packet
}

func overEthernet(packet []byte, typ uint16) []byte {
	return slices.Concat([]byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1}, binary.BigEndian.AppendUint16(nil, typ), packet)
}

// outer puts a payload into IPv4 between two routers.
func outer(t *testing.T, proto layers.IPProtocol, payload ...[]byte) []byte {
	ip := &layers.IPv4{Version: 4, TTL: 9, Id: 77, Protocol: proto, SrcIP: []byte{203, 0, 113, 1}, DstIP: []byte{203, 0, 113, 2}}
	return overEthernet(serialize(t, ip, gopacket.Payload(slices.Concat(payload...))), 0x0800)
}

func outerUDP(t *testing.T, port uint16, payload ...[]byte) []byte {
	content := slices.Concat(payload...)
	udp := binary.BigEndian.AppendUint16([]byte{0xc3, 0x50}, port)
	udp = binary.BigEndian.AppendUint16(udp, uint16(8+len(content)))
	return outer(t, layers.IPProtocolUDP, udp, []byte{0, 0}, content)
}

// tunnelsOf returns a packet in each kind of tunnel.
func tunnelsOf(t *testing.T, frame, packet []byte) map[string][]byte {
	text := func(s string) []byte { return []byte(s) }
	length := binary.BigEndian.AppendUint16(nil, uint16(len(frame)))
	label := text("\x00\x01\x31\xff")
	wifi := slices.Concat(text("\x00\x00\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02\x02\x00\x00\x00\x00\x03\x10\x00\xaa\xaa\x03\x00\x00\x00\x08\x00"), packet)
	ordered, exchanged := slices.Concat(text("\x08\x01"), wifi), slices.Concat(text("\x01\x08"), wifi)
	ip6 := serialize(t, &layers.IPv6{Version: 6, HopLimit: 9, NextHeader: 4, SrcIP: []byte{0x20, 1, 15: 1}, DstIP: []byte{0x20, 1, 15: 2}}, gopacket.Payload(packet))
	srv6 := &layers.IPv6{Version: 6, HopLimit: 9, NextHeader: 143, SrcIP: make([]byte, 16), DstIP: []byte{0xfc, 15: 1}}
	return map[string][]byte{
		"tzsp":        outerUDP(t, 37008, text("\x01\x00\x00\x01\x0a\x01\xc8\x01"), frame),
		"l2tp":        outerUDP(t, 1701, text("\x00\x02\x00\x01\x00\x01\xff\x03\x00\x21"), packet),
		"mpls-in-udp": outerUDP(t, 6635, label, packet),
		"mpls-in-ip":  outer(t, 137, label, packet),
		"etherip":     outer(t, 97, text("\x30\x00"), frame),
		"eoip":        outer(t, 47, text("\x20\x01\x64\x00"), length, text("\x05\x00"), frame),
		"wccp":        outer(t, 47, text("\x00\x00\x88\x3e\x00\x05\x00\x01"), packet),
		"jmirror":     outerUDP(t, 30030, text("\x00\x00\x00\x01\x00\x00\x00\x02"), packet),
		"lisp":        outerUDP(t, 4341, make([]byte, 8), packet),
		"ah":          outer(t, 51, text("\x04\x04\x00\x00"), make([]byte, 20), packet),
		"srv6":        overEthernet(serialize(t, srv6, gopacket.Payload(frame)), 0x86dd),
		"capwap":      outerUDP(t, 5247, text("\x00\x10\x42\x00\x00\x00\x00\x00"), frame),
		"capwap-wifi": outerUDP(t, 5247, text("\x00\x10\x43\x00\x00\x00\x00\x00"), exchanged),
		"lwapp":       outerUDP(t, 12222, text("\x00\x00"), binary.BigEndian.AppendUint16(nil, uint16(len(ordered))), text("\x2b\x14"), ordered),
		"teredo":      outerUDP(t, 3544, text("\x00\x00\xef\xbe\xf5\xff\xff\xfe"), ip6),
		"l2tpv3":      outer(t, 115, text("\x00\x00\x00\x4dcookie42"), frame),
		"l2tpv3-udp":  outerUDP(t, 1701, text("\x00\x03\x00\x00\x00\x00\x00\x4d"), frame),
		"gue":         outerUDP(t, 6080, text("\x00\x04\x00\x00"), packet),
		"mirror":      outer(t, 47, text("\x00\x00\x89\x49"), make([]byte, 22), frame),
		"told-vxlan":  outerUDP(t, 10800, text("\x00\x00\x00\x00\x00\x00\x07\x00"), frame),
		"told-skip":   outerUDP(t, 5045, text("of 13 bytes.."), packet),
		"told-other":  outerUDP(t, 4789, text("\x00\x00\x65\x58\x00\x00\x07\x00"), frame),
		"vxlan":       outerUDP(t, 4789, text("\x00\x00\x00\x00\x00\x00\x07\x00"), frame),
	}
}

// told are the flags with which tunnels are opened.
var told = map[string][]string{
	"told-vxlan": {"--tunnel", "10800=vxlan"}, "told-skip": {"--tunnel", "9=none,5045=skip:13"}, "told-other": {"--tunnel", "4789=geneve"},
}

// unknownToTshark are tunnels that tshark 4.0 does not open by itself.
var unknownToTshark = []string{"l2tpv3", "l2tpv3-udp", "gue", "mirror", "told-vxlan", "told-skip", "told-other"}

// writeEvery writes frames to a file of a link type: the first at an offset, then a frame each
// step.
func writeEvery(t *testing.T, name string, link layers.LinkType, offset, step time.Duration, frames ...[]byte) string {
	t.Helper()
	p := clitest.NewPcap(uint32(link))
	for i, f := range frames {
		p.Add(1_700_000_000e9+int64(offset)+int64(i)*int64(step), f)
	}
	return p.Write(t, name)
}

// alternate returns the frames of two slices in turn.
func alternate(a, b [][]byte) (all [][]byte) {
	for i := range a {
		all = append(all, a[i], b[i])
	}
	return all
}

// TestInnerOfTunnels lets every command find the packets in tunnels that it finds outside of
// them.
func TestInnerOfTunnels(t *testing.T) {
	var plain [][]byte
	inside := map[string][][]byte{}
	for n := range carriedPackets {
		frame, packet := carriedPacket(t, n)
		plain = append(plain, frame)
		for name, data := range tunnelsOf(t, frame, packet) {
			inside[name] = append(inside[name], data)
		}
	}
	without := writeEvery(t, "plain.pcap", 1, 0, 10*time.Millisecond, plain...)
	for name, frames := range inside {
		t.Run(name, func(t *testing.T) {
			told := told[name]
			in := writeEvery(t, name+".pcap", 1, 200*time.Microsecond, 10*time.Millisecond, frames...)
			out := filepath.Join(t.TempDir(), "out.pcapng")
			both := writeEvery(t, "both.pcap", 1, 0, 200*time.Microsecond, alternate(plain, frames)...)
			if r := clitest.Cleaned(t, out, out+".removed", []string{both}, append(told, "--identity", "inner")); r.Duplicates != carriedPackets || r.PacketsIn != 2*carriedPackets {
				t.Errorf("dedup: %+v", r)
			}
			if r := clitest.RunDedup(t, cli.ExitDone, without, in); r.Duplicates != 0 {
				t.Errorf("dedup without opening: %+v", r)
			}
			if r, _ := clitest.RunCompare(t, cli.ExitDone, append(told, "--identity", "inner", without, in)...); r.Both != carriedPackets {
				t.Errorf("compare: %+v", r)
			}
			for args, want := range map[string]string{strings.Join(append(told, "--inner"), " "): `"distinct":1,`, "": `"distinct":2,`} {
				text, errs, code := clitest.Run(append([]string{"distinct", "--json", "--of", "src", without, in}, strings.Fields(args)...)...)
				if code != cli.ExitDone || !strings.Contains(text[strings.LastIndex(text, `"all"`):], want) {
					t.Errorf("distinct %s: exit code %d, %s%s", args, code, text, errs)
				}
			}
			advised := strings.Join(append([]string{"flowdedup dedup --identity inner"}, told...), ".*")
			if text, errs, code := clitest.Run(append([]string{"inspect", "--json", without, in}, told...)...); code != cli.ExitDone || !regexp.MustCompile(advised).MatchString(text) {
				t.Errorf("inspect: exit code %d, %s%s", code, text, errs)
			}
			clitest.RunDedup(t, cli.ExitDone, append(told, in, "--strip", "tunnel", "-w", out)...)
			if r, _ := clitest.RunCompare(t, cli.ExitDone, without, out); r.Both != carriedPackets {
				t.Errorf("stripped: %+v", r)
			}
		})
	}
	checkInside(t, inside)
}

// checkInside checks that tshark finds the packets in each tunnel too. It starts slowly: all
// tunnels are in one capture.
func checkInside(t *testing.T, inside map[string][][]byte) {
	t.Helper()
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Log("not compared with tshark, which is not installed")
		return
	}
	names, frames := slices.Sorted(maps.Keys(inside)), [][]byte{}
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(unknownToTshark, name) })
	for _, name := range names {
		frames = append(frames, inside[name]...)
	}
	capture := writeEvery(t, "tunnels.pcap", 1, 0, time.Millisecond, frames...)
	text, err := exec.Command("tshark", "-r", capture, "-Y", "ip.src == 192.0.2.1 and udp.dstport == 2000", "-T", "fields", "-e", "frame.number").Output()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for word := range strings.FieldsSeq(string(text)) {
		number, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		found[names[(number-1)/carriedPackets]]++
	}
	for _, name := range names {
		if found[name] != carriedPackets {
			t.Errorf("%s: tshark finds %d packets inside, want %d", name, found[name], carriedPackets)
		}
	}
}
