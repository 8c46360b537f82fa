// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// brokenReach is how many bytes of an IP header FindBroken reads: IPv4 without options.
const brokenReach = 20

// brokenShape says by the first four bits of a tweak how far before its message an IP header
// begins, and which bits of its first 16 bytes, as little-endian words, are the time to live or
// the hop limit. Other messages have none that could be 0.
var brokenShape = [16]struct {
	before uint32
	four   bool
	hops   [2]uint64
}{
	4: {before: datagramSkip, four: true, hops: [2]uint64{0, 0xff}},
	6: {before: datagramSkip, hops: [2]uint64{0xff << 56, 0}},
	7: {before: 8, hops: [2]uint64{0xff << 56, 0}},
}

// FindBroken sets the bits of the messages in broken whose IP headers no receiver takes: the
// checksum of IPv4 is neither right nor 0, or the time to live or hop limit is 0. It changes no
// other bits. msgs and rest are as FindDatagrams leaves them; messages for the slow path are not
// looked at. FindBroken reports whether it set a bit. It panics if broken or rest are too short.
func FindBroken(msgs []digest.Message, rest, broken []uint64, buf []byte) (some bool) {
	words := (len(msgs) + 63) / 64
	rest, broken = rest[:words], broken[:words]
	done := brokenVectors(msgs, rest, broken, buf, &some)
	for w, slow := range rest {
		from := 64 * w
		todo := ^slow & (^uint64(0) >> (64 - min(len(msgs)-from, 64)))
		if left := done - from; left > 0 { // groups of eight are done unless a message takes the slow path
			todo &= slowGroups(slow) | ^(^uint64(0) >> (64 - min(left, 64)))
		}
		for ; todo != 0; todo &= todo - 1 {
			if isBroken(&msgs[from+bits.TrailingZeros64(todo)], buf) {
				broken[w] |= todo & -todo
				some = true
			}
		}
	}
	return some
}

// slowGroups sets all bits of the bytes of slow that are not 0.
func slowGroups(slow uint64) uint64 {
	const low = 0x7f7f7f7f_7f7f7f7f
	some := (slow&low + low | slow) &^ low >> 7
	return some * 0xff
}

// isBroken does one message.
func isBroken(m *digest.Message, buf []byte) bool {
	s := &brokenShape[m.Tweak>>60]
	ip := (*[brokenReach]byte)(buf[m.Off-s.before:])
	a, b := binary.LittleEndian.Uint64(ip[:]), binary.LittleEndian.Uint64(ip[8:])
	if a&s.hops[0]|b&s.hops[1] == 0 && s.before > 0 {
		return true
	}
	const filled = 0xffff << 16 // in b
	// Words of 32 bits are summed, since 2^16 is 1 modulo 0xffff (RFC 1071, section 2).
	sum := a>>32 + a&0xffffffff + b>>32 + b&0xffffffff + uint64(binary.LittleEndian.Uint32(ip[16:]))
	return s.four && b&filled != 0 && sum%0xffff != 0
}
