package capture

import (
	"encoding/binary"
	"strings"

	"github.com/flowdedup/flowdedup/capture/internal/encoding"
)

// application is what a section says it was written by.
const application = "flowdedup"

// AppendSectionHeader appends the header of a little-endian pcapng section of
// unknown length.
func AppendSectionHeader(p []byte) []byte {
	start := len(p)
	p = encoding.BeginBlock(p, BlockSectionHeader)
	p = binary.LittleEndian.AppendUint32(p, encoding.ByteOrderMagic)
	p = binary.LittleEndian.AppendUint16(p, 1)
	p = binary.LittleEndian.AppendUint16(p, 0)
	p = binary.LittleEndian.AppendUint64(p, encoding.UnknownLength)
	p = encoding.AppendOption(p, encoding.OptUserAppl, application)
	p = binary.LittleEndian.AppendUint32(p, encoding.OptEnd)
	return encoding.EndBlock(p, start)
}

// AppendInterface appends the little-endian pcapng description of an interface
// whose timestamps count nanoseconds or microseconds. A link type above 65535
// has no place there.
func AppendInterface(p []byte, it *Interface, nanosecond bool) []byte {
	start := len(p)
	p = encoding.BeginBlock(p, BlockInterface)
	p = binary.LittleEndian.AppendUint16(p, uint16(it.LinkType))
	p = binary.LittleEndian.AppendUint16(p, 0)
	p = binary.LittleEndian.AppendUint32(p, it.SnapLen)
	options := len(p)
	if it.Name != "" {
		p = encoding.AppendOption(p, encoding.OptName, strings.ToValidUTF8(it.Name, "\uFFFD"))
	}
	if nanosecond {
		p = encoding.AppendOption(p, encoding.OptTSResol, "\x09")
	}
	if it.FCSLen > 0 {
		// In bytes, as the example of the specification and Wireshark have it,
		// although the specification's text says bits.
		p = encoding.AppendOption(p, encoding.OptFCSLen, string([]byte{it.FCSLen}))
	}
	if len(p) > options {
		p = binary.LittleEndian.AppendUint32(p, encoding.OptEnd)
	}
	return encoding.EndBlock(p, start)
}

// AppendStatistics appends the little-endian pcapng statistics of interface id
// of its section at a time in nanoseconds since 1970, for an interface that
// counts nanoseconds: how many packets it received, and how many of them the
// capture lost.
func AppendStatistics(p []byte, id uint32, time int64, received, dropped uint64) []byte {
	start := len(p)
	p = encoding.BeginBlock(p, BlockStatistics)
	p = binary.LittleEndian.AppendUint32(p, id)
	p = binary.LittleEndian.AppendUint32(p, uint32(time>>32))
	p = binary.LittleEndian.AppendUint32(p, uint32(time))
	p = encoding.AppendCount(p, encoding.OptStatReceived, received)
	p = encoding.AppendCount(p, encoding.OptStatDropped, dropped)
	p = binary.LittleEndian.AppendUint32(p, encoding.OptEnd)
	return encoding.EndBlock(p, start)
}
