// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"bytes"
	"cmp"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/flowdedup/flowdedup/bench/lab/labtest"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// forwarder is traffic that a program forwards from interface in to interface out.
type forwarder struct {
	name, program string
	setup         string // lines of commands
	packets       func(i int) []gopacket.SerializableLayer
	flags         string // --ignore of what it changes, "" for the default
	without       string // --ignore with which no copy is found: "" is the default, or "none" without flags; or same
	copies        int    // of each packet, 0 for 1
}

// forwarders are the rows of the tables in identities.md that need no Open vSwitch.
var forwarders = []forwarder{
	{name: "router", program: "ip", packets: datagram4},
	{name: "router, IPv6", program: "ip", packets: datagram6},
	{name: "router, record route", program: "ip", packets: routed4(7, 3, 4), flags: "ip-options"},
	{name: "router, timestamp", program: "ip", packets: routed4(68, 2, 5), flags: "ip-options"},
	{name: "router, segment routing", program: "ip", packets: segmented6, flags: "ip-options,nat",
		setup: "sysctl -qw net.ipv6.conf.in.seg6_enabled=1\nip -6 route add fd00:99::1 encap seg6local action End dev in"},
	{name: "nft ip dscp, ecn", program: "nft", packets: datagram4, setup: rule("ip dscp set cs1") + rule("ip ecn set ce")},
	{name: "nft ip6 dscp", program: "nft", packets: datagram6, setup: rule("ip6 dscp set cs1")},
	{name: "nft ip ttl", program: "nft", packets: datagram4, setup: rule("ip ttl set 9")},
	{name: "nft ip6 hoplimit", program: "nft", packets: datagram6, setup: rule("ip6 hoplimit set 9")},
	{name: "nft ip frag-off: no DF", program: "nft", packets: whole4, setup: rule("ip frag-off set 0"), without: "none,ttl,ip-checksum"},
	{name: "nft dup", program: "nft", packets: datagram4, copies: 2, setup: ruleOf("ip", `dup to 10.20.0.3 device "out"`)},
	{name: "nft dup, DF", program: "nft", packets: whole4, copies: 2, without: same, setup: ruleOf("ip", `dup to 10.20.0.3 device "out"`)},
	{name: "nft dup, IPv6", program: "nft", packets: datagram6, copies: 2, without: same, setup: ruleOf("ip6", `dup to fd00:20::3 device "out"`)},
	{name: "nft netdev dup", program: "nft", packets: datagram4, copies: 2, without: same,
		setup: "nft add table netdev n\nnft add chain netdev n c { type filter hook ingress device in priority 0; }\nnft add rule netdev n c dup to \"out\""},
	{name: "nft netdev fwd", program: "nft", packets: datagram4, without: same,
		setup: "nft add table netdev n\nnft add chain netdev n c { type filter hook ingress device in priority 0; }\nnft add rule netdev n c fwd to \"out\""},
	{name: "nft notrack, mark", program: "nft", packets: datagram4, setup: rule("notrack") + rule("meta mark set 7")},
	{name: "nft ip id", program: "nft", packets: datagram4, setup: rule("ip id set 999"), flags: "ip-id"},
	{name: "nft ip6 flowlabel", program: "nft", packets: datagram6, setup: rule("ip6 flowlabel set 9"), flags: "flow-label"},
	{name: "nft tcp option maxseg", program: "nft", packets: opening4, setup: rule("tcp option maxseg size set 1200"), flags: "mss"},
	{name: "nft tcp option maxseg, IPv6", program: "nft", packets: opening6, setup: rule("tcp option maxseg size set 1200"), flags: "mss"},
	{name: "nft tcp option timestamp", program: "nft", packets: opening4, setup: rule("tcp option timestamp tsval set 9"), flags: "tcp-header"},
	{name: "nft reset tcp option", program: "nft", packets: opening4, setup: rule("reset tcp option sack-perm") + rule("reset tcp option timestamp"), flags: "tcp-header"},
	{name: "nft tcp window, urgptr", program: "nft", packets: segment4, setup: rule("tcp window set 99") + rule("tcp urgptr set 1"), flags: "tcp-header"},
	{name: "nft tcp sequence, ackseq", program: "nft", packets: segment4, setup: rule("tcp sequence set 99") + rule("tcp ackseq set 1"), flags: "tcp-seq"},
	{name: "nft masquerade", program: "nft", packets: datagram4, setup: natRule("masquerade"), flags: "nat"},
	{name: "nft snat, IPv6", program: "nft", packets: datagram6, setup: natRule("snat ip6 to fd00:20::77"), flags: "nat"},
	{name: "iptables TTL", program: "iptables", packets: datagram4, setup: mangle("TTL --ttl-dec 3")},
	{name: "iptables HL", program: "ip6tables", packets: datagram6, setup: mangle6("HL --hl-set 7")},
	{name: "iptables DSCP, TOS", program: "iptables", packets: datagram4, setup: mangle("DSCP --set-dscp 9") + mangle("TOS --or-tos 4")},
	{name: "iptables TEE", program: "iptables", packets: datagram4, copies: 2, setup: mangle("TEE --gateway 10.20.0.3")},
	{name: "iptables ECN", program: "iptables", packets: segment4, setup: mangle("ECN -p tcp --ecn-tcp-remove"), flags: "tcp-header"},
	{name: "iptables TCPMSS", program: "iptables", packets: opening4, setup: mangle("TCPMSS -p tcp --tcp-flags SYN,RST SYN --set-mss 1200"), flags: "mss"},
	{name: "iptables TCPOPTSTRIP", program: "iptables", packets: opening4, setup: mangle("TCPOPTSTRIP -p tcp --strip-options sack-permitted,timestamp,wscale"), flags: "tcp-header"},
	{name: "iptables NETMAP", program: "iptables", packets: datagram4, setup: "iptables -t nat -A POSTROUTING -o out -j NETMAP --to 10.77.0.0/16\n", flags: "nat"},
	{name: "iptables masquerade and TCPMSS", program: "iptables", packets: opening4,
		setup: "iptables -t nat -A POSTROUTING -o out -j MASQUERADE\n" + mangle("TCPMSS -p tcp --tcp-flags SYN,RST SYN --set-mss 1200"), flags: "nat,mss"},
}

// same says that identities never compare what is changed.
const same = "same"

// rule is a statement of nftables for forwarded packets.
func rule(statement string) string { return ruleOf("inet", statement) }

func ruleOf(family, statement string) string {
	return strings.ReplaceAll("nft add table X f\nnft add chain X f c { type filter hook forward priority -150; }\nnft add rule X f c ", "X", family) + statement + "\n"
}

func natRule(statement string) string {
	return "nft add table inet n\nnft add chain inet n c { type nat hook postrouting priority 100; }\nnft add rule inet n c oifname out " + statement + "\n"
}

func mangle(target string) string  { return "iptables -t mangle -A FORWARD -j " + target + "\n" }
func mangle6(target string) string { return "ip6tables -t mangle -A FORWARD -j " + target + "\n" }

// The ends of forwarded packets, and their parts.
var (
	ends4 = layers.IPv4{Version: 4, TTL: 64, SrcIP: net.IP{10, 10, 0, 2}, DstIP: net.IP{10, 20, 0, 2}}
	ends6 = layers.IPv6{Version: 6, HopLimit: 64, SrcIP: net.ParseIP("fd00:10::2"), DstIP: net.ParseIP("fd00:20::2")}
)

const (
	forwardedPackets = 10
	nextHop          = "\x02\x00\x00\x00\x00\x99" // hardware address
)

// ip4 returns the header of packet i.
func ip4(i int, proto layers.IPProtocol) *layers.IPv4 {
	ip := ends4
	ip.Id, ip.Protocol = uint16(i+1), proto
	return &ip
}

func ip6(proto layers.IPProtocol) *layers.IPv6 {
	ip := ends6
	ip.NextHeader = proto
	return &ip
}

func packetText(i int) gopacket.Payload { return gopacket.Payload(fmt.Sprintf("packet %02d", i)) }

func udpOver(ip gopacket.NetworkLayer) *layers.UDP {
	u := &layers.UDP{SrcPort: 1000, DstPort: 2000}
	_ = u.SetNetworkLayerForChecksum(ip) // it fails only for other layers
	return u
}

func datagram4(i int) []gopacket.SerializableLayer {
	ip := ip4(i, layers.IPProtocolUDP)
	return []gopacket.SerializableLayer{ip, udpOver(ip), packetText(i)}
}

func whole4(i int) []gopacket.SerializableLayer {
	ip := ip4(i, layers.IPProtocolUDP)
	ip.Flags = layers.IPv4DontFragment
	return []gopacket.SerializableLayer{ip, udpOver(ip), packetText(i)}
}

func datagram6(i int) []gopacket.SerializableLayer {
	ip := ip6(layers.IPProtocolUDP)
	return []gopacket.SerializableLayer{ip, udpOver(ip), packetText(i)}
}

// routed4 has an option of a kind with room for 9 addresses or times, the first of which is to be
// written.
func routed4(kind, size, pointer byte) func(i int) []gopacket.SerializableLayer {
	return func(i int) []gopacket.SerializableLayer {
		ip := ip4(i, layers.IPProtocolUDP)
		content := make([]byte, int(size)-2+8)
		content[0] = pointer
		ip.Options = []layers.IPv4Option{{OptionType: kind, OptionLength: uint8(len(content) + 2), OptionData: content}}
		return []gopacket.SerializableLayer{ip, udpOver(ip), packetText(i)}
	}
}

// segmented6 goes to a segment of the router, and then on to the end.
func segmented6(i int) []gopacket.SerializableLayer {
	ip, end := ip6(layers.IPProtocolIPv6Routing), ends6.DstIP
	ip.DstIP = net.ParseIP("fd00:99::1")
	header := append([]byte{byte(layers.IPProtocolUDP), 4, 4, 1, 1, 0, 0, 0}, end...)
	u := udpOver(&ends6)
	return []gopacket.SerializableLayer{ip, gopacket.Payload(append(header, ip.DstIP...)), u, packetText(i)}
}

// opening has the options of Linux.
func opening(i int, ip gopacket.NetworkLayer) *layers.TCP {
	s := &layers.TCP{SrcPort: layers.TCPPort(1000 + i), DstPort: 80, Seq: 1, SYN: true, Window: 64240, Options: []layers.TCPOption{
		{OptionType: layers.TCPOptionKindMSS, OptionLength: 4, OptionData: []byte{5, 180}},
		{OptionType: layers.TCPOptionKindSACKPermitted, OptionLength: 2},
		{OptionType: layers.TCPOptionKindTimestamps, OptionLength: 10, OptionData: make([]byte, 8)},
		{OptionType: layers.TCPOptionKindNop},
		{OptionType: layers.TCPOptionKindWindowScale, OptionLength: 3, OptionData: []byte{7}},
	}}
	_ = s.SetNetworkLayerForChecksum(ip)
	return s
}

func opening4(i int) []gopacket.SerializableLayer {
	ip := ip4(i, layers.IPProtocolTCP)
	return []gopacket.SerializableLayer{ip, opening(i, ip)}
}

func opening6(i int) []gopacket.SerializableLayer {
	ip := ip6(layers.IPProtocolTCP)
	return []gopacket.SerializableLayer{ip, opening(i, ip)}
}

func segment4(i int) []gopacket.SerializableLayer {
	ip := ip4(i, layers.IPProtocolTCP)
	s := &layers.TCP{SrcPort: 1000, DstPort: 80, Seq: uint32(100 * i), Ack: 5, ACK: true, ECE: true, CWR: true, Window: 100}
	_ = s.SetNetworkLayerForChecksum(ip)
	return []gopacket.SerializableLayer{ip, s, packetText(i)}
}

// frameOf serializes a packet to the router.
func frameOf(t *testing.T, in string, packet []gopacket.SerializableLayer) []byte {
	t.Helper()
	at, err := net.InterfaceByName(in)
	if err != nil {
		t.Fatal(err)
	}
	link := &layers.Ethernet{SrcMAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, DstMAC: at.HardwareAddr, EthernetType: layers.EthernetTypeIPv4}
	if _, is6 := packet[0].(*layers.IPv6); is6 {
		link.EthernetType = layers.EthernetTypeIPv6
	}
	buf := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, append([]gopacket.SerializableLayer{link}, packet...)...); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// run runs lines of commands.
func run(t *testing.T, lines string) {
	t.Helper()
	for line := range strings.Lines(lines) {
		words := strings.Fields(line)
		if words[0] == "nft" {
			words = []string{"nft", strings.Join(words[1:], " ")}
		}
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			t.Skipf("this machine cannot: %s: %v: %s", strings.TrimSpace(line), err, out)
		}
	}
}

// TestForwarders captures both sides of forwarders. With the flags that identities.md names for what
// they change, each packet stays once; without these flags, all stay.
func TestForwarders(t *testing.T) {
	for _, f := range forwarders {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(f.program); err != nil {
				t.Skip(err)
			}
			clitest.Lab(t, "left in", "out right")
			assign(t, "in", "10.10.0.1/24", "fd00:10::1/64")
			assign(t, "out", "10.20.0.1/24", "fd00:20::1/64")
			for _, name := range []string{"ipv4/ip_forward", "ipv6/conf/all/forwarding"} {
				if err := os.WriteFile("/proc/sys/net/"+name, []byte("1"), 0); err != nil {
					t.Skip("no router: ", err)
				}
			}
			for _, address := range []string{"10.20.0.2", "10.20.0.3", "fd00:20::2", "fd00:20::3"} {
				clitest.IP(t, "neighbour add "+address+" lladdr 02:00:00:00:00:99 dev out")
			}
			run(t, f.setup)
			checkForwarder(t, &f, "left", "in", "out")
		})
	}
}

// switched are the rows of the tables in identities.md about Open vSwitch. Their program is the protocol
// that its actions are for.
var switched = []forwarder{
	{name: "nothing", packets: whole4, without: same},
	{name: "TTL", program: "ip,", setup: "dec_ttl,", packets: datagram4},
	{name: "hop limit", program: "ipv6,", setup: "dec_ttl,", packets: datagram6},
	{name: "DSCP, ECN", program: "ip,", setup: "set_field:32->ip_dscp,set_field:1->nw_ecn,", packets: datagram4},
	{name: "hardware addresses", setup: "set_field:02:00:00:00:00:77->eth_src,set_field:02:00:00:00:00:99->eth_dst,", packets: datagram6, without: same},
	{name: "VLAN", setup: "push_vlan:0x8100,set_field:4106->vlan_vid,", packets: datagram4, without: same},
	{name: "MPLS", program: "ip,", setup: "push_mpls:0x8847,set_field:77->mpls_label,", packets: datagram4, without: same},
	{name: "flow label", program: "ipv6,", setup: "set_field:77->ipv6_label,", packets: datagram6, flags: "flow-label"},
	{name: "addresses, ports", program: "tcp,", setup: "set_field:10.77.0.1->ip_src,set_field:77->tcp_dst,", packets: opening4, flags: "nat"},
	{name: "translation", program: "udp,", setup: "ct(commit,nat(src=10.77.0.1)),", packets: datagram4, flags: "nat"},
}

// TestOpenVSwitch does so for Open vSwitch in user space.
func TestOpenVSwitch(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"ovsdb-tool", "ovsdb-server", "ovs-vsctl", "ovs-vswitchd", "ovs-ofctl", "ovs-appctl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	clitest.Lab(t)
	s := clitest.NewOpenVSwitch(t, 1)
	for _, f := range switched { // in the namespace of this goroutine
		t.Log(f.name)
		s.Actions(0, f.program, f.setup+"output:left1")
		checkForwarder(t, &f, "left0", "right0", "left1")
	}
}

// checkForwarder sends packets out of an interface, and checks what a forwarder makes of them between
// two others.
func checkForwarder(t *testing.T, f *forwarder, from, in, out string) {
	t.Helper()
	name := passed(t, f, from, in, out)
	copies := uint64(forwardedPackets * max(f.copies, 1))
	checkForwarded(t, name, f.flags, copies)
	switch {
	case f.without == same:
	case f.flags == "":
		checkForwarded(t, name, cmp.Or(f.without, "none"), 0)
	default:
		checkForwarded(t, name, f.without, 0)
	}
}

// passed captures what a forwarder makes of packets, and returns the capture.
func passed(t *testing.T, f *forwarder, from, in, out string) string {
	t.Helper()
	src, err := afpacket.Open(afpacket.Config{Interfaces: []string{in, out}, RingBytes: 1 << 20, BlockBytes: 64 << 10})
	if err != nil {
		t.Skip(err)
	}
	defer src.Close()
	var frames [][]byte
	for i := range forwardedPackets {
		frames = append(frames, frameOf(t, in, f.packets(i)))
	}
	clitest.SendBytes(t, from, frames...)
	want := forwardedPackets * (1 + max(f.copies, 1))
	wait.For(func() bool { // a forwarder may be a program, which takes its time
		received := uint64(0)
		for _, s := range src.Stats() {
			received += s.Received
		}
		return received >= uint64(want)
	})
	got, seen := labtest.Rest(t, src, nil), &capture.Batch{}
	seen.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
	for i, data := range got.Data { // without what the kernel says by itself
		if bytes.Equal(data[6:12], frames[0][6:12]) || string(data[:6]) == nextHop {
			seen.Append(capture.Frame{Time: got.Frames[i].Time, WireLen: got.Frames[i].WireLen}, data)
		}
	}
	if len(seen.Frames) != want {
		t.Fatalf("%d packets were captured, want %d", len(seen.Frames), want)
	}
	name := filepath.Join(t.TempDir(), "passed.pcapng")
	if err := os.WriteFile(name, clitest.Encoded(t, seen), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// checkForwarded removes the copies of a capture, and verifies the output.
func checkForwarded(t *testing.T, name, ignore string, copies uint64, flags ...string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out.pcapng")
	flags = append(flags, "--window", "1s")
	if ignore != "" {
		flags = append(flags, "--ignore", ignore)
	}
	if r := clitest.RunDedup(t, cli.ExitDone, append(flags, "-w", out, name)...); r.Duplicates != copies {
		t.Errorf("%s: %d copies, want %d", flags, r.Duplicates, copies)
	}
	if text, errs, code := clitest.Run(append(append([]string{"verify"}, flags...), name, out)...); code != cli.ExitDone {
		t.Errorf("verify %s: exit code %d: %s%s", flags, code, text, errs)
	}
}

// TestSynproxy has a connection through a proxy that answers its first segments, and translates the
// numbers and timestamps of the others.
func TestSynproxy(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("nft"); err != nil {
		t.Skip(err)
	}
	a, b := router(t)
	a.offloads(wire, "eth0")
	b.offloads(wire, "eth0")
	presentHost(t).offloads(wire, "in", "out")
	run(t, `sysctl -qw net.netfilter.nf_conntrack_tcp_loose=0
nft add table ip s
nft add chain ip s p { type filter hook prerouting priority -300; }
nft add rule ip s p tcp dport 7 tcp flags syn notrack
nft add chain ip s f { type filter hook forward priority 0; }
nft add rule ip s f ct state invalid,untracked synproxy mss 1460 wscale 7 timestamp sack-perm
nft add rule ip s f ct state invalid drop
`)
	src, err := afpacket.Open(afpacket.Config{Interfaces: []string{"in", "out"}, RingBytes: 1 << 20, BlockBytes: 64 << 10})
	if err != nil {
		t.Skip(err)
	}
	defer src.Close()
	a.tcp("10.20.0.2:7", 100, 1000, 1200, 100, 1)
	got := labtest.Rest(t, src, nil)
	name := filepath.Join(t.TempDir(), "proxied.pcapng")
	if err := os.WriteFile(name, got.File.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	const answered = 10 // segments of the proxy and to it, at most
	for ignore, most := range map[string]uint64{"none": 0, "tcp-seq": 2, "tcp-header": 2} {
		if r := clitest.RunDedup(t, cli.ExitDone, "--window", "1s", "--filter", "tcp port 7", "--ignore", ignore, name); r.Duplicates > most {
			t.Errorf("--ignore %s: %d copies", ignore, r.Duplicates)
		}
	}
	if r := clitest.RunDedup(t, cli.ExitDone, "--window", "1s", "--filter", "tcp port 7", "--ignore", "tcp-seq,tcp-header", name); 2*r.Duplicates+answered < r.PacketsIn || r.Duplicates < 10 {
		t.Errorf("%+v", r)
	}
}
