// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// brokenReach is how many bytes of an IP header are looked at: IPv4 without options.
const brokenReach = 20

// brokenAt says by the first four bits of a tweak how far before its message an IP header begins.
var brokenAt = [16]uint32{4: datagramSkip, 6: datagramSkip, 7: 8}

// FindBroken sets the bits of the messages in broken whose IP headers no receiver takes: the
// checksum of IPv4 is neither right nor 0, or the time to live or hop limit is 0. It changes no
// other bits. msgs and rest are as FindDatagrams leaves them, which returns FoundBroken if there are
// such messages; messages for the slow path are not looked at. FindBroken panics if broken or rest are
// too short. It has no kernel, since kernels of FindDatagrams find out whether it is needed.
func FindBroken(msgs []digest.Message, rest, broken []uint64, buf []byte) {
	words := (len(msgs) + 63) / 64
	rest, broken = rest[:words], broken[:words]
	for i := range msgs {
		m := &msgs[i]
		before := brokenAt[m.Tweak>>60]
		if before == 0 || rest[i/64]>>(i%64)&1 != 0 {
			continue
		}
		ip := (*[brokenReach]byte)(buf[m.Off-before:])
		hops, wrong := ip[7], false
		if m.Tweak>>60 == 4 {
			hops, wrong = ip[8], ip[10]|ip[11] != 0 && !isMultiple(headerSum(ip))
		}
		if hops == 0 || wrong {
			broken[i/64] |= 1 << (i % 64)
		}
	}
}

// headerSum adds up a header. The sum is a multiple of 0xffff if the checksum is right, in any order of
// bytes (RFC 1071, section 2). Words of 64 bits are added, whose carries count once more, since 2^64 is
// 1 modulo 0xffff.
func headerSum(ip *[brokenReach]byte) uint64 {
	sum, carry := bits.Add64(binary.LittleEndian.Uint64(ip[:]), binary.LittleEndian.Uint64(ip[8:]), 0)
	sum, carry = bits.Add64(sum, uint64(binary.LittleEndian.Uint32(ip[16:])), carry)
	return sum + carry
}

// isMultiple reports whether x is a multiple of 0xffff: its inverse takes these to the smallest numbers.
func isMultiple(x uint64) bool {
	const most = math.MaxUint64 / 0xffff
	const inverse = -most & math.MaxUint64
	return x*inverse <= most
}
