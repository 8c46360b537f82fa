// SPDX-License-Identifier: Apache-2.0

package strip

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// Slice says how much is kept of the captured bytes of a packet. The zero value keeps all.
type Slice struct {
	Bytes uint32
	From  Origin // where Bytes are counted from
}

// Origin is where the bytes of a Slice are counted from.
type Origin uint8

// The origins.
const (
	FromFrame Origin = iota
	// FromPayload is the end of the innermost header of TCP, UDP, SCTP, DCCP or ICMP. With any
	// other protocol, and in a fragment after the first, it is the end of the IP header. A
	// frame without IP has no such end, and stays whole.
	FromPayload
)

// sliceLayer begins the text of a Slice from the payload.
const sliceLayer = "l4"

// ParseSlice reads "96", "l4+64", or "l4", which is "l4+0".
func ParseSlice(text string) (Slice, error) {
	digits, behind := strings.CutPrefix(text, sliceLayer)
	if behind && digits == "" {
		digits = "+0"
	}
	rest, plus := strings.CutPrefix(digits, "+")
	n, err := strconv.ParseUint(rest, 10, 31)
	if err != nil || plus != behind || n == 0 && !behind {
		return Slice{}, errors.New("must be a number of bytes from 1 on, such as 96, or l4+64 for 64 bytes behind the innermost TCP or UDP header")
	}
	if behind {
		return Slice{uint32(n), FromPayload}, nil
	}
	return Slice{Bytes: uint32(n)}, nil
}

// None reports whether packets stay whole.
func (s Slice) None() bool { return s == Slice{} }

// String returns the text that ParseSlice reads, "" for None.
func (s Slice) String() string {
	switch {
	case s.None():
		return ""
	case s.From == FromPayload:
		return sliceLayer + "+" + strconv.FormatUint(uint64(s.Bytes), 10)
	}
	return strconv.FormatUint(uint64(s.Bytes), 10)
}

// SliceStats counts packets.
type SliceStats struct {
	Sliced uint64 // packets that lost bytes
	// Whole are packets that could not be cut: without IP, or in a simple packet block of
	// pcapng, which cannot say how much of the packet it has.
	Whole uint64
}

// sliceStep is how many frames are decoded at a time.
const sliceStep = 128

// Slicer cuts the packets of one stream. It is for one goroutine at a time.
type Slicer struct {
	slice   Slice
	decoder *headers.Decoder
	headers [sliceStep]headers.Header
	stats   SliceStats
}

// NewSlicer returns a Slicer. tunnels are the UDP ports of tunnels; nil stands for the
// usual ports.
func NewSlicer(s Slice, tunnels *headers.Tunnels) *Slicer {
	return &Slicer{slice: s, decoder: headers.NewDecoder(headers.DecoderConfig{Inner: true, Tunnels: tunnels})}
}

// Stats returns the counts so far.
func (s *Slicer) Stats() SliceStats { return s.stats }

// Slice cuts the frames of b that drop keeps, and their records, where they lie. A nil drop
// keeps all. The length on the wire stays, as with a capture of that snap length. A hash of
// the packet goes, which is no longer true. Slice panics if drop is not nil and too short.
// It takes constant time for a frame, beyond its headers and options, and allocates nothing.
func (s *Slicer) Slice(b *capture.Batch, drop []uint64) {
	capture.CheckDrop(b, drop)
	for pos := 0; pos < len(b.Frames); {
		lo, hi := capture.NextRun(drop, pos, len(b.Frames))
		for from := lo; from < hi; from += sliceStep {
			s.run(b, from, min(from+sliceStep, hi))
		}
		pos = hi
	}
}

// run cuts frames from to to-1.
func (s *Slicer) run(b *capture.Batch, from, to int) {
	if s.slice.From == FromPayload {
		s.decoder.Decode(s.headers[:to-from], b, from)
	}
	for i := from; i < to; i++ {
		most := s.slice.Bytes
		if s.slice.From == FromPayload {
			most = s.behind(&s.headers[i-from], b.Data(i))
		}
		s.cut(b, i, most)
	}
}

// behind returns where a packet ends that is cut behind its payload's beginning.
func (s *Slicer) behind(h *headers.Header, d []byte) uint32 {
	at := payloadOf(h, d)
	if at > math.MaxUint32-s.slice.Bytes {
		return math.MaxUint32
	}
	return at + s.slice.Bytes
}

// cut shortens frame i if it is longer than most bytes. MaxUint32 says that it has no payload.
func (s *Slicer) cut(b *capture.Batch, i int, most uint32) {
	f := &b.Frames[i]
	if f.CapLen <= most && most < math.MaxUint32 {
		return
	}
	section := &b.Sections[b.Interfaces[f.Interface].Section]
	var r record
	r.set(b, f, section)
	switch {
	case most == math.MaxUint32:
		s.stats.Whole++
	case section.Format == capture.FormatPcap:
		r.pcap(0, most, f.WireLen)
		s.stats.Sliced++
	case r.get(f.Record) == capture.BlockSimplePacket:
		s.stats.Whole++
	default:
		r.pcapng(0, most, f.WireLen, false)
		s.stats.Sliced++
	}
}

const (
	ipv4Head     = 20
	ipv6Head     = 40
	fragmentHead = 8
)

// l4Heads has the lengths of headers behind IP, in bytes. TCP and DCCP state theirs in the
// data offset (RFC 9293, 3.1, and RFC 4340, 5.1).
var l4Heads = [256]uint32{iana.ProtoUDP: 8, iana.ProtoUDPLite: 8, iana.ProtoICMP: 8, iana.ProtoICMPv6: 8, iana.ProtoSCTP: 12}

// payloadOf returns where the payload of the innermost packet begins, or MaxUint32 for a frame
// without IP. It may lie beyond the captured bytes.
func payloadOf(h *headers.Header, d []byte) uint32 {
	switch {
	case h.Version == 0:
		return math.MaxUint32
	case h.L4 == 0:
		return ipEnd(h, d)
	case h.Proto == iana.ProtoTCP:
		return h.L4 + words(d, h.L4+12, 4, 20)
	case h.Proto == iana.ProtoDCCP:
		return h.L4 + words(d, h.L4+4, 0, 12)
	}
	return h.L4 + l4Heads[h.Proto]
}

// words reads the length of a header in 32-bit words, above shift bits of the byte at. It is
// at least least bytes, even where it was not captured.
func words(d []byte, at, shift, least uint32) uint32 {
	if at >= uint32(len(d)) {
		return least
	}
	return max(uint32(d[at]>>shift)*4, least)
}

// ipEnd returns where an IP header ends that no other header follows: in a fragment, or cut
// short.
func ipEnd(h *headers.Header, d []byte) uint32 {
	switch {
	case h.Version == 4 && h.Start < uint32(len(d)):
		return h.Start + max(uint32(d[h.Start]&0xf)*4, ipv4Head)
	case h.Flags&headers.FlagFragment != 0:
		return h.Start + ipv6Head + fragmentHead
	}
	return h.Start + ipv6Head
}
