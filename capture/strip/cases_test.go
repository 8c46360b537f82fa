// SPDX-License-Identifier: Apache-2.0

package strip

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/frametest"
)

var (
	u16    = frametest.BE16
	concat = frametest.Join
)

// ip4 is an IPv4 packet.
func ip4(proto byte, payload ...any) []byte {
	body := concat(payload...)
	ip := concat("\x45\x00", u16(20+len(body)), "\x12\x34\x00\x00\x40", []byte{proto}, "\x00\x00", "\x0a\x00\x00\x01\x0a\x00\x00\x02", body)
	sum := 0
	for o := 0; o < 20; o += 2 {
		sum += int(binary.BigEndian.Uint16(ip[o:]))
	}
	copy(ip[10:], u16(sum%0xffff^0xffff))
	return ip
}

// ip6 is an IPv6 packet.
func ip6(next byte, payload ...any) []byte {
	body := concat(payload...)
	return concat("\x60\x00\x00\x00", u16(len(body)), []byte{next, 64}, make([]byte, 15), "\x01", make([]byte, 15), "\x02", body)
}

func udp(port int, payload ...any) []byte {
	body := concat(payload...)
	return concat(u16(40000), u16(port), u16(8+len(body)), "\x00\x00", body)
}

const macs = "\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02"

// ether is an Ethernet frame with tags and the like before its last ethertype.
func ether(parts ...any) []byte { return concat(append([]any{macs}, parts...)...) }

var (
	four = ip4(6, "four: a TCP header and more than this")
	six  = ip6(17, udp(53, "six: a question"))
	arp  = concat("\x00\x01\x08\x00\x06\x04\x00\x01", macs, make([]byte, 8))
	all  = VLAN | MPLS | PPPoE | Tunnel | Arista
)

const (
	t4, t6, tARP   = "\x08\x00", "\x86\xdd", "\x08\x06"
	c10, s20, old3 = "\x81\x00\x20\x0a", "\x88\xa8\x00\x14", "\x91\x00\x00\x03"
	label, bottom  = "\x00\x01\x00\x40", "\x00\x02\x01\x40"
	snap           = "\xaa\xaa\x03\x00\x00\x00"
	sll            = "\x00\x00\x00\x01\x00\x06\x02\x00\x00\x00\x00\x02\x00\x00"
	sll2           = "\x00\x00\x00\x00\x00\x03\x00\x01\x00\x06\x02\x00\x00\x00\x00\x02\x00\x00"
	arista64       = "\xd2\x8b\x00\x01\x00\x10\x65\x53\xf1\x00\x00\x02\x49\xf0"
	arista48       = "\xd2\x8b\x00\x01\x00\x20\xf1\x00\x00\x02\x49\xf0"
	vni            = "\x08\x00\x00\x00\x00\x04\xd2\x00" // 1234
)

func pppoe(proto string, payload []byte) []byte {
	return concat("\x11\x00\x00\x05", u16(len(proto)+len(payload)), proto, payload)
}

const (
	eth  = capture.LinkEthernet
	raw  = capture.LinkRaw
	sll1 = capture.LinkLinuxSLL
	slla = capture.LinkLinuxSLL2
)

// cases are packets before and after. Without after, nothing changes, and left says whether
// a header stays that was to be taken off.
var cases = []struct {
	name    string
	headers Headers
	link    capture.LinkType
	before  []byte
	after   []byte
	outLink capture.LinkType // 0: as before
	from    string           // the text behind the name of the interface
	left    bool
}{
	{"plain", all, eth, ether(t4, four), nil, 0, "", false},
	{"vlan", VLAN, eth, ether(c10, t4, four), ether(t4, four), 0, "", false},
	{"vlan not asked for", MPLS | Tunnel, eth, ether(c10, t4, four), nil, 0, "", false},
	{"qinq", VLAN, eth, ether(s20, c10, t6, six), ether(t6, six), 0, "", false},
	{"five tags", VLAN, eth, ether(s20, old3, c10, c10, c10, t6, six), ether(t6, six), 0, "", false},
	{"vlan arp", VLAN, eth, ether(c10, tARP, arp), ether(tARP, arp), 0, "", false},
	{"vlan padded", VLAN, eth, ether(c10, tARP, arp, make([]byte, 14)), ether(tARP, arp, make([]byte, 14)), 0, "", false},
	{"vlan 802.2", VLAN, eth, ether(c10, u16(60), snap, t4, four), ether(u16(60), snap, t4, four), 0, "", false},
	{"vlan in snap", VLAN, eth, ether(u16(70), snap, c10, t4, four), ether(u16(66), snap, t4, four), 0, "", false},
	{"vlan behind hsr", VLAN, eth, ether("\x89\x2f\x00\x30\x00\x01", c10, t4, four), ether("\x89\x2f\x00\x30\x00\x01", t4, four), 0, "", false},
	{"vlans around hsr", VLAN, eth, ether(s20, "\x89\x2f\x00\x30\x00\x01", c10, t4, four), ether("\x89\x2f\x00\x30\x00\x01", t4, four), 0, "", false},
	{"vlan behind vntag", VLAN, eth, ether("\x89\x26\x00\x01\x00\x02", c10, t4, four), ether("\x89\x26\x00\x01\x00\x02", t4, four), 0, "", false},
	{"vlans of pbb", VLAN, eth, ether(s20, "\x88\xe7\x00\x00\x00\x07", ether(c10, t4, four)), ether("\x88\xe7\x00\x00\x00\x07", ether(t4, four)), 0, "", false},
	{"vlan cut", VLAN, eth, ether("\x81\x00\x00"), nil, 0, "", true},
	{"second vlan cut", VLAN, eth, ether(s20, "\x81\x00\x00"), nil, 0, "", true},
	{"vlan sll", VLAN, sll1, concat(sll, c10, t4, four), concat(sll, t4, four), 0, "", false},
	{"vlan sll 802.2", VLAN, sll1, concat(sll, c10, u16(50), snap, t4, four), concat(sll, "\x00\x04", snap, t4, four), 0, "", false},
	{"vlans sll2", VLAN, slla, concat("\x88\xa8", sll2, "\x00\x14", c10, t6, six), concat(t6, sll2, six), 0, "", false},
	{"hidden vlan sll", VLAN, sll1, concat(sll, t4, "\x00\x07", t4, four), concat(sll, t4, four), 0, "", false},
	{"vlans sll, second hidden", VLAN, sll1, concat(sll, c10, t4, "\x00\x07", t4, four), concat(sll, t4, four), 0, "", false},
	{"hidden vlan sll2, as ip begins", VLAN, slla, concat(t4, sll2, "\x45\x00", t4, four), concat(t4, sll2, four), 0, "", false},
	{"hidden vlans sll2", VLAN, slla, concat(t6, sll2, "\x00\x07", c10, t6, six), concat(t6, sll2, six), 0, "", false},
	{"hidden vlan arp", VLAN, slla, concat(tARP, sll2, "\x00\x07", tARP, arp), concat(tARP, sll2, arp), 0, "", false},
	{"hidden vlan 802.2", VLAN, sll1, concat(sll, u16(46), "\x00\x07", u16(46), snap, t4, four[:38]), concat(sll, "\x00\x04", snap, t4, four[:38]), 0, "", false},
	{"vlan hdlc", VLAN, capture.LinkCHDLC, concat("\x0f\x00", c10, t4, four), concat("\x0f\x00", t4, four), 0, "", false},
	{"vlan ipoib", VLAN, capture.LinkIPoverIB, concat(make([]byte, 40), "\x81\x00", "\x00\x00", "\x00\x0a", t4, four), nil, 0, "", true},

	{"mpls", MPLS, eth, ether("\x88\x47", label, bottom, four), ether(t4, four), 0, "", false},
	{"mpls upstream", MPLS, eth, ether("\x88\x48", bottom, six), ether(t6, six), 0, "", false},
	{"mpls behind vlan", MPLS, eth, ether(c10, "\x88\x47", bottom, six), ether(c10, t6, six), 0, "", false},
	{"vlan before mpls", VLAN, eth, ether(c10, "\x88\x47", bottom, six), ether("\x88\x47", bottom, six), 0, "", false},
	{"vlan and mpls", VLAN | MPLS, eth, ether(s20, c10, "\x88\x47", label, bottom, six), ether(t6, six), 0, "", false},
	{"pseudowire", MPLS, eth, ether(c10, "\x88\x47", label, bottom, "\x00\x00\x00\x00", ether(s20, t4, four)), ether(s20, t4, four), 0, "", false},
	{"vlan in pseudowire", VLAN | MPLS, eth, ether(c10, "\x88\x47", bottom, "\x00\x00\x00\x00", ether(s20, t4, four)), ether(t4, four), 0, "", false},
	{"pseudowire sll", MPLS, sll1, concat(sll, "\x88\x47", bottom, "\x00\x00\x00\x00", ether(s20, t4, four)), nil, 0, "", true},
	{"mpls behind hidden vlans", MPLS, slla, concat("\x88\x47", sll2, "\x00\x07", c10, "\x88\x47", label, bottom, six), concat(t6, sll2, "\x00\x07", c10, t6, six), 0, "", false},
	{"mpls behind hidden vlan", MPLS, sll1, concat(sll, c10, "\x88\x47", "\x00\x07\x88\x47", bottom, four), concat(sll, c10, t4, "\x00\x07", t4, four), 0, "", false},
	{"mpls and hidden vlans", VLAN | MPLS, slla, concat("\x88\x47", sll2, "\x00\x07", c10, "\x88\x47", label, bottom, six), concat(t6, sll2, six), 0, "", false},
	{"mpls of something", MPLS, eth, ether("\x88\x47", bottom, "\x10rest"), nil, 0, "", true},
	{"mpls cut", MPLS, eth, ether("\x88\x47", label, "\x00\x02"), nil, 0, "", true},
	{"mpls ppp", MPLS, capture.LinkPPP, concat("\xff\x03\x02\x81", bottom, six), concat("\xff\x03\x00\x57", six), 0, "", false},
	{"mpls alone", MPLS, capture.LinkMPLS, concat(bottom, six), nil, 0, "", true},

	{"arista", Arista, eth, ether(arista64, t4, four), ether(t4, four), 0, "", false},
	{"arista 48", Arista, eth, ether(arista48, t6, six), ether(t6, six), 0, "", false},
	{"arista arp", Arista, eth, ether(arista64, tARP, arp), ether(tARP, arp), 0, "", false},
	{"arista 802.2", Arista, eth, ether(arista64, u16(55), snap, t4, four), ether(u16(55), snap, t4, four), 0, "", false},
	{"arista before vlan", Arista, eth, ether(arista64, c10, t4, four), ether(c10, t4, four), 0, "", false},
	{"arista behind vlan", Arista, eth, ether(c10, arista48, t4, four), ether(c10, t4, four), 0, "", false},
	{"arista and vlans", Arista | VLAN, eth, ether(s20, arista64, c10, t4, four), ether(t4, four), 0, "", false},
	{"vlan behind arista", VLAN, eth, ether(arista64, c10, t4, four), ether(arista64, t4, four), 0, "", false},
	{"mpls behind arista", MPLS, eth, ether(arista64, "\x88\x47", bottom, six), ether(arista64, t6, six), 0, "", false},
	{"arista not asked for", VLAN | MPLS, eth, ether(arista64, t4, four), nil, 0, "", false},
	{"arista cut", Arista, eth, ether("\xd2\x8b\x00\x01\x00\x10\x65\x53"), nil, 0, "", true},
	{"arista, other subtype", Arista, eth, ether("\xd2\x8b\x00\x02\x00\x10\x65\x53\xf1\x00\x00\x02\x49\xf0", t4, four), nil, 0, "", false},
	{"vlan 9200", VLAN, eth, ether("\x92\x00\x00\x0a", t4, four), ether(t4, four), 0, "", false},

	{"pppoe", PPPoE, eth, ether("\x88\x64", pppoe("\x00\x21", four)), ether(t4, four), 0, "", false},
	{"pppoe compressed", PPPoE, eth, ether("\x88\x64", pppoe("\x57", six)), ether(t6, six), 0, "", false},
	{"pppoe framed", PPPoE, eth, ether("\x88\x64", pppoe("\xff\x03\x00\x21", four)), ether(t4, four), 0, "", false},
	{"pppoe vlan", VLAN | PPPoE, eth, ether(s20, c10, "\x88\x64", pppoe("\x00\x21", four)), ether(t4, four), 0, "", false},
	{"pppoe mpls", PPPoE, eth, ether("\x88\x64", pppoe("\x02\x81", concat(bottom, four))), ether("\x88\x47", bottom, four), 0, "", false},
	{"pppoe and mpls", PPPoE | MPLS, eth, ether("\x88\x64", pppoe("\x02\x81", concat(bottom, four))), ether(t4, four), 0, "", false},
	{"mpls in pppoe", MPLS, eth, ether("\x88\x64", pppoe("\x02\x81", concat(bottom, four))), ether("\x88\x64", pppoe("\x00\x21", four)), 0, "", false},
	{"pppoe control", PPPoE, eth, ether("\x88\x64", pppoe("\xc0\x21", []byte("\x09\x01\x00\x08magi"))), nil, 0, "", true},
	{"pppoe cut", PPPoE, eth, ether("\x88\x64\x11\x00"), nil, 0, "", true},
	{"pppoe discovery", PPPoE, eth, ether("\x88\x63\x11\x09\x00\x00\x00\x00"), nil, 0, "", false},

	{"vxlan", Tunnel, eth, ether(t4, ip4(17, udp(4789, vni, ether(c10, t4, four)))), ether(c10, t4, four), eth, " vxlan:1234", false},
	{"vxlan and vlans", all, eth, ether(s20, t4, ip4(17, udp(4789, vni, ether(c10, t4, four)))), ether(t4, four), eth, " vxlan:1234", false},
	{"vlan before vxlan", VLAN, eth, ether(s20, t4, ip4(17, udp(4789, vni, ether(c10, t4, four)))), ether(t4, ip4(17, udp(4789, vni, ether(c10, t4, four)))), 0, "", false},
	{"vxlan, trailer", Tunnel, eth, ether(t4, ip4(17, udp(4789, vni, ether(t4, four))), "trailer"), ether(t4, four), eth, " vxlan:1234", false},
	{"vxlan arp", Tunnel, eth, ether(t6, ip6(17, udp(4789, vni, ether(tARP, arp)))), ether(tARP, arp), eth, " vxlan:1234", false},
	{"vxlan pppoe", all, eth, ether(t4, ip4(17, udp(4789, vni, ether("\x88\x64", pppoe("\x00\x21", four))))), ether(t4, four), eth, " vxlan:1234", false},
	{"vxlan raw", Tunnel, raw, ip4(17, udp(4789, vni, ether(t4, four))), ether(t4, four), eth, " vxlan:1234", false},
	{"vxlan sll2", Tunnel, slla, concat(t4, sll2, ip4(17, udp(4789, vni, ether(t4, four)))), ether(t4, four), eth, " vxlan:1234", false},
	{"geneve ip", Tunnel, eth, ether(t4, ip4(17, udp(6081, "\x00\x00", t6, "\x00\x00\x07\x00", six))), six, raw, " geneve:7", false},
	{"gtp", Tunnel, eth, ether(t4, ip4(17, udp(2152, "\x30\xff", u16(len(four)), "\x00\x00\x01\x00", four))), four, raw, " gtp:256", false},
	{"gtp echo", Tunnel, eth, ether(t4, ip4(17, udp(2152, "\x32\x01\x00\x04\x00\x00\x00\x00\x00\x01\x00\x00"))), nil, 0, "", true},
	{"gre", Tunnel, eth, ether(t4, ip4(47, "\x00\x00", t4, four)), four, raw, " gre", false},
	{"gre key", Tunnel, raw, ip4(47, "\x20\x00", t4, "\x00\x00\x00\x09", four), four, raw, " gre:9", false},
	{"gre mpls", Tunnel, raw, ip4(47, "\x00\x00", "\x88\x47", bottom, six), six, raw, " gre", false},
	{"nvgre", Tunnel, raw, ip4(47, "\x20\x00", "\x65\x58", "\x00\x20\x00\x09", ether(t4, four)), ether(t4, four), eth, " nvgre:8192", false},
	{"erspan II", Tunnel, eth, ether(t4, ip4(47, "\x10\x00", "\x88\xbe", "seq!", "\x10\x64\x00\x05\x00\x00\x00\x00", ether(c10, t4, four))), ether(c10, t4, four), eth, " erspan:5", false},
	{"ip in ip", Tunnel, eth, ether(t4, ip4(41, six)), six, raw, " ipip", false},
	{"ip in ip in vxlan", Tunnel, eth, ether(t4, ip4(17, udp(4789, vni, ether(t4, ip4(4, four))))), four, raw, " ipip", false},
	{"ah", Tunnel, eth, ether(t4, ip4(51, "\x29\x04\x00\x00", make([]byte, 20), six)), six, raw, " ipip", false},
	{"ah of tcp", Tunnel, eth, ether(t4, ip4(51, "\x06\x04\x00\x00", make([]byte, 20), "tcp")), nil, 0, "", false},
	{"wccp", Tunnel, eth, ether(t4, ip4(47, "\x00\x00\x88\x3e\x00\x05\x00\x01", four)), four, raw, " gre", false},
	{"eoip", Tunnel, eth, ether(t4, ip4(47, "\x20\x01\x64\x00", u16(14+len(four)), "\x05\x00", ether(t4, four))), ether(t4, four), eth, " eoip:5", false},
	{"etherip", Tunnel, eth, ether(t4, ip4(97, "\x30\x00", ether(c10, tARP, arp))), ether(c10, tARP, arp), eth, " etherip", false},
	{"mpls in ip", Tunnel, eth, ether(t4, ip4(137, label, bottom, six)), six, raw, " mpls-in-ip", false},
	{"pseudowire in ip", all, eth, ether(t4, ip4(137, bottom, "\x00\x00\x00\x00", ether(c10, t6, six))), ether(t6, six), eth, " mpls-in-ip", false},
	{"srv6", Tunnel, eth, ether(t6, ip6(143, ether(t4, four))), ether(t4, four), eth, " ethernet-in-ip", false},
	{"l2tp", Tunnel, eth, ether(t4, ip4(17, udp(1701, "\x00\x02\x00\x01\x00\x02\xff\x03\x00\x57", six))), six, raw, " l2tp:65538", false},
	{"l2tp to a client", Tunnel, eth, ether(t4, ip4(17, u16(1701), u16(40000), u16(8+6+4+len(six)), "\x00\x00", "\x00\x02\x00\x01\x00\x02\xff\x03\x00\x57", six)), six, raw, " l2tp:65538", false},
	{"l2tp control", Tunnel, eth, ether(t4, ip4(17, udp(1701, "\xc8\x02\x00\x0c\x00\x01\x00\x00\x00\x00\x00\x01"))), nil, 0, "", false},
	{"lisp", Tunnel, eth, ether(t4, ip4(17, udp(4341, "\x08\x00\x00\x00\x00\x00\x07\x00", six))), six, raw, " lisp:7", false},
	{"mpls in udp", Tunnel, eth, ether(t4, ip4(17, udp(6635, bottom, six))), six, raw, " mpls-in-ip", false},
	{"jmirror", Tunnel, eth, ether(t4, ip4(17, udp(30030, "\x00\x00\x00\x07\x00\x00\x00\x08", six))), six, raw, " jmirror:7", false},
	{"game on its port", Tunnel, eth, ether(t4, ip4(17, udp(30030, "\x00\x00\x00\x07\x00\x00\x00\x08", "a position and more than fifty bytes of a player's state"))), nil, 0, "", false},
	{"tzsp", all, eth, ether(t4, ip4(17, udp(37008, "\x01\x00\x00\x01\x0a\x01\xc8\x01", ether(c10, t4, four)))), ether(t4, four), eth, " tzsp", false},
	{"tzsp wireless", Tunnel, eth, ether(t4, ip4(17, udp(37008, "\x01\x00\x00\x12\x01", "\x08\x02\x00\x00", macs, "\x02\x00\x00\x00\x00\x03\x10\x00", snap, t4, four))), four, raw, " tzsp", false},
	{"vxlan without its bit", Tunnel, eth, ether(t4, ip4(17, udp(4789, "\x00", vni[1:], ether(t6, six)))), ether(t6, six), eth, " vxlan:1234", false},
	{"fragment", all, eth, ether(c10, t4, concat("\x45\x00\x00\x24\x00\x01\x20\x00\x09\x2f\x00\x00", four[12:36])), ether(t4, concat("\x45\x00\x00\x24\x00\x01\x20\x00\x09\x2f\x00\x00", four[12:36])), 0, "", true},
	{"vxlan of nothing", Tunnel, eth, ether(t4, ip4(17, udp(4789, vni, "nothing"))), nil, 0, "", true},
	{"dns", Tunnel, eth, ether(t6, six), nil, 0, "", false},
	{"icmp in vlan", all, eth, ether(c10, t4, ip4(1, "\x08\x00\x00\x00\x00\x01\x00\x01data of an echo")), ether(t4, ip4(1, "\x08\x00\x00\x00\x00\x01\x00\x01data of an echo")), 0, "", false},
}
