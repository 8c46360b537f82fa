// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/flowdedup/flowdedup/capture"
)

// place is where a packet was seen. Code of its own reads it from the frame, since package
// traits is under check, too.
type place struct {
	iface  uint32 // the capture point of the interface
	device uint32 // the interface that a cooked header names
	lan    uint8  // the path through a network of IEC 62439-3, 0 without
}

// placeOf returns where frame i of b was seen.
func placeOf(b *capture.Batch, i int) place {
	frame, it := b.Data(i), &b.Interfaces[b.Frames[i].Interface]
	p := place{iface: it.CapturePoint}
	switch it.LinkType {
	case capture.LinkLinuxSLL2:
		const index = 4 // LINKTYPE_LINUX_SLL2
		if len(frame) >= index+4 {
			p.device = binary.BigEndian.Uint32(frame[index:])
		}
	case capture.LinkEthernet:
		p.lan = lanOf(frame)
		if f := &b.Frames[i]; p.lan == 0 && f.CapLen >= f.WireLen {
			p.lan = trailingLAN(frame, fcsLen(frame, b.FCSLen(i)))
		}
	}
	return p
}

// Ethertypes (IEEE registration authority).
const (
	typeIPv4 = 0x0800
	typeIPv6 = 0x86dd
	typeHSR  = 0x892f
	leastEth = 1501 // lower values are lengths
)

// behindTags returns a frame from the ethertype behind its VLAN tags on, or nil.
func behindTags(frame []byte) []byte {
	const addresses, tag = 12, 4
	for rest := frame[min(addresses, len(frame)):]; len(rest) >= 2; rest = rest[min(tag, len(rest)):] {
		if typ := binary.BigEndian.Uint16(rest); typ != 0x8100 && typ != 0x88a8 && typ != 0x9100 {
			return rest
		}
	}
	return nil
}

// lanOf returns 1 more than the path in the tag of a ring (IEC 62439-3, clause 5), or 0.
func lanOf(frame []byte) uint8 {
	if rest := behindTags(frame); len(rest) >= 6 && binary.BigEndian.Uint16(rest) == typeHSR {
		return 1 + rest[2]>>4
	}
	return 0
}

// fcsLen returns the length of the check sequence of a whole frame: as the capture says, or 4 if it
// says nothing and the last four bytes are the CRC of the bytes before.
func fcsLen(frame []byte, stated int) int {
	const size = 4
	n := len(frame) - size
	if stated == 0 && n >= 2 && frame[n-2] == 0x88 && frame[n-1] == 0xfb && crc32.ChecksumIEEE(frame[:n]) == binary.LittleEndian.Uint32(frame[n:]) {
		return size
	}
	return stated
}

// trailingLAN returns the letter of the LAN in the trailer of a whole frame (IEC 62439-3,
// 4.1.10), or 0. The trailer states the length of the payload with it. Short payloads are
// padded, and the length may be without that.
func trailingLAN(frame []byte, fcs int) uint8 {
	const trailer, padded = 6, 46
	payload := behindTags(frame)
	size := len(payload) - 2 - fcs
	if size < trailer {
		return 0
	}
	typ, payload := binary.BigEndian.Uint16(payload), payload[2:2+size]
	if typ == typeHSR || payload[size-2] != 0x88 || payload[size-1] != 0xfb {
		return 0
	}
	lan, length := payload[size-4]>>4, int(payload[size-4]&0xf)<<8|int(payload[size-3])
	if length != size && (size > padded+trailer || length < trailer || length > size) {
		return 0
	}
	if lan != 0xa && lan != 0xb || stated(typ, payload) > size-trailer {
		return 0
	}
	return 'A' + lan - 0xa
}

// stated returns how much of a payload its ethertype or its IP header counts: all of it
// where IP leaves that open, and 0 where nothing states it.
func stated(typ uint16, payload []byte) int {
	length := 0
	switch {
	case typ < leastEth:
		return int(typ)
	case typ == typeIPv4 && len(payload) >= 20 && payload[0]>>4 == 4:
		header := 4 * int(payload[0]&0xf)
		length = int(binary.BigEndian.Uint16(payload[2:]))
		if header < 20 || length > 0 && length < header {
			return 0 // no header of IP
		}
	case typ == typeIPv6 && len(payload) >= 40 && payload[0]>>4 == 6:
		if length = int(binary.BigEndian.Uint16(payload[4:])); length > 0 {
			length += 40
		}
	default:
		return 0
	}
	if length == 0 {
		return len(payload)
	}
	return length
}
