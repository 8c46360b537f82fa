// SPDX-License-Identifier: Apache-2.0

// Package encoding encodes and decodes the elements of capture files: integers of both byte
// orders, and the blocks and options of pcapng (draft-ietf-opsawg-pcapng, sections 3 and 4).
package encoding

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// Uint16 reads an integer in the byte order of its section.
func Uint16(p []byte, big bool) uint16 {
	if big {
		return bits.ReverseBytes16(binary.LittleEndian.Uint16(p))
	}
	return binary.LittleEndian.Uint16(p)
}

// Uint32 reads an integer in the byte order of its section.
func Uint32(p []byte, big bool) uint32 {
	if big {
		return bits.ReverseBytes32(binary.LittleEndian.Uint32(p))
	}
	return binary.LittleEndian.Uint32(p)
}

// Lengths of pcapng blocks with nothing variable in them, trailing length
// included, and of the parts of packet blocks before the packet
// (draft-ietf-opsawg-pcapng, section 4 and appendix A).
const (
	MinBlockLen     = 12
	MinSectionLen   = 28
	MinInterfaceLen = 20
	MinPacketLen    = 32
	MinSimpleLen    = 16
	PacketHead      = MinPacketLen - 4
	SimpleHead      = MinSimpleLen - 4
)

// Offsets in an enhanced packet block, behind its type and length (section 4.3). An obsolete packet
// block has the same, but for the interface.
const (
	PacketInterfaceAt = 8
	PacketTimeAt      = 12 // the high half of 64 bits, then the low half
	PacketCapLenAt    = 20
	PacketWireLenAt   = 24
)

// ByteOrderMagic is the third word of a section header.
const ByteOrderMagic = 0x1A2B3C4D

// UnknownLength is the section length of a section that is not to be skipped as
// a whole (draft-ietf-opsawg-pcapng, section 4.1): -1 in either byte order.
const UnknownLength = ^uint64(0)

// maxOption is the longest value that an option can have.
const maxOption = 1<<16 - 1

// Option codes, by the block that they belong to (draft-ietf-opsawg-pcapng, sections
// 3.5 and 4).
const (
	OptEnd     = 0 // any block
	OptComment = 1

	OptUserAppl = 4 // section header: text

	OptName     = 2 // interface description
	OptSpeed    = 8
	OptTSResol  = 9
	OptZone     = 10
	OptFCSLen   = 13
	OptTSOffset = 14
	OptTxSpeed  = 16
	OptRxSpeed  = 17

	OptFlags     = 2 // packets
	OptHash      = 3
	OptDropCount = 4
	OptPacketID  = 5
	OptQueue     = 6
	OptThread    = 8

	OptStatStart    = 2 // statistics: two times and five counters
	OptStatEnd      = 3
	OptStatReceived = 4
	OptStatDropped  = 5
	OptStatUser     = 8

	OptCustomText     = 2988 // custom options: the number of their author, then data
	OptCustomData     = 2989
	OptCustomTextOnce = 19372 // not to be copied
	OptCustomDataOnce = 19373
)

// Options walks a pcapng option list: code and length of 16 bits each, and
// the value, padded to 4 bytes. The list ends with OptEnd or with its bytes.
type Options struct {
	Rest []byte
	Big  bool
}

// Next returns the next option, or OptEnd. It fails on an option that runs past
// the list, and leaves that in rest.
func (o *Options) Next() (code uint16, value []byte, err error) {
	if len(o.Rest) < 4 {
		return OptEnd, nil, nil
	}
	code, size := Uint16(o.Rest, o.Big), Uint16(o.Rest[2:], o.Big)
	if code == OptEnd {
		return OptEnd, nil, nil
	}
	end := 4 + int(size)
	if end > len(o.Rest) {
		return OptEnd, nil, fmt.Errorf("option %d of %d bytes runs past its block", code, size)
	}
	value = o.Rest[4:end:end]
	o.Rest = o.Rest[min((end+3)&^3, len(o.Rest)):]
	return code, value, nil
}

// BeginBlock appends the type of a block and room for its length.
func BeginBlock(p []byte, kind uint32) []byte {
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(p, kind), 0)
}

// EndBlock fills in both lengths of the block that begins at start.
func EndBlock(p []byte, start int) []byte {
	n := uint32(len(p)-start) + 4
	binary.LittleEndian.PutUint32(p[start+4:], n)
	return binary.LittleEndian.AppendUint32(p, n)
}

// AppendOption appends an option with its padding; a value that is too long is
// truncated.
func AppendOption[Value string | []byte](p []byte, code uint16, value Value) []byte {
	value = value[:min(len(value), maxOption)]
	p = binary.LittleEndian.AppendUint16(p, code)
	p = binary.LittleEndian.AppendUint16(p, uint16(len(value)))
	p = append(p, value...)
	return append(p, make([]byte, -len(value)&3)...)
}

// AppendCount appends an option that holds a number of 64 bits.
func AppendCount(p []byte, code uint16, n uint64) []byte {
	p = binary.LittleEndian.AppendUint16(p, code)
	p = binary.LittleEndian.AppendUint16(p, 8)
	return binary.LittleEndian.AppendUint64(p, n)
}

// PutUint32 writes an integer in the byte order of its section.
func PutUint32(p []byte, v uint32, big bool) {
	if big {
		v = bits.ReverseBytes32(v)
	}
	binary.LittleEndian.PutUint32(p, v)
}

// PutPacketHead writes the part before the packet of a little-endian enhanced packet block of size
// bytes.
func PutPacketHead(p []byte, size, number uint32, ticks uint64, capLen, wireLen uint32) {
	const enhancedPacket = 6
	_ = p[PacketHead-1] // a single check of bounds
	binary.LittleEndian.PutUint32(p, enhancedPacket)
	binary.LittleEndian.PutUint32(p[4:], size)
	binary.LittleEndian.PutUint32(p[PacketInterfaceAt:], number)
	binary.LittleEndian.PutUint32(p[PacketTimeAt:], uint32(ticks>>32))
	binary.LittleEndian.PutUint32(p[PacketTimeAt+4:], uint32(ticks))
	binary.LittleEndian.PutUint64(p[PacketCapLenAt:], uint64(capLen)|uint64(wireLen)<<32)
}

// SetLengths writes the lengths of a packet block whose packet begins at offset head.
func SetLengths(block []byte, head, capLen, wireLen uint32, big bool) {
	PutUint32(block[4:], uint32(len(block)), big)
	PutUint32(block[len(block)-4:], uint32(len(block)), big)
	if head == SimpleHead {
		PutUint32(block[8:], wireLen, big)
		return
	}
	PutUint32(block[PacketCapLenAt:], capLen, big)
	PutUint32(block[PacketWireLenAt:], wireLen, big)
}
