package capture

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// order16 reads an integer in the byte order of its section.
func order16(p []byte, big bool) uint16 {
	if big {
		return bits.ReverseBytes16(binary.LittleEndian.Uint16(p))
	}
	return binary.LittleEndian.Uint16(p)
}

// order32 reads an integer in the byte order of its section.
func order32(p []byte, big bool) uint32 {
	if big {
		return bits.ReverseBytes32(binary.LittleEndian.Uint32(p))
	}
	return binary.LittleEndian.Uint32(p)
}

// Lengths of pcapng blocks with nothing variable in them, trailing length
// included, and of the parts of packet blocks before the packet
// (draft-ietf-opsawg-pcapng, section 4 and appendix A).
const (
	minBlockLen     = 12
	minSectionLen   = 28
	minInterfaceLen = 20
	minPacketLen    = 32
	minSimpleLen    = 16
	packetHead      = minPacketLen - 4
	simpleHead      = minSimpleLen - 4
)

// byteOrderMagic is the third word of a section header.
const byteOrderMagic = 0x1A2B3C4D

// unknownLength is the section length of a section that is not to be skipped as
// a whole (draft-ietf-opsawg-pcapng, section 4.1): -1 in either byte order.
const unknownLength = ^uint64(0)

// maxOption is the longest value that an option can have.
const maxOption = 1<<16 - 1

// Option codes, by the block that they belong to (draft-ietf-opsawg-pcapng, sections
// 3.5 and 4).
const (
	optEnd     = 0 // any block
	optComment = 1

	optUserAppl = 4 // section header: text

	optName     = 2 // interface description
	optSpeed    = 8
	optTSResol  = 9
	optZone     = 10
	optFCSLen   = 13
	optTSOffset = 14
	optTxSpeed  = 16
	optRxSpeed  = 17

	optFlags     = 2 // packets
	optDropCount = 4
	optPacketID  = 5
	optQueue     = 6
	optThread    = 8

	optStatStart    = 2 // statistics: two times and five counters
	optStatEnd      = 3
	optStatReceived = 4
	optStatDropped  = 5
	optStatUser     = 8

	optCustomText     = 2988 // custom options: the number of their author, then data
	optCustomData     = 2989
	optCustomTextOnce = 19372 // not to be copied
	optCustomDataOnce = 19373
)

// optionList walks a pcapng option list: code and length of 16 bits each, and
// the value, padded to 4 bytes. The list ends with optEnd or with its bytes.
type optionList struct {
	rest []byte
	big  bool
}

// next returns the next option, or optEnd. It fails on an option that runs past
// the list, and leaves that in rest.
func (o *optionList) next() (code uint16, value []byte, err error) {
	if len(o.rest) < 4 {
		return optEnd, nil, nil
	}
	code, size := order16(o.rest, o.big), order16(o.rest[2:], o.big)
	if code == optEnd {
		return optEnd, nil, nil
	}
	end := 4 + int(size)
	if end > len(o.rest) {
		return optEnd, nil, fmt.Errorf("option %d of %d bytes runs past its block", code, size)
	}
	value = o.rest[4:end:end]
	o.rest = o.rest[min((end+3)&^3, len(o.rest)):]
	return code, value, nil
}

// beginBlock appends the type of a block and room for its length.
func beginBlock(p []byte, kind uint32) []byte {
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(p, kind), 0)
}

// endBlock fills in both lengths of the block that begins at start.
func endBlock(p []byte, start int) []byte {
	n := uint32(len(p)-start) + 4
	binary.LittleEndian.PutUint32(p[start+4:], n)
	return binary.LittleEndian.AppendUint32(p, n)
}

// appendOption appends one option with its padding; a value that is too long is
// cut.
func appendOption(p []byte, code uint16, value string) []byte {
	value = value[:min(len(value), maxOption)]
	p = binary.LittleEndian.AppendUint16(p, code)
	p = binary.LittleEndian.AppendUint16(p, uint16(len(value)))
	p = append(p, value...)
	return append(p, make([]byte, -len(value)&3)...)
}

// appendCount appends an option that holds a number of 64 bits.
func appendCount(p []byte, code uint16, n uint64) []byte {
	p = binary.LittleEndian.AppendUint16(p, code)
	p = binary.LittleEndian.AppendUint16(p, 8)
	return binary.LittleEndian.AppendUint64(p, n)
}
