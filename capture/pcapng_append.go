package capture

import "strings"

const (
	// application is what the file says it was written by.
	application = "flowdedup"
	// maxOption is the longest value that an option can have.
	maxOption = 1<<16 - 1
)

// Option codes that are written beside those that are read
// (draft-ietf-opsawg-pcapng, section 4.6).
const (
	optReceived = 4
	optDropped  = 5
)

// AppendSectionHeader appends the header of a little-endian pcapng section of
// unknown length.
func AppendSectionHeader(p []byte) []byte {
	start := len(p)
	p = beginBlock(p, BlockSectionHeader)
	p = le.AppendUint32(p, byteOrderMagic)
	p = le.AppendUint16(p, 1)
	p = le.AppendUint16(p, 0)
	p = le.AppendUint64(p, unknownLength)
	p = appendOption(p, optUserAppl, application)
	p = le.AppendUint32(p, optEnd)
	return endBlock(p, start)
}

// AppendInterface appends the little-endian pcapng description of an interface
// whose timestamps count nanoseconds or microseconds. A link type above 65535
// has no place there.
func AppendInterface(p []byte, it *Interface, nanosecond bool) []byte {
	start := len(p)
	p = beginBlock(p, BlockInterface)
	p = le.AppendUint16(p, uint16(it.LinkType))
	p = le.AppendUint16(p, 0)
	p = le.AppendUint32(p, it.SnapLen)
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
		p = le.AppendUint32(p, optEnd)
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
	p = le.AppendUint32(p, id)
	p = le.AppendUint32(p, uint32(time>>32))
	p = le.AppendUint32(p, uint32(time))
	p = appendCount(p, optReceived, received)
	p = appendCount(p, optDropped, dropped)
	p = le.AppendUint32(p, optEnd)
	return endBlock(p, start)
}

// beginBlock appends the type of a block and room for its length.
func beginBlock(p []byte, kind uint32) []byte {
	return le.AppendUint32(le.AppendUint32(p, kind), 0)
}

// endBlock fills in both lengths of the block that begins at start.
func endBlock(p []byte, start int) []byte {
	n := uint32(len(p)-start) + 4
	le.PutUint32(p[start+4:], n)
	return le.AppendUint32(p, n)
}

// appendOption appends one option with its padding; a value that is too long is
// cut.
func appendOption(p []byte, code uint16, value string) []byte {
	value = value[:min(len(value), maxOption)]
	p = le.AppendUint16(p, code)
	p = le.AppendUint16(p, uint16(len(value)))
	p = append(p, value...)
	for n := len(value); n%4 != 0; n++ {
		p = append(p, 0)
	}
	return p
}

// appendCount appends an option that holds a number of 64 bits.
func appendCount(p []byte, code uint16, n uint64) []byte {
	p = le.AppendUint16(p, code)
	p = le.AppendUint16(p, 8)
	return le.AppendUint64(p, n)
}
