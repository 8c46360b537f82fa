// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// Ends hashes the common data of both directions of an IPv4 conversation: both ends, each
// an address and a port, and the protocol. It is immutable. The kernel in assembly knows
// where its fields are.
type Ends struct {
	// Keys are XORed to the lower end, the higher end, the protocol, and the sum.
	Keys [4]uint64
	// Ports has all bits set for protocols whose header begins with two ports, and is 0
	// for others, whose ports count as 0.
	Ports [256]uint32
}

const (
	// endsTweakBits has the bits of a tweak of FindDatagrams that hold the first byte of
	// an IPv4 header or mark a fragment. endsTweak is their value in a whole datagram
	// without options.
	endsTweakBits = 0xff<<56 | 0x3fff
	endsTweak     = 0x45 << 56
	// endsLeast is the length of messages that have the ports.
	endsLeast = 20 + 4 - datagramSkip
)

// Hash writes the hash of each message that FindDatagrams has made of a whole IPv4
// datagram in buf. It takes at most 64 messages. It returns a bit for each other message,
// whose hash is undefined. A hash is never 0.
//
// The lower end comes first, so both directions have the same hash. Words, each XORed
// with a key, are multiplied to 128 bits, which are folded.
func (e *Ends) Hash(hashes []uint64, msgs []digest.Message, buf []byte) (others uint64) {
	if len(msgs) == 0 {
		return 0
	}
	if len(buf) < endsLeast {
		return ^uint64(0) >> (64 - len(msgs))
	}
	done, others := e.hashVectors(hashes, msgs, buf)
	if rest := msgs[done:]; len(rest) > 0 {
		others |= e.hashGeneric(hashes[done:], rest, buf) << done
	}
	return others
}

// hashGeneric does it message by message. A CPU cannot predict the mix of versions, so no branch
// depends on them.
func (e *Ends) hashGeneric(hashes []uint64, msgs []digest.Message, buf []byte) (others uint64) {
	hashes, buf = hashes[:len(msgs)], buf[:len(buf):len(buf)]
	for i := range msgs {
		m := &msgs[i]
		differ := m.Tweak&endsTweakBits ^ endsTweak | (uint64(m.Len)-endsLeast)>>63
		other := (differ | -differ) >> 63
		others = others>>1 | other<<63
		at := int(uint64(m.Off) & (other - 1)) // a readable offset
		ends, proto := (*[endsLeast]byte)(buf[at:at+endsLeast]), uint8(m.Tweak>>48)
		ports := binary.BigEndian.Uint32(ends[8:]) & e.Ports[proto]
		hashes[i] = e.HashOne(binary.LittleEndian.Uint64(ends[:]), uint64(ports>>16), uint64(ports&0xffff), proto)
	}
	return others >> (64 - len(msgs))
}

// HashOne returns the hash of a conversation. both has the addresses, little-endian.
func (e *Ends) HashOne(both, src, dst uint64, proto uint8) uint64 {
	a, b := both<<32|src, both&^0xffffffff|dst
	return max(fold(fold(min(a, b)^e.Keys[0], max(a, b)^e.Keys[1])^e.Keys[2]^uint64(proto), e.Keys[3]), 1)
}

// fold multiplies to 128 bits and folds them.
func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}
