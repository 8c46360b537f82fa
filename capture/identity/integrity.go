// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"encoding/binary"
	"math/bits"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// Integrity says whether a packet is as its receiver gets it, as far as the packet itself
// shows.
type Integrity uint8

const (
	// NoChecksum is a whole packet without a checksum that can be verified: a fragment, a
	// protocol other than TCP, UDP and ICMP, UDP over IPv4 without a checksum, IPv4 with
	// options, and IPv6 with extension headers. Options and extensions may name the final end, which
	// the checksum covers in place of the end in the IP header (RFC 8200, section 8.1).
	NoChecksum Integrity = iota
	// ValidChecksum is a whole packet whose checksum of TCP, UDP or ICMP is right.
	ValidChecksum
	// WrongChecksum is a whole packet whose checksum is wrong. A sender's own capture has
	// such packets, if a network card is to fill checksums in.
	WrongChecksum
	// Truncated is a packet that was captured in part. Padding and trailers do not belong to it.
	Truncated
)

// IntegrityOf judges frame i of b, which h describes. It takes time linear in the length of
// the frame.
func IntegrityOf(h *headers.Header, b *capture.Batch, i int) Integrity {
	d := b.Data(i)
	if isTruncated(h, b, i) {
		return Truncated
	}
	plain := h.Version == 4 && h.L4 == h.Start+20 || h.Version == 6 && h.L4 == h.Start+40
	if !plain || h.Flags&headers.FlagFragment != 0 {
		return NoChecksum
	}
	return verify(h, d)
}

// isTruncated reports whether bytes of the packet are missing; padding and trailers are none of it.
func isTruncated(h *headers.Header, b *capture.Batch, i int) bool {
	if h.Version != 0 {
		return isCut(h, b.Data(i), &b.Frames[i])
	}
	var p headers.NonIPParts
	if p.Read(b, i, h) {
		return p.Size < p.Wire
	}
	return h.End-h.Start < h.Wire
}

// isCut reports whether bytes of the datagram are missing that h describes in d, which is of frame
// f. Without a length of its own it ends where the frame does.
func isCut(h *headers.Header, d []byte, f *capture.Frame) bool {
	end := h.WireEnd(d)
	return end > uint64(h.End) && (end != headers.UnknownEnd || f.CapLen < f.WireLen)
}

// verify verifies the checksum behind an IP header without options or extension headers.
func verify(h *headers.Header, d []byte) Integrity {
	segment := d[h.L4:h.End]
	least := 0
	switch h.Proto {
	case iana.ProtoTCP:
		least = 20
	case iana.ProtoUDP:
		if segment = datagramUDP(segment); segment != nil && h.Version == 4 && segment[6]|segment[7] == 0 {
			return NoChecksum
		}
		least = 8
	case iana.ProtoICMP, iana.ProtoICMPv6:
		least = 4
	}
	if least == 0 || len(segment) < least {
		return NoChecksum
	}
	sum := uint64(0)
	if h.Proto == iana.ProtoICMP {
		sum = onesSum(0, segment)
	} else {
		sum = pseudoSum(h, d[h.Start:], uint32(len(segment)), len(segment))
	}
	if h.Proto == iana.ProtoUDP && segment[6]|segment[7] == 0 || foldOnes(sum) != 0xffff {
		return WrongChecksum
	}
	return ValidChecksum
}

// datagramUDP returns as much of the payload of IP as the length of UDP says (RFC 768), nil if
// there is not that much.
func datagramUDP(p []byte) []byte {
	if len(p) < 8 {
		return nil
	}
	n := int(binary.BigEndian.Uint16(p[4:]))
	if n < 8 || n > len(p) {
		return nil
	}
	return p[:n]
}

// pseudoSum returns the sum of the pseudo header of a segment (RFC 9293, section 3.1) behind ip, which
// h describes, and of n bytes behind the addresses, as onesSum does: with little-endian words.
func pseudoSum(h *headers.Header, ip []byte, length uint32, n int) uint64 {
	from, to := 12, 20
	if h.Version == 6 {
		from, to = 8, 40
	}
	return onesSum(uint64(bits.ReverseBytes32(length))+uint64(h.Proto)<<8, ip[from:to+n])
}

// onesSum adds the words of p to a one's complement sum of 64 bits (RFC 1071). Its words are
// little-endian, as swapping the bytes of all words swaps the bytes of their sum. An odd byte at the
// end is followed by 0.
func onesSum(sum uint64, p []byte) uint64 {
	carry := uint64(0)
	for ; len(p) >= 32; p = p[32:] {
		sum, carry = bits.Add64(sum, le64(p), carry)
		sum, carry = bits.Add64(sum, le64(p[8:]), carry)
		sum, carry = bits.Add64(sum, le64(p[16:]), carry)
		sum, carry = bits.Add64(sum, le64(p[24:]), carry)
	}
	for ; len(p) >= 8; p = p[8:] {
		sum, carry = bits.Add64(sum, le64(p), carry)
	}
	last := uint64(0)
	switch n := len(p); {
	case n >= 4: // words that overlap, where they have the same bytes
		last = uint64(binary.LittleEndian.Uint32(p)) | uint64(binary.LittleEndian.Uint32(p[n-4:]))<<(8*(n-4))
	case n > 0:
		last = uint64(p[0]) | uint64(p[n/2])<<(n/2*8) | uint64(p[n-1])<<(8*(n-1))
	}
	sum, carry = bits.Add64(sum, last, carry)
	return sum + carry // the last word is below 2^56, so a sum with a carry has room for it
}

// foldOnes returns the sum of 16 bits.
func foldOnes(sum uint64) uint16 {
	sum = sum>>32 + sum&0xffffffff
	sum = sum>>32 + sum&0xffffffff
	sum = sum>>16 + sum&0xffff
	sum = sum>>16 + sum&0xffff
	return uint16(sum)
}
