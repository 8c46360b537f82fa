package flow

import (
	"encoding/binary"
	"net"
	"net/netip"
	"strconv"
)

// Format16 returns an IPv4 key, or a hardware address for MACs, for people to
// read: "10.0.0.1", "10.0.0.0/24", "10.0.0.1 > 10.0.0.2", "tcp 10.0.0.1:1234 >
// 10.0.0.2:80", "<>" in place of ">" without direction, each with " vlan 100"
// where that is part of the key.
func (c KeyConfig) Format16(key [16]byte) string {
	if c.Kind == MACs {
		return net.HardwareAddr(key[:6]).String() + vlanSuffix(key[tail4:])
	}
	src := netip.AddrFrom4([4]byte(key[:]))
	dst := netip.AddrFrom4([4]byte(key[dst4:]))
	return c.format(src, dst, c.Mask4, key[tail4:])
}

// Format48 returns an IPv6 key like Format16: "2001:db8::1",
// "2001:db8::/32", "udp [2001:db8::1]:53 > [2001:db8::2]:4000".
func (c KeyConfig) Format48(key [48]byte) string {
	src := netip.AddrFrom16([16]byte(key[:]))
	dst := netip.AddrFrom16([16]byte(key[dst6:]))
	return c.format(src, dst, c.Mask6, key[tail6:])
}

// FormatAddr4 returns an element of Keys.Addr4 like Format16.
func (c KeyConfig) FormatAddr4(addr uint32) string {
	var key [16]byte
	binary.BigEndian.PutUint32(key[:], addr)
	return c.Format16(key)
}

func (c KeyConfig) format(src, dst netip.Addr, mask int, tail []byte) string {
	proto, arrow := "", " > "
	srcPort, dstPort := "", ""
	switch c.Kind {
	case Src, Dst, IP:
		return addressText(src, mask) + vlanSuffix(tail)
	case Biflow:
		arrow = " <> "
		fallthrough
	case Flow:
		proto = protocolNames[tail[4]] + " "
		if binary.BigEndian.Uint32(tail) != 0 {
			srcPort = strconv.Itoa(int(binary.BigEndian.Uint16(tail)))
			dstPort = strconv.Itoa(int(binary.BigEndian.Uint16(tail[2:])))
		}
	}
	return proto + endText(src, mask, srcPort) + arrow + endText(dst, mask, dstPort) + vlanSuffix(tail)
}

// addressText returns an address, with the prefix length if it was cut.
func addressText(a netip.Addr, mask int) string {
	if mask == 0 || mask == a.BitLen() {
		return a.String()
	}
	return netip.PrefixFrom(a, mask).String()
}

// endText returns an address and its port, if there is one.
func endText(a netip.Addr, mask int, port string) string {
	text := addressText(a, mask)
	if port == "" {
		return text
	}
	return net.JoinHostPort(text, port)
}

func vlanSuffix(tail []byte) string {
	if tail[5] == 0 {
		return ""
	}
	return " vlan " + strconv.Itoa(int(binary.BigEndian.Uint16(tail[6:])))
}
