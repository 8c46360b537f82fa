// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"encoding/binary"
	"math/bits"

	kernels "github.com/flowdedup/flowdedup/asm/headers"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
	"github.com/flowdedup/flowdedup/layout"
)

// sightingKeys key the hashes of sightings. A hash XORs each word with a key, multiplies
// two of them to 128 bits, and folds the product. Unlike asm/digest it needs no buffer
// of messages and takes two nanoseconds. 64 bits are enough for tables of conversations,
// where a collision costs a worse choice and nothing else.
type sightingKeys struct {
	words [8]uint64
	ends  kernels.Ends // hashes conversations of IPv4
}

// newSightingKeys makes keys from a seed (SplitMix64: Steele, Lea, Flood: Fast splittable
// pseudorandom number generators, 2014).
func newSightingKeys(seed uint64) (k sightingKeys) {
	for i := range k.words {
		seed += 0x9e3779b97f4a7c15
		k.words[i] = layout.Mix(seed)
	}
	k.ends = kernels.Ends{Keys: [4]uint64{k.words[0], k.words[1], k.words[2], k.words[5]}, Ports: iana.PortMask}
	return k
}

// fold multiplies to 128 bits and folds them.
func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

// header returns both hashes of frame i of b, which h describes: see Sightings.
func (k *sightingKeys) header(h *headers.Header, b *capture.Batch, i int) (conversation, after uint64) {
	switch {
	case h.Flags&headers.FlagFragment != 0:
		return k.fragment(h, b.Data(i)[h.Start:h.End])
	case h.Version != 0:
		return k.conversation(h, b.Buf[b.Frames[i].Data+h.Start:]), 0
	}
	return 0, 0
}

// conversation hashes the two ends and the protocol. ip begins with the IP header that h
// describes.
func (k *sightingKeys) conversation(h *headers.Header, ip []byte) uint64 {
	if h.Version == 4 {
		return k.ends.HashOne(le64(ip[12:]), uint64(h.SrcPort), uint64(h.DstPort), h.Proto)
	}
	return k.conversation6(ip, uint64(h.SrcPort), uint64(h.DstPort), h.Proto)
}

// conversation6 hashes a conversation of IPv6. The lower end, in whatever order, comes
// first, so that both directions have the same hash. A CPU cannot predict directions, so no
// branch depends on them. ip begins with the IP header.
func (k *sightingKeys) conversation6(ip []byte, src, dst uint64, proto uint8) uint64 {
	s0, s1, d0, d1 := addresses6(ip)
	_, greater := bits.Sub64(dst, src, 0)
	_, greater = bits.Sub64(d1, s1, greater)
	_, greater = bits.Sub64(d0, s0, greater)
	swap := -greater
	x0, x1, x := (s0^d0)&swap, (s1^d1)&swap, (src^dst)&swap
	return k.sum(s0^x0, s1^x1, d0^x0, d1^x1, (src^x)<<48|(dst^x)<<32|6<<8|uint64(proto))
}

func addresses6(ip []byte) (s0, s1, d0, d1 uint64) {
	ip = ip[8:40]
	return le64(ip), le64(ip[8:]), le64(ip[16:]), le64(ip[24:])
}

// sum hashes two addresses and the rest of a key. It is never 0.
func (k *sightingKeys) sum(a0, a1, b0, b1, rest uint64) uint64 {
	return max(fold(fold(a0^k.words[0], b0^k.words[1])^rest^k.words[2], fold(a1^k.words[3], b1^k.words[4])^k.words[5]), 1)
}

// fragment returns both hashes of a fragment: its conversation, and for a first fragment the
// conversation of the fragments after it. ip is its datagram.
func (k *sightingKeys) fragment(h *headers.Header, ip []byte) (conversation, after uint64) {
	id, first := fragmentID(h, ip)
	datagram := k.datagram(h, ip, id)
	if first {
		return k.conversation(h, ip), datagram
	}
	return datagram, 0
}

// fragmentID returns the identification of a fragment, and whether it is the first of its datagram.
func fragmentID(h *headers.Header, ip []byte) (id uint32, first bool) {
	if h.Version == 4 {
		return uint32(binary.BigEndian.Uint16(ip[4:])), binary.BigEndian.Uint16(ip[6:])&0x1fff == 0
	}
	// Header.extensions has come this way, so all that is read here was captured.
	for proto, o := ip[6], 40; ; {
		length := 8 * (1 + int(ip[o+1]))
		switch proto {
		case iana.ProtoAH:
			length = 8 + 4*int(ip[o+1])
		case iana.ProtoFragment:
			if place := binary.BigEndian.Uint16(ip[o+2:]); place&^6 != 0 {
				return binary.BigEndian.Uint32(ip[o+4:]), place>>3 == 0
			}
			length = 8
		}
		proto, o = ip[o], o+length
	}
}

// datagram hashes what all fragments of a datagram have in common. In IPv6 the protocol
// is not part of that: each fragment has its own.
func (k *sightingKeys) datagram(h *headers.Header, ip []byte, id uint32) uint64 {
	const fragments = 1 << 16 // keeps them apart from packets with such ports
	rest := uint64(id)<<32 | fragments | uint64(h.Version)<<8
	if h.Version == 4 {
		rest |= uint64(h.Proto)
		return k.sum(le64(ip[12:]), 0, 0, 0, rest)
	}
	s0, s1, d0, d1 := addresses6(ip)
	return k.sum(s0, s1, d0, d1, rest)
}

// then returns the hash of a sequence of words with one more word at its end.
func (k *sightingKeys) then(hash, word uint64) uint64 { return fold(hash^word, k.words[7]) }

// layer returns the hash of a sequence of layers with one more. VLAN 0 is none.
func (k *sightingKeys) layer(hash uint64, kind headers.LayerKind, id uint32) uint64 {
	if kind == headers.LayerVLAN && id == 0 {
		return hash
	}
	return k.then(hash, uint64(kind)<<32|uint64(id))
}

func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// Mix hashes two words, by the folded product of wyhash.
func Mix(a, b uint64) uint64 {
	high, low := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xbf58476d1ce4e5b9)
	return high ^ low ^ a
}
