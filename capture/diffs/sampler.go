package diffs

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/flow"
)

// seed is the seed of all hashes, which are compared within one process only.
var seed = maphash.MakeSeed()

// Sampler samples the packets of one batch at a time. One goroutine at a time may use it.
type Sampler struct {
	decoder *flow.Decoder
	mask    uint64 // packets are sampled if these bits of their digest are 0
	header  [1]flow.Header
	samples []sample
	scratch []byte // the bytes of a frame to hash
}

// NewSampler returns a Sampler for packets whose digests cover the datagram that d finds.
func NewSampler(d *flow.Decoder) *Sampler { return &Sampler{decoder: d} }

// Reset begins a batch of so many packets, and decides which of them are sampled. Those
// of a large batch must have more bits 0 in their digests, so a packet that a large batch
// samples would be sampled in a small batch too.
func (s *Sampler) Reset(packets int) {
	s.samples = s.samples[:0]
	s.mask = max(sampleEvery, uint64(1)<<bits.Len(uint(packets/samplesPerBatch))) - 1
}

// Add samples the packets of b that have the given digests. The first of them is number
// from.
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

// Offsets in the header of LINKTYPE_LINUX_SLL2.
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
		start = h.End // without IP, all bytes count as link header
	}
	link, ip := s.link(data[:start]), data[start:h.End]
	if b.Interfaces[f.Interface].LinkType == capture.LinkLinuxSLL2 && len(link) >= cookedLen {
		t.point |= uint64(binary.BigEndian.Uint32(link[cookedIndex:]))
		t.mac = maphash.Bytes(seed, link[cookedAddress:cookedLen])
		// In other headers, the ethertype comes last, before what it announces. Moving it
		// there makes tags look the same in all.
		const protocolLen = 2
		copy(link[cookedLen-protocolLen:], link[:protocolLen])
		clear(link[:cookedLen-protocolLen])
	}
	link, t.vlan = removeTags(link, h)
	link, t.mac = clearAddresses(link, h, t.mac)
	s.scratch = append(link, ip...)
	t.ttl = clearHops(s.scratch[len(link):], h.Version)
	s.scratch = append(s.scratch, data[h.End:]...)
	t.remainder = maphash.Bytes(seed, s.scratch)
	return t
}

// link returns a copy of the bytes before the IP header.
func (s *Sampler) link(header []byte) []byte {
	s.scratch = append(s.scratch[:0], header...)
	return s.scratch
}

// removeTags removes the VLAN tags from a link header, and returns their hash.
func removeTags(link []byte, h *flow.Header) ([]byte, uint64) {
	const typeLen, tagLen = 2, 4
	from := int(h.Tag) - typeLen
	to := from + tagLen*int(h.Tags)
	if h.Tags == 0 || from < 0 || to > len(link) {
		return link, 0
	}
	tags := maphash.Bytes(seed, link[from:to])
	return append(link[:from], link[to:]...), tags
}

// clearAddresses clears the hardware addresses of a link header, which lie before its
// tags, and returns their hash. Without any, the hash is others.
func clearAddresses(link []byte, h *flow.Header, others uint64) ([]byte, uint64) {
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

// clearHops clears what a router changes in an IP header, and returns its hop count.
func clearHops(ip []byte, version uint8) byte {
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
