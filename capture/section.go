// SPDX-License-Identifier: Apache-2.0

package capture

import "github.com/flowdedup/flowdedup/capture/internal/encoding"

// Format is a capture file format.
type Format uint8

// The formats that are read and written.
const (
	FormatPcap Format = iota + 1
	FormatPcapNG
)

// String returns "pcap" or "pcapng".
func (f Format) String() string {
	if f == FormatPcapNG {
		return "pcapng"
	}
	return "pcap"
}

// pcapng block types (draft-ietf-opsawg-pcapng, section 11.1), and our own
// number for the file header of a pcap file, which pcapng reserves.
const (
	BlockFileHeader     uint32 = 0
	BlockSectionHeader  uint32 = 0x0A0D0D0A
	BlockInterface      uint32 = 1
	BlockPacket         uint32 = 2 // obsolete
	BlockSimplePacket   uint32 = 3
	BlockNameResolution uint32 = 4
	BlockStatistics     uint32 = 5
	BlockEnhancedPacket uint32 = 6
	BlockJournal        uint32 = 9 // systemd: text, and no options
	BlockDecryption     uint32 = 10
	BlockCustom         uint32 = 0x00000BAD
	BlockCustomNoCopy   uint32 = 0x40000BAD
)

// Section is a pcapng section, or a whole pcap file.
type Section struct {
	Input     int    // index of the input it came from
	Format    Format // of the input
	BigEndian bool   // byte order of its integers
	// The rest describes pcap files only.
	Nanosecond   bool   // timestamps count nanoseconds, not microseconds
	RecordHeader uint32 // bytes before each packet: 16, or 24 in the modified format
	Swapped      bool   // before version 2.3: each record has its length on the wire first
}

// Interface describes a pcapng interface, or a pcap file.
type Interface struct {
	Section  uint32 // index into Batch.Sections
	ID       uint32 // number within the section
	LinkType LinkType
	SnapLen  uint32 // 0 means no limit
	FCSLen   uint8  // bytes of frame check sequence at the end of each frame; 0 if not stated
	// Name is if_name, or empty. With several inputs, the interface of a pcap file has
	// the name of the file, without folders.
	Name string
	// CapturePoint numbers the capture point (RFC 7011: observation point). Interfaces
	// of the same input share it if a later section declares them again under the same name
	// (or number, if unnamed). Interfaces of different inputs never do.
	CapturePoint uint32
	// Origin, if not nil, points at the CapturePoint at which the capture began that goes on
	// here, as in the files of a rotated capture: see OriginPoint. It must not be read before
	// a batch with a packet of the interface.
	Origin *uint32
	// TicksPerSecond is the resolution of timestamps: a power of ten or of two, at most
	// 1<<63. OffsetSeconds (if_tsoffset) is added to each.
	TicksPerSecond uint64
	OffsetSeconds  int64
	// Derived says that no block and no file header describes the interface: package
	// strip made it, for packets of tunnels that came through a described interface. A pcapng writer
	// describes it when its first packet comes. ID means nothing then.
	Derived bool
}

// OriginPoint returns the number of the capture point at which the capture of the interface
// began: of the first of several files that follow each other, else CapturePoint.
func (f *Interface) OriginPoint() uint32 {
	if f.Origin == nil {
		return f.CapturePoint
	}
	return *f.Origin
}

// The flags of a pcapng packet (draft-ietf-opsawg-pcapng, section 4.3.1): four bits are
// the length of the frame check sequence in bytes, 0 where it is not known.
const fcsShift, fcsMask = 5, 0xf

// minFCSBits is the least if_fcslen that must be in bits. The text of the specification
// says bits; its example and Wireshark use bytes.
const minFCSBits = 16

// FCSLen returns how many bytes of frame check sequence frame i had at its end on the wire. It
// follows from the flags of the packet in pcapng, else from its interface. It is 0 if the
// capture does not say.
func (b *Batch) FCSLen(i int) int {
	if n := b.packetFlags(i) >> fcsShift & fcsMask; n > 0 {
		return int(n)
	}
	n := int(b.Interfaces[b.Frames[i].Interface].FCSLen)
	if n >= minFCSBits {
		return n / 8
	}
	return n
}

// HasOptions reports whether the record of frame i has bytes behind the frame, such as pcapng options.
func (b *Batch) HasOptions(i int) bool {
	options, end := b.options(i)
	return options < end
}

// options returns where the options of frame i begin and end, if its record is a pcapng block.
func (b *Batch) options(i int) (from, to int) {
	f := &b.Frames[i]
	return int(f.Data) + int((f.CapLen+3)&^3), int(f.Record) + int(f.RecordLen) - 4
}

// packetFlags returns the flags of a pcapng packet, 0 if it has none.
func (b *Batch) packetFlags(i int) uint32 {
	f := &b.Frames[i]
	section := &b.Sections[b.Interfaces[f.Interface].Section]
	options, end := b.options(i)
	if section.Format != FormatPcapNG || options >= end {
		return 0
	}
	switch encoding.Uint32(b.Buf[f.Record:], section.BigEndian) {
	case BlockEnhancedPacket, BlockPacket:
	default:
		return 0
	}
	for o := (encoding.Options{Rest: b.Buf[options:end], Big: section.BigEndian}); ; {
		code, value, err := o.Next()
		switch {
		case err != nil, code == encoding.OptEnd:
			return 0
		case code == encoding.OptFlags && len(value) >= 4:
			return encoding.Uint32(value, section.BigEndian)
		}
	}
}
