// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// statedSize returns the length that the header of a protocol states for the payload of a
// frame; 0 for other ethertypes, and for an impossible length. Bytes behind it are padding, or
// the trailer of a switch.
func statedSize(typ uint16, payload []byte) int {
	switch typ {
	case iana.TypeARP, iana.TypeRARP:
		return arpSize(payload)
	case iana.TypeGOOSE, iana.TypeGSE, iana.TypeSamples: // IEC 61850-8-1, annex C; IEC 61850-9-2, annex A
		return sizeAt(payload, 8)
	case iana.TypePTP: // IEEE 1588, 13.3
		return sizeAt(payload, 34)
	case iana.TypeLLDP:
		return lldpSize(payload)
	}
	return 0
}

// arpSize is statedSize for ARP (RFC 826).
func arpSize(payload []byte) int {
	const header = 8
	if len(payload) < header {
		return 0
	}
	return header + 2*(int(payload[4])+int(payload[5]))
}

// sizeAt is statedSize for headers of the given length whose second word of 16 bits has the
// length of all.
func sizeAt(payload []byte, header int) int {
	if len(payload) < 4 {
		return 0
	}
	n := int(binary.BigEndian.Uint16(payload[2:]))
	if n < header {
		return 0
	}
	return n
}

// lldpSize is statedSize for LLDP, whose last element has type and length 0 (IEEE 802.1AB,
// 8.5.1). An element begins with 7 bits of type and 9 of length.
func lldpSize(payload []byte) int {
	for o := 0; o+2 <= len(payload); {
		head := int(binary.BigEndian.Uint16(payload[o:]))
		o += 2 + head&0x1ff
		if head == 0 {
			return o
		}
	}
	return 0
}
