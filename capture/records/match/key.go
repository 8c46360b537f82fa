// SPDX-License-Identifier: Apache-2.0

package match

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/flowdedup/flowdedup/capture/records"
)

// Key says which fields, in addition to protocol, addresses and ports, are the same in two records
// of one flow.
type Key struct {
	// Biflow makes both directions of a conversation one flow. It is for exporters that
	// disagree about which side is the source.
	Biflow bool
	// VLAN, VRF and TOS distinguish flows that differ in these.
	VLAN, VRF, TOS bool
}

var errKey = errors.New("must be flow or biflow, with +vlan, +vrf or +tos behind it")

// ParseKey reads a key such as biflow+vlan.
func ParseKey(s string) (Key, error) {
	var k Key
	for i, word := range strings.Split(s, "+") {
		switch {
		case i == 0 && word == "flow":
		case i == 0 && word == "biflow":
			k.Biflow = true
		case i > 0 && word == "vlan":
			k.VLAN = true
		case i > 0 && word == "vrf":
			k.VRF = true
		case i > 0 && word == "tos":
			k.TOS = true
		default:
			return Key{}, fmt.Errorf("%w: %q", errKey, s)
		}
	}
	return k, nil
}

// String returns the key as ParseKey reads it.
func (k Key) String() string {
	s := "flow"
	if k.Biflow {
		s = "biflow"
	}
	for _, field := range []struct {
		in   bool
		name string
	}{{k.VLAN, "vlan"}, {k.VRF, "vrf"}, {k.TOS, "tos"}} {
		if field.in {
			s += "+" + field.name
		}
	}
	return s
}

// side is one end of a flow.
type side struct {
	address netip.Addr
	port    uint16
}

// put writes the key of a record between two ends. The address of IPv4 is that in IPv6,
// and no byte says which, as ::ffff:0:0/96 is in no packet.
func (k Key) put(key *[48]byte, r *records.Record, from, to side) {
	if icmp := r.Protocol == 1 || r.Protocol == 58; icmp && k.Biflow {
		from.port, to.port = 0, asked(r.Protocol, to.port)
		if before(to.address, from.address) {
			from.address, to.address = to.address, from.address
		}
	} else if k.Biflow && (before(to.address, from.address) || from.address == to.address && to.port < from.port) {
		from, to = to, from
	}
	source, destination := from.address.As16(), to.address.As16()
	copy(key[:], source[:])
	copy(key[16:], destination[:])
	binary.BigEndian.PutUint16(key[32:], from.port)
	binary.BigEndian.PutUint16(key[34:], to.port)
	clear(key[36:])
	key[36] = r.Protocol
	if k.TOS {
		key[37] = r.TOS
	}
	if k.VLAN {
		binary.BigEndian.PutUint16(key[38:], r.VLAN)
	}
	if k.VRF {
		binary.BigEndian.PutUint32(key[40:], r.VRF)
	}
}

func before(a, b netip.Addr) bool {
	one, other := a.As16(), b.As16()
	return bytes.Compare(one[:], other[:]) < 0
}

// asked returns the type and code of ICMP that an answer answers, so that both directions
// of a ping have one key.
func asked(protocol uint8, typeAndCode uint16) uint16 {
	switch kind := typeAndCode >> 8; {
	case protocol == 1 && kind == 0: // echo
		return 8 << 8
	case protocol == 1 && (kind == 14 || kind == 16 || kind == 18): // time, information, mask
		return typeAndCode - 1<<8
	case protocol == 58 && kind == 129:
		return 128 << 8
	}
	return typeAndCode
}
