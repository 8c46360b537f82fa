// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
)

// seed and secret key all hashes, which are compared within one process only.
var (
	seed   = maphash.MakeSeed()
	secret = maphash.Comparable(seed, 0)
)

// traits are the parts of a packet that may differ between copies. Long parts are hashes,
// which mean something within one process only. Packets with equal traits have equal bytes.
type traits struct {
	Point CapturePoint
	// VLAN hashes the VLAN tags, Labels the identifiers of all other headers before IP, such
	// as MPLS and tunnels, and MAC the hardware addresses.
	VLAN, Labels, MAC uint64
	// Link hashes the rest before the IP header, or the frame if it has no IP.
	Link uint64
	// Rest hashes the IP header and the bytes behind it, without the fields below.
	Rest    uint64
	Version uint8 // of IP; 0 without
	Routed        // without its Sum, which Derived has
	// Derived is what follows from the other traits, unless it is wrong: the checksum of an
	// IPv4 header, and the interface in a cooked header. The capture's own header, such as
	// radiotap, adds its hash.
	Derived uint64
}

// reader finds the traits of packets, one at a time. It keeps its memory from packet to
// packet, and is for one goroutine at a time.
type reader struct {
	decoder *headers.Decoder
	header  [1]headers.Header
	stack   Stack
	sums    Sums   // of stack
	scratch []byte // the bytes of a frame to hash
	tags    []byte
}

// newReader returns a reader of packets whose identity begins with the IP header that d
// finds.
func newReader(d *headers.Decoder) *reader { return &reader{decoder: d} }

// Offsets in the header of LINKTYPE_LINUX_SLL2.
const (
	cookedReserved = 2
	cookedDevice   = 8  // its type, and how the packet passed it
	cookedBytes    = 11 // of the address
	cookedAddress  = 12
	cookedLen      = 20
)

// read returns the traits of frame i of b. It reads the whole frame, and allocates only
// when a frame is larger than all before. It panics if b has no frame i.
func (r *reader) read(b *capture.Batch, i int) traits {
	data, h := b.Data(i), &r.header[0]
	r.decoder.Decode(r.header[:], b, i)
	r.stack.Read(r.decoder, b, i, h)
	r.sums = r.stack.Sum(data, secret, secret)
	t := traits{Point: CapturePointOf(b, i), Labels: r.sums.Labels, Version: h.Version}
	start := h.Start
	if h.Version == 0 {
		start = h.End // without IP, all bytes count as link header
	}
	link := append(r.scratch[:0], data[:start]...)
	if b.Interfaces[b.Frames[i].Interface].LinkType == capture.LinkLinuxSLL2 && len(link) >= cookedLen {
		// Behind an address of six bytes may stand old bytes of the kernel's ring.
		length := min(int(link[cookedBytes]), cookedLen-cookedAddress)
		t.MAC = maphash.Bytes(seed, link[cookedAddress:cookedAddress+length])
		t.Derived = uint64(binary.BigEndian.Uint32(link[cookedDevice:])) | uint64(binary.BigEndian.Uint16(link[cookedReserved:]))<<48
		// In other headers, the ethertype comes last, before the header that it announces. Moving
		// it there makes tags look the same in all.
		const protocolLen = 2
		copy(link[cookedLen-protocolLen:], link[:protocolLen])
		clear(link[:cookedLen-protocolLen])
	}
	t.MAC = cmp.Or(t.MAC, SumAddresses(link, h, secret))
	for _, a := range addresses(link, h) {
		clear(a)
	}
	link, t.VLAN = r.removeTags(link)
	own := min(headers.CaptureHeader(b, i), uint32(len(link)))
	t.Link = maphash.Bytes(seed, link[own:])
	r.scratch = append(link[:0], data[start:h.End]...)
	if ip := r.scratch; t.Version != 0 {
		t.Routed = RoutedOf(ip)
		t.Derived |= uint64(t.Sum) << 32
		t.Sum = 0
		ClearRouted(ip)
	}
	t.Rest = Mix(maphash.Bytes(seed, r.scratch), maphash.Bytes(seed, data[h.End:]))
	if own > 0 {
		t.Derived ^= maphash.Bytes(seed, data[:own])
	}
	return t
}

// removeTags removes the VLAN tags from a link header, and returns their hash, 0 without
// any.
func (r *reader) removeTags(link []byte) ([]byte, uint64) {
	r.tags = r.tags[:0]
	to, from := 0, 0 // link[:to] is done, link[from:] is left
	for _, l := range r.stack.Layers {
		at, end := int(l.Start)-typeLen, int(l.End)-typeLen
		if l.Kind != headers.LayerVLAN || at < from || end > len(link) {
			continue
		}
		r.tags = append(r.tags, link[at:end]...)
		to += copy(link[to:], link[from:at])
		from = end
	}
	if from == 0 {
		return link, 0
	}
	return link[:to+copy(link[to:], link[from:])], maphash.Bytes(seed, r.tags)
}
