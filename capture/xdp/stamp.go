// SPDX-License-Identifier: Apache-2.0

package xdp

import "encoding/binary"

// The XDP program puts a stamp before each packet: when it saw the packet. The kernel
// copies that together with the packet (XDP metadata). With a stamp, a minimal frame of 60
// bytes just fills a line of the cache.
//
// Before the stamp lies the VLAN tag that the driver took off, if the stamp says so: its type
// in network byte order, then its control information. Type 0 means that the driver does not
// report it. With Config.HardwareTime the time of the network card lies before that, in
// nanoseconds, or 0.
const (
	stampLen      = 4
	tagStampLen   = stampLen + tagLen
	timedStampLen = tagStampLen + 8
	// stampShift turns nanoseconds of CLOCK_TAI into units of 64 ns. They wrap after 275 s.
	stampShift = 6
	// stampTagged is the bit of a stamp that says that there is a tag.
	stampTagged = 1
)

// clock turns stamps into times of packets.
type clock struct {
	now int64 // nanoseconds since 1970, for packets without a stamp
	tai int64 // lead of CLOCK_TAI over that, in nanoseconds
}

// at returns the time of a packet that was seen at most half of 275 s ago. Memory that
// never had a stamp has 0.
func (c clock) at(stamp uint32) int64 {
	if stamp == 0 {
		return c.now
	}
	age := int32(uint32((c.now+c.tai)>>stampShift)&^stampTagged - stamp&^stampTagged)
	return c.now - int64(age)<<stampShift
}

// readTag returns the tag of a packet, type and control information, from the bytes before its
// stamp. lost says that there may be one that the driver does not provide.
func readTag(tag []byte) (value uint32, lost bool) {
	kind := uint32(binary.BigEndian.Uint16(tag))
	return kind<<16 | uint32(binary.NativeEndian.Uint16(tag[2:])), kind == 0
}
