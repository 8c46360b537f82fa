// SPDX-License-Identifier: Apache-2.0

package xdp

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/bpf"
)

// A batch is full at either limit, as in package afpacket.
const (
	batchPackets = 2 << 10
	batchBytes   = 256 << 10
)

// descriptor is the place of a packet, or of part of a packet, in the UMEM (struct xdp_desc of
// linux/if_xdp.h).
type descriptor struct {
	address uint64 // offset in the memory of the queue
	len     uint32
	options uint32
}

// continued is the option of a descriptor whose packet goes on in the next descriptor
// (XDP_PKT_CONTD).
const continued = 1

// A VLAN tag lies behind the two addresses of an Ethernet frame.
const (
	addressesLen = 12
	tagLen       = 4
)

// maxJoined is more than the kernel spreads over descriptors.
const maxJoined = afpacket.MaxSnapLen

// reader turns descriptors into frames of batches.
type reader struct {
	iface   uint32 // interface number of the frames
	snapLen uint32
	stamped bool         // stamps precede packets
	timed   bool         // and times of the network card precede those
	filter  *bpf.Machine // nil for all packets
	whole   []byte       // a packet that was put together, behind its stamp

	delivered, truncated, tagged, hardware uint64

	lostTags bool // the driver does not report the tags that it removes
	touched  byte // keeps the compiler from leaving touch out
}

// full reports whether a batch has reached a limit.
func full(b *capture.Batch) bool { return len(b.Frames) >= batchPackets || len(b.Buf) >= batchBytes }

// take appends packets to b until it is full, and returns how many descriptors they took.
// The descriptors from from up to, but without, to are in slots, whose length is a power of
// two. A packet whose last part is missing stays there.
//
// take trusts nothing in the slots. An error wraps capture.ErrDamaged; the packets before
// the damage are in b.
func (r *reader) take(b *capture.Batch, memory []byte, slots []descriptor, from, to uint32, now clock) (uint32, error) {
	mask := uint32(len(slots) - 1)
	if to-from > mask+1 {
		return 0, fmt.Errorf("ring of %d descriptors with %d: %w", len(slots), to-from, capture.ErrDamaged)
	}
	b.Frames = slices.Grow(b.Frames, int(min(to-from, batchPackets)))
	at, touched := from, from
	for at != to && !full(b) {
		if at == touched {
			touched = at + min(to-at, touchAhead)
			r.touched += touch(memory, slots, at, touched)
		}
		d := &slots[at&mask]
		switch {
		case !d.within(memory, r.before()):
			return at - from, damaged(d, memory)
		case d.options&continued == 0:
			r.packet(b, d.stamped(memory, r.before()), now)
			at++
			continue
		}
		parts, err := r.join(memory, slots, at, to)
		if parts == 0 {
			return at - from, err
		}
		r.packet(b, r.whole, now)
		at += parts
		touched = at
	}
	return at - from, nil
}

// touchAhead is how many packets are loaded into the cache at a time.
const touchAhead = 64

// touch loads the begins of packets into the cache, all at once: nothing depends on the loaded
// values. Packets lie 2 KiB apart, which is too far for the processor to load the next packet
// ahead, and the kernel has written them on a different processor. Without touch the walk would wait for each in
// turn, which takes half of all time for small packets.
func touch(memory []byte, slots []descriptor, from, to uint32) (sum byte) {
	mask := uint32(len(slots) - 1)
	for ; from != to; from++ {
		if at := slots[from&mask].address - stampLen; at < uint64(len(memory)) {
			sum += memory[at]
		}
	}
	return sum
}

// before is how many bytes may precede a packet.
func (r *reader) before() int {
	if r.timed {
		return timedStampLen
	}
	return tagStampLen
}

// within reports whether the bytes that d describes, and the before bytes in front of them,
// lie in memory.
func (d *descriptor) within(memory []byte, before int) bool {
	return d.address >= uint64(before) && d.address <= uint64(len(memory)) && uint64(d.len) <= uint64(len(memory))-d.address
}

// data returns the bytes that d describes. stamped returns them and the before bytes in front of
// them.
func (d *descriptor) data(memory []byte) []byte { return memory[d.address : d.address+uint64(d.len)] }

func (d *descriptor) stamped(memory []byte, before int) []byte {
	return memory[d.address-uint64(before) : d.address+uint64(d.len)]
}

func damaged(d *descriptor, memory []byte) error {
	return fmt.Errorf("descriptor of %d bytes at %d of %d, options %#x: %w", d.len, d.address, len(memory), d.options, capture.ErrDamaged)
}

// packet appends a packet, unless the filter rejects it. Before the packet lie
// reader.before bytes.
func (r *reader) packet(b *capture.Batch, stamped []byte, now clock) {
	card := int64(0)
	if r.timed {
		card = int64(binary.NativeEndian.Uint64(stamped))
		stamped = stamped[timedStampLen-tagStampLen:]
	}
	data, at, tagged := stamped[tagStampLen:], now.now, false
	if r.stamped {
		stamp := binary.NativeEndian.Uint32(stamped[tagStampLen-stampLen:])
		at = now.at(stamp)
		if stamp&stampTagged != 0 {
			data, tagged = r.tag(stamped)
		}
	}
	if card > 0 {
		at = card
	}
	wireLen := uint32(len(data))
	if r.filter != nil && r.filter.Run(data, wireLen) == 0 {
		return
	}
	capLen := min(wireLen, r.snapLen)
	r.delivered++
	if capLen < wireLen {
		r.truncated++
	}
	if tagged {
		r.tagged++
	}
	if card > 0 {
		r.hardware++
	}
	b.Append(capture.Frame{Time: at, WireLen: wireLen, Interface: r.iface}, data[:capLen])
}

// tag puts the tag before a packet into it, and reports whether there was a tag.
func (r *reader) tag(stamped []byte) (data []byte, done bool) {
	data = stamped[tagStampLen:]
	tag, lost := readTag(stamped)
	if lost || len(data) < addressesLen {
		r.lostTags = r.lostTags || lost
		return data, false
	}
	data = stamped[tagStampLen-tagLen:] // over the stamp
	copy(data, data[tagLen:tagLen+addressesLen])
	binary.BigEndian.PutUint32(data[addressesLen:], tag)
	return data, true
}

// join puts the packet at descriptor at together, and returns how many descriptors it
// took, or 0 if its last part is missing.
func (r *reader) join(memory []byte, slots []descriptor, at, to uint32) (uint32, error) {
	mask := uint32(len(slots) - 1)
	r.whole = append(r.whole[:0], slots[at&mask].stamped(memory, r.before())[:r.before()]...)
	for next := at; next != to; next++ {
		d := &slots[next&mask]
		if !d.within(memory, r.before()) || len(r.whole)+int(d.len) > maxJoined {
			return 0, damaged(d, memory)
		}
		r.whole = append(r.whole, d.data(memory)...)
		if d.options&continued == 0 {
			return next + 1 - at, nil
		}
	}
	if to-at > mask {
		return 0, fmt.Errorf("packet without end: %w", capture.ErrDamaged)
	}
	return 0, nil
}

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
// stamp. lost says that there may be a tag that the driver does not provide.
func readTag(tag []byte) (value uint32, lost bool) {
	kind := uint32(binary.BigEndian.Uint16(tag))
	return kind<<16 | uint32(binary.NativeEndian.Uint16(tag[2:])), kind == 0
}
