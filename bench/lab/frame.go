// SPDX-License-Identifier: Apache-2.0

package lab

import "encoding/binary"

// The traffic has Flows different five-tuples of sourceAddresses sources and destinationAddresses
// destinations. All of them come within any 2*Flows frames. Every repeatEvery-th frame
// repeats the one repeatBehind frames before.
const (
	Flows                = 1 << 20
	sourceAddresses      = 1 << 16
	destinationAddresses = 1 << 8
	repeatEvery          = 10
	repeatBehind         = 64
)

// MinFrame is the length in bytes of the shortest frame, the shortest of Ethernet.
const MinFrame = 60

// The fields that differ from frame to frame.
const (
	sourceAt      = 28 // low half of the IPv4 source
	destinationAt = 33 // last byte of the IPv4 destination
	portAt        = 35 // last byte of the UDP source port
	numberAt      = 42 // UDP payload
)

// scatter is odd, so numbers with different low bits have multiples with different low
// bits.
const scatter = 0x1E3779B1

// header is Ethernet, IPv4 and UDP. No host has the MAC addresses, so the kernel looks no
// further, and the checksum of the IPv4 header need not be right.
const header = "\x02\x00\x00\x00\x00\x02\x02\x00\x00\x00\x00\x01\x08\x00" +
	"\x45\x00\x00\x2e\x00\x00\x40\x00\x40\x11\x00\x00\x0a\x00\x00\x00\x0a\x01\x00\x00" +
	"\x20\x00\x00\x35\x00\x1a\x00\x00"

// NewFrame returns frame 0 in n bytes, at least MinFrame. Bytes beyond MinFrame are
// padding.
func NewFrame(n int) []byte {
	f := make([]byte, n)
	copy(f, header)
	Renumber(f, 0)
	return f
}

// Renumber turns f, which comes from NewFrame, into the given frame of the traffic.
func Renumber(f []byte, frame uint64) {
	number := numberOf(frame)
	binary.NativeEndian.PutUint64(f[numberAt:], number)
	spread := uint32(number) * scatter
	binary.NativeEndian.PutUint16(f[sourceAt:], uint16(spread))
	f[destinationAt] = byte(spread)
	f[portAt] = byte(spread >> 16 & (Flows/sourceAddresses - 1))
}

// numberOf returns the number in the payload of a frame. Frames with the same number are
// equal.
func numberOf(frame uint64) uint64 {
	if frame%repeatEvery == repeatEvery-1 && frame >= repeatBehind {
		return frame - repeatBehind
	}
	return frame
}

// Number returns the number in the payload of f, a frame of the traffic.
func Number(f []byte) uint64 { return binary.NativeEndian.Uint64(f[numberAt:]) }

// Repeats returns how many of the first n frames repeat one before.
func Repeats(n uint64) uint64 {
	return n/repeatEvery - min(n, repeatBehind)/repeatEvery
}
