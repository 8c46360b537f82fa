package capture

import (
	"encoding/binary"
	"strings"
)

// application is what a section says it was written by.
const application = "flowdedup"

// AppendSectionHeader appends the header of a little-endian pcapng section of
// unknown length.
func AppendSectionHeader(p []byte) []byte {
	start := len(p)
	p = beginBlock(p, BlockSectionHeader)
	p = binary.LittleEndian.AppendUint32(p, byteOrderMagic)
	p = binary.LittleEndian.AppendUint16(p, 1)
	p = binary.LittleEndian.AppendUint16(p, 0)
	p = binary.LittleEndian.AppendUint64(p, unknownLength)
	p = appendOption(p, optUserAppl, application)
	p = binary.LittleEndian.AppendUint32(p, optEnd)
	return endBlock(p, start)
}

// AppendInterface appends the little-endian pcapng description of an interface
// whose timestamps count nanoseconds or microseconds. A link type above 65535
// has no place there.
func AppendInterface(p []byte, it *Interface, nanosecond bool) []byte {
	start := len(p)
	p = beginBlock(p, BlockInterface)
	p = binary.LittleEndian.AppendUint16(p, uint16(it.LinkType))
	p = binary.LittleEndian.AppendUint16(p, 0)
	p = binary.LittleEndian.AppendUint32(p, it.SnapLen)
	options := len(p)
	if it.Name != "" {
		p = appendOption(p, optName, strings.ToValidUTF8(it.Name, "\uFFFD"))
	}
	if nanosecond {
		p = appendOption(p, optTSResol, "\x09")
	}
	if it.FCSLen > 0 {
		// In bytes, as the example of the specification and Wireshark have it,
		// although the specification's text says bits.
		p = appendOption(p, optFCSLen, string([]byte{it.FCSLen}))
	}
	if len(p) > options {
		p = binary.LittleEndian.AppendUint32(p, optEnd)
	}
	return endBlock(p, start)
}

// AppendStatistics appends the little-endian pcapng statistics of interface id
// of its section at a time in nanoseconds since 1970, for an interface that
// counts nanoseconds: how many packets it received, and how many of them the
// capture lost.
func AppendStatistics(p []byte, id uint32, time int64, received, dropped uint64) []byte {
	start := len(p)
	p = beginBlock(p, BlockStatistics)
	p = binary.LittleEndian.AppendUint32(p, id)
	p = binary.LittleEndian.AppendUint32(p, uint32(time>>32))
	p = binary.LittleEndian.AppendUint32(p, uint32(time))
	p = appendCount(p, optStatReceived, received)
	p = appendCount(p, optStatDropped, dropped)
	p = binary.LittleEndian.AppendUint32(p, optEnd)
	return endBlock(p, start)
}
