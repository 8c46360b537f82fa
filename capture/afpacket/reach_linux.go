// SPDX-License-Identifier: Apache-2.0

package afpacket

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// ReachedFrom returns the names of the interfaces at which frames sent to an interface
// may show up: that interface, the other end of a veth pair, other macvlans of its lower
// interface, and whatever lies over or under these, such as bonds, bridges and VLANs. An
// interface that does not exist reaches none. The error is the kernel's.
func ReachedFrom(to string) (map[string]bool, error) {
	links, err := readLinks()
	if err != nil {
		return nil, err
	}
	return links.reachedFrom(to), nil
}

// Over returns the names of the interfaces that lie over an interface, such as its bond,
// its bridge and its VLANs. The error is the kernel's.
func Over(name string) ([]string, error) {
	links, err := readLinks()
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(links, func(l link) bool { return l.name == name })
	if at < 0 {
		return nil, nil
	}
	var over []string
	for i := range links {
		if above(&links[i], &links[at]) {
			over = append(over, links[i].name)
		}
	}
	return over, nil
}

// link is an interface and the interfaces that it is tied to, by index; 0 means none.
type link struct {
	index, lower, master int
	name                 string
	switched             bool // exchanges frames with siblings: macvlan, ipvlan
}

// links are the interfaces of a network namespace.
type links []link

func (l links) reachedFrom(to string) map[string]bool {
	w := loopWalk{links: l, sent: map[int]bool{}, received: map[int]bool{}}
	for i := range l {
		if l[i].name == to {
			w.send(&l[i])
			w.over(&l[i])
		}
	}
	seen := map[string]bool{}
	for i := range l {
		seen[l[i].name] = w.sent[l[i].index] || w.received[l[i].index]
	}
	return seen
}

// loopWalk follows frames through interfaces that are stacked on or tied to each other.
type loopWalk struct {
	links          links
	sent, received map[int]bool // by index
}

// pair reports whether a and b are the ends of a veth pair: each names the other.
func pair(a, b *link) bool { return a != b && a.lower == b.index && b.lower == a.index }

// above reports whether a lies over b: a is a VLAN or the like of b, or the bond or bridge of
// b.
func above(a, b *link) bool {
	return a.lower == b.index && b.lower != a.index || b.master == a.index
}

// siblings reports whether a and b lie over the same interface and may exchange frames. Some
// modes do not, such as private macvlan; treating these as siblings is harmless.
func siblings(a, b *link) bool { return a != b && a.switched && b.switched && a.lower == b.lower }

// send follows frames out of an interface: to all interfaces below it, to the other end
// of a pair, and to its siblings.
func (w *loopWalk) send(from *link) {
	if w.sent[from.index] {
		return
	}
	w.sent[from.index] = true
	for i := range w.links {
		switch next := &w.links[i]; {
		case pair(from, next), siblings(from, next):
			w.receive(next)
		case above(from, next):
			w.send(next)
		}
	}
}

// receive follows frames into an interface and into those above it. A bridge sends them
// out again.
func (w *loopWalk) receive(at *link) {
	if w.received[at.index] {
		return
	}
	w.received[at.index] = true
	for i := range w.links {
		next := &w.links[i]
		if above(next, at) {
			w.receive(next)
		}
		if at.master != 0 && next.master == at.master && next != at {
			w.send(next)
		}
	}
}

// over marks the interfaces above at as reached. Frames sent to at do not show up there
// in general, but a program that captures there and sends to at is a mistake all the
// same.
func (w *loopWalk) over(at *link) {
	for i := range w.links {
		if next := &w.links[i]; above(next, at) && !w.received[next.index] {
			w.received[next.index] = true
			w.over(next)
		}
	}
}

// readLinks asks the kernel by netlink. /sys would be wrong in a network namespace
// without its own mount of it.
func readLinks() (links, error) {
	dump, err := syscall.NetlinkRIB(syscall.RTM_GETLINK, syscall.AF_UNSPEC)
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", os.NewSyscallError("netlink", err))
	}
	messages, err := syscall.ParseNetlinkMessage(dump)
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	var all links
	for i := range messages {
		if messages[i].Header.Type != syscall.RTM_NEWLINK {
			continue
		}
		one, err := parseLink(&messages[i])
		if err != nil {
			return nil, fmt.Errorf("list interfaces: %w", err)
		}
		all = append(all, one)
	}
	return all, nil
}

// parseLink reads a struct ifinfomsg and its attributes.
func parseLink(m *syscall.NetlinkMessage) (link, error) {
	attributes, err := syscall.ParseNetlinkRouteAttr(m)
	if err != nil {
		return link{}, err
	}
	native := binary.NativeEndian
	l := link{index: int(native.Uint32(m.Data[4:]))}
	elsewhere := false
	for _, a := range attributes {
		switch {
		case a.Attr.Type == unix.IFLA_IFNAME:
			l.name = unix.ByteSliceToString(a.Value)
		case a.Attr.Type == unix.IFLA_LINK_NETNSID:
			elsewhere = true
		case a.Attr.Type == unix.IFLA_LINKINFO:
			l.switched = switchedKind(a.Value)
		case len(a.Value) < 4:
		case a.Attr.Type == unix.IFLA_LINK:
			l.lower = int(native.Uint32(a.Value))
		case a.Attr.Type == unix.IFLA_MASTER:
			l.master = int(native.Uint32(a.Value))
		}
	}
	if elsewhere {
		l.lower = 0 // the index belongs to the other namespace
	}
	return l, nil
}

// switchedKind reports whether the attributes in IFLA_LINKINFO name a kind of interface whose
// siblings exchange frames.
func switchedKind(info []byte) bool {
	attributes, err := syscall.ParseNetlinkRouteAttr(&syscall.NetlinkMessage{
		Header: syscall.NlMsghdr{Type: syscall.RTM_NEWLINK},
		Data:   append(make([]byte, syscall.SizeofIfInfomsg), info...),
	})
	if err != nil {
		return false // an unknown format: treat it as not switched
	}
	for _, a := range attributes {
		if a.Attr.Type == unix.IFLA_INFO_KIND {
			return slices.Contains([]string{"macvlan", "macvtap", "ipvlan", "ipvtap"}, unix.ByteSliceToString(a.Value))
		}
	}
	return false
}
