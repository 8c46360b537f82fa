// SPDX-License-Identifier: Apache-2.0

package afpacket

import (
	"encoding/binary"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestReached follows frames through stacked interfaces.
func TestReached(t *testing.T) {
	veth := links{{index: 2, lower: 3, name: "left"}, {index: 3, lower: 2, name: "right"}}
	other := link{index: 90, name: "other"}
	for _, c := range []struct {
		name  string
		links links
		want  map[string]string // where frames sent to an interface show up
	}{
		{"alone", links{{index: 2, name: "eth0"}}, map[string]string{"eth0": "eth0", "nope": ""}},
		{"veth", veth, map[string]string{"left": "left right", "right": "left right"}},
		{"VLAN", links{{index: 2, name: "eth0"}, {index: 3, lower: 2, name: "eth0.7"}, {index: 4, lower: 2, name: "eth0.8"}},
			map[string]string{"eth0": "eth0 eth0.7 eth0.8", "eth0.7": "eth0 eth0.7"}},
		{"VLAN in a VLAN", links{{index: 4, lower: 3, name: "eth0.7.1"}, {index: 2, name: "eth0"}, {index: 3, lower: 2, name: "eth0.7"}},
			map[string]string{"eth0": "eth0 eth0.7 eth0.7.1", "eth0.7": "eth0 eth0.7 eth0.7.1", "eth0.7.1": "eth0 eth0.7 eth0.7.1"}},
		{"VLANs at both ends", append(links{{index: 4, lower: 2, name: "left.7"}, {index: 5, lower: 3, name: "right.7"}}, veth...),
			map[string]string{"left": "left left.7 right right.7", "left.7": "left left.7 right right.7"}},
		{"bond", links{{index: 2, master: 4, name: "eth0"}, {index: 3, master: 4, name: "eth1"}, {index: 4, name: "bond0"}},
			map[string]string{"bond0": "bond0 eth0 eth1", "eth0": "bond0 eth0"}},
		{"VLAN over a bond", links{{index: 2, master: 4, name: "eth0"}, {index: 3, master: 4, name: "eth1"}, {index: 4, name: "bond0"}, {index: 5, lower: 4, name: "bond0.7"}},
			map[string]string{"bond0.7": "bond0 bond0.7 eth0 eth1", "eth1": "bond0 bond0.7 eth1"}},
		{"bridge", links{{index: 2, master: 4, name: "eth0"}, {index: 3, master: 4, name: "eth1"}, {index: 4, name: "br0"}},
			map[string]string{"br0": "br0 eth0 eth1", "eth0": "br0 eth0"}},
		{"bridge at the other end", links{{index: 2, lower: 3, name: "left"}, {index: 3, lower: 2, master: 5, name: "right"}, {index: 4, master: 5, name: "eth0"}, {index: 5, name: "br0"}, {index: 6, lower: 5, name: "br0.7"}},
			map[string]string{"left": "br0 br0.7 eth0 left right", "right": "br0 br0.7 left right"}},
		{"two bridges", links{
			{index: 2, lower: 3, master: 8, name: "a"}, {index: 3, lower: 2, master: 9, name: "b"}, {index: 4, lower: 5, master: 8, name: "c"},
			{index: 5, lower: 4, master: 9, name: "d"}, {index: 8, name: "br0"}, {index: 9, name: "br1"},
		}, map[string]string{"a": "a b br0 br1 c d", "br0": "a b br0 br1 c d"}},
		{"macvlans", links{
			{index: 2, name: "eth0"}, {index: 3, lower: 2, switched: true, name: "mac1"}, {index: 4, lower: 2, switched: true, name: "mac2"},
			{index: 5, lower: 2, name: "eth0.7"}, {index: 6, name: "eth1"}, {index: 7, lower: 6, switched: true, name: "mac3"},
		}, map[string]string{"mac1": "eth0 mac1 mac2", "eth1": "eth1 mac3", "eth0.7": "eth0 eth0.7"}},
		{"itself below", links{{index: 2, lower: 2, name: "odd"}}, map[string]string{"odd": "odd"}},
	} {
		for to, want := range c.want {
			var got []string
			for name, seen := range append(c.links, other).reachedFrom(to) {
				if seen {
					got = append(got, name)
				}
			}
			slices.Sort(got)
			if strings.Join(got, " ") != want {
				t.Errorf("%s: sent to %s, seen at %q, want %q", c.name, to, got, want)
			}
		}
	}
}

// TestParseLink reads the kernel's description of an interface.
func TestParseLink(t *testing.T) {
	native := binary.NativeEndian
	message := func(attributes ...any) *syscall.NetlinkMessage {
		m := &syscall.NetlinkMessage{Header: syscall.NlMsghdr{Type: syscall.RTM_NEWLINK}, Data: make([]byte, syscall.SizeofIfInfomsg)}
		native.PutUint32(m.Data[4:], 7)
		for i := 0; i < len(attributes); i += 2 {
			var value []byte
			switch v := attributes[i+1].(type) {
			case string:
				value = append([]byte(v), 0)
			case uint32:
				value = native.AppendUint32(nil, v)
			case []byte:
				value = v
			}
			m.Data = native.AppendUint16(m.Data, uint16(syscall.SizeofRtAttr+len(value)))
			m.Data = native.AppendUint16(m.Data, uint16(attributes[i].(int)))
			m.Data = append(m.Data, value...)
			m.Data = append(m.Data, make([]byte, -len(m.Data)&3)...)
		}
		return m
	}
	for _, c := range []struct {
		m    *syscall.NetlinkMessage
		want link
	}{
		{message(unix.IFLA_IFNAME, "eth0"), link{index: 7, name: "eth0"}},
		{message(unix.IFLA_IFNAME, "eth0.7", unix.IFLA_LINK, uint32(3)), link{index: 7, lower: 3, name: "eth0.7"}},
		{message(unix.IFLA_MASTER, uint32(9), unix.IFLA_IFNAME, "port"), link{index: 7, master: 9, name: "port"}},
		{message(unix.IFLA_IFNAME, "veth", unix.IFLA_LINK, uint32(3), unix.IFLA_LINK_NETNSID, uint32(0)), link{index: 7, name: "veth"}},
		{message(unix.IFLA_IFNAME, "short", unix.IFLA_LINK, "3"), link{index: 7, name: "short"}},
	} {
		if got, err := parseLink(c.m); err != nil || got != c.want {
			t.Errorf("%+v, want %+v: %v", got, c.want, err)
		}
	}
	kind := func(text string) []byte { // with an unrelated attribute before it
		return message(unix.IFLA_INFO_DATA, uint32(1), unix.IFLA_INFO_KIND, text).Data[syscall.SizeofIfInfomsg:]
	}
	for text, want := range map[string]bool{"macvlan": true, "macvtap": true, "ipvlan": true, "vlan": false, "veth": false} {
		if got, err := parseLink(message(unix.IFLA_LINKINFO, kind(text), unix.IFLA_LINK, uint32(3))); err != nil || got != (link{index: 7, lower: 3, switched: want}) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, short := range [][]byte{nil, {1}, {200, 0, 1, 0}} {
		if got, err := parseLink(message(unix.IFLA_LINKINFO, short)); err != nil || got.switched {
			t.Errorf("%x: %+v, %v", short, got, err)
		}
	}
	cut := message(unix.IFLA_IFNAME, "eth0")
	native.PutUint16(cut.Data[syscall.SizeofIfInfomsg:], 200)
	if _, err := parseLink(cut); err == nil {
		t.Error("an attribute beyond the message was read")
	}
}

// TestStampsInHardware asks interfaces that have no card.
func TestStampsInHardware(t *testing.T) {
	for _, name := range []string{"lo", "none", "a name that is too long for an interface"} {
		if StampsInHardware(name) {
			t.Errorf("%s: there is no card", name)
		}
	}
}
