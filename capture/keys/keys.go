// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/enum"
)

// Kind says which part of a packet is the key that is counted.
type Kind uint8

// The kinds of key.
const (
	Src    Kind = iota // source address
	Dst                // destination address
	IP                 // either address: two elements a packet
	Pair               // source and destination address
	Flow               // five-tuple: addresses, ports and protocol
	Biflow             // five-tuple with its two ends sorted: the same in both directions
	// MACs is either hardware address, without group addresses: the stations seen. It
	// needs no IP header.
	MACs
)

var kindNames = [...]string{Src: "src", Dst: "dst", IP: "ip", Pair: "pair", Flow: "flow", Biflow: "biflow", MACs: "mac"}

// String returns the name that ParseKind reads.
func (o Kind) String() string { return enum.Name(kindNames[:], o) }

// ParseKind reads "src", "dst", "ip", "pair", "flow", "biflow" or "mac".
func ParseKind(s string) (Kind, error) { return enum.Parse[Kind](kindNames[:], s) }

// Config defines the fields of a key.
type Config struct {
	Kind Kind
	// Mask4 and Mask6 are the prefix lengths that addresses are cut to. 0 means whole
	// addresses.
	Mask4, Mask6 int
	VLAN         bool // the outermost VLAN tag is part of the key
}

// Validate returns an error for an unknown kind or an impossible prefix length.
func (c Config) Validate() error {
	switch {
	case int(c.Kind) >= len(kindNames):
		return fmt.Errorf("unknown key %d", c.Kind)
	case c.Mask4 < 0 || c.Mask4 > 32:
		return fmt.Errorf("IPv4 prefix length %d is not within 0 to 32", c.Mask4)
	case c.Mask6 < 0 || c.Mask6 > 128:
		return fmt.Errorf("IPv6 prefix length %d is not within 0 to 128", c.Mask6)
	}
	return nil
}

// determined says which kinds of key determine which. Bit o of element k is set if
// packets with equal keys of kind k also have equal keys of kind o.
var determined = [...]uint8{
	Src: 1 << Src, Dst: 1 << Dst, IP: 1 << IP, MACs: 1 << MACs,
	Pair:   1<<Src | 1<<Dst | 1<<IP | 1<<Pair,
	Flow:   1<<Src | 1<<Dst | 1<<IP | 1<<Pair | 1<<Flow | 1<<Biflow,
	Biflow: 1<<IP | 1<<Biflow,
}

// Determines reports whether packets with equal keys under c always have equal keys under
// other.
func (c Config) Determines(other Config) bool {
	return determined[c.Kind]>>other.Kind&1 != 0 && (c.VLAN || !other.VLAN) &&
		cmp.Or(c.Mask4, 32) >= cmp.Or(other.Mask4, 32) && cmp.Or(c.Mask6, 128) >= cmp.Or(other.Mask6, 128)
}

// Format16 formats an IPv4 key, or a hardware address for MACs, for people: "10.0.0.1",
// "10.0.0.0/24", "10.0.0.1 > 10.0.0.2", "tcp 10.0.0.1:1234 > 10.0.0.2:80". Keys without a
// direction have "<>" instead of ">". Keys with a VLAN end with " vlan 100".
func (c Config) Format16(key [16]byte) string { return string(c.Append16(nil, key)) }

// Append16 appends what Format16 returns.
func (c Config) Append16(text []byte, key [16]byte) []byte {
	if c.Kind == MACs {
		return appendVLAN(append(text, net.HardwareAddr(key[:6]).String()...), key[tail4:])
	}
	src := netip.AddrFrom4([4]byte(key[:]))
	dst := netip.AddrFrom4([4]byte(key[dst4:]))
	return c.append(text, src, dst, c.Mask4, key[tail4:])
}

// Format48 formats an IPv6 key as Format16 does: "2001:db8::1", "2001:db8::/32", "udp
// [2001:db8::1]:53 > [2001:db8::2]:4000".
func (c Config) Format48(key [48]byte) string { return string(c.Append48(nil, key)) }

// Append48 appends what Format48 returns.
func (c Config) Append48(text []byte, key [48]byte) []byte {
	src := netip.AddrFrom16([16]byte(key[:]))
	dst := netip.AddrFrom16([16]byte(key[dst6:]))
	return c.append(text, src, dst, c.Mask6, key[tail6:])
}

// AppendAddr4 appends an element of Keys.Addr4 as Append16 does.
func (c Config) AppendAddr4(text []byte, addr uint32) []byte {
	var key [16]byte
	binary.BigEndian.PutUint32(key[:], addr)
	return c.Append16(text, key)
}

func (c Config) append(text []byte, src, dst netip.Addr, mask int, tail []byte) []byte {
	arrow, ports := " > ", []byte(nil)
	switch c.Kind {
	case Src, Dst, IP:
		return appendVLAN(appendAddress(text, src, mask), tail)
	case Biflow:
		arrow = " <> "
		fallthrough
	case Flow:
		text = append(append(text, headers.Protocol(tail[4]).String()...), ' ')
		if binary.BigEndian.Uint32(tail) != 0 {
			ports = tail[:4]
		}
	}
	if ports == nil {
		return appendVLAN(appendAddress(append(appendAddress(text, src, mask), arrow...), dst, mask), tail)
	}
	text = append(appendEnd(text, src, mask, ports), arrow...)
	return appendVLAN(appendEnd(text, dst, mask, ports[2:]), tail)
}

// appendAddress appends an address, with its prefix length if it was cut.
func appendAddress(text []byte, a netip.Addr, mask int) []byte {
	if mask == 0 || mask == a.BitLen() {
		return a.AppendTo(text)
	}
	return netip.PrefixFrom(a, mask).AppendTo(text)
}

// appendEnd appends an address and its port, as net.JoinHostPort does.
func appendEnd(text []byte, a netip.Addr, mask int, port []byte) []byte {
	if a.Is4() {
		text = appendAddress(text, a, mask)
	} else {
		text = append(appendAddress(append(text, '['), a, mask), ']')
	}
	return strconv.AppendUint(append(text, ':'), uint64(binary.BigEndian.Uint16(port)), 10)
}

func appendVLAN(text, tail []byte) []byte {
	if tail[5] == 0 {
		return text
	}
	return strconv.AppendUint(append(text, " vlan "...), uint64(binary.BigEndian.Uint16(tail[6:])), 10)
}
