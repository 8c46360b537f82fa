package diffs

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/flow"
)

// seed is that of all hashes of traits: only those of one process are compared.
var seed = maphash.MakeSeed()

// Sampler takes samples of one batch at a time. It serves one goroutine.
type Sampler struct {
	decoder *flow.Decoder
	mask    uint64 // digests with these bits 0 are sampled
	header  [1]flow.Header
	samples []sample
	scratch []byte // what is hashed of a frame
}

// NewSampler returns a Sampler of packets whose digests are of the datagram that d finds.
func NewSampler(d *flow.Decoder) *Sampler { return &Sampler{decoder: d} }

// Reset begins a batch of so many packets, and decides which of them are sampled: all with
// certain bits of their digests 0, so that those of a large batch are among those of a
// small one.
func (s *Sampler) Reset(packets int) {
	s.samples = s.samples[:0]
	s.mask = max(sampleEvery, uint64(1)<<bits.Len(uint(packets/samplesPerBatch))) - 1
}

// Add takes samples of the packets of b that have the given digests, the first of which
// is number from.
func (s *Sampler) Add(b *capture.Batch, from int, digests []digest.Digest) {
	for i := range digests {
		if digests[i][1]&s.mask == 0 {
			s.decoder.Decode(s.header[:], b, from+i)
			s.samples = append(s.samples, sample{
				digest: digests[i], frame: uint32(from + i), traits: s.traitsOf(b, from+i, &s.header[0]),
			})
		}
	}
}

// The header of LINKTYPE_LINUX_SLL2.
const (
	cookedIndex   = 4 // of the interface
	cookedAddress = 12
	cookedLen     = 20
)

// traitsOf describes packet i of b.
func (s *Sampler) traitsOf(b *capture.Batch, i int, h *flow.Header) traits {
	f, data := &b.Frames[i], b.Data(i)
	t := traits{point: uint64(f.Interface) << 32}
	start := h.Start
	if h.Version == 0 {
		start = h.End // without IP all is of the link
	}
	link, ip := s.link(data[:start]), data[start:h.End]
	if b.Interfaces[f.Interface].LinkType == capture.LinkLinuxSLL2 && len(link) >= cookedLen {
		t.point |= uint64(binary.BigEndian.Uint32(link[cookedIndex:]))
		t.mac = maphash.Bytes(seed, link[cookedAddress:cookedLen])
		// The protocol, which is a tag's type where there is one, goes to where it is in
		// other headers: in front of what it is of.
		const protocolLen = 2
		copy(link[cookedLen-protocolLen:], link[:protocolLen])
		clear(link[:cookedLen-protocolLen])
	}
	link, t.vlan = cutTags(link, h)
	link, t.mac = cutAddresses(link, h, t.mac)
	s.scratch = append(link, ip...)
	t.ttl = cutHops(s.scratch[len(link):], h.Version)
	s.scratch = append(s.scratch, data[h.End:]...)
	t.remainder = maphash.Bytes(seed, s.scratch)
	return t
}

// link returns a copy of the bytes before the IP header, if there is one.
func (s *Sampler) link(header []byte) []byte {
	s.scratch = append(s.scratch[:0], header...)
	return s.scratch
}

// cutTags takes VLAN tags out of a link header.
func cutTags(link []byte, h *flow.Header) ([]byte, uint64) {
	const typeLen, tagLen = 2, 4
	from := int(h.Tag) - typeLen
	to := from + tagLen*int(h.Tags)
	if h.Tags == 0 || from < 0 || to > len(link) {
		return link, 0
	}
	tags := maphash.Bytes(seed, link[from:to])
	return append(link[:from], link[to:]...), tags
}

// cutAddresses clears the hardware addresses of a link header, which lie before its
// tags. Without any the hash is that of others.
func cutAddresses(link []byte, h *flow.Header, others uint64) ([]byte, uint64) {
	const size = 6
	sum := others
	for _, a := range []struct {
		flag uint8
		at   uint16
	}{{flow.FlagDst, h.Dst}, {flow.FlagSrc, h.Src}} {
		if h.Flags&a.flag == 0 || int(a.at)+size > len(link) {
			continue
		}
		address := link[a.at : a.at+size]
		sum = maphash.Comparable(seed, [2]uint64{sum, maphash.Bytes(seed, address)})
		clear(address)
	}
	return link, sum
}

// cutHops clears what a router changes in an IP header, and returns its hop count.
func cutHops(ip []byte, version uint8) byte {
	at := 7 // hop limit
	if version == 4 {
		at = 8 // time to live
	}
	if len(ip) <= at {
		return 0
	}
	hops := ip[at]
	ip[at] = 0
	if version == 4 && len(ip) >= 12 {
		ip[10], ip[11] = 0, 0 // the checksum
	}
	return hops
}
