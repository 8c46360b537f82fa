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
}

// Interface is one capture point: a pcapng interface, or a pcap file.
type Interface struct {
	Section  uint32 // index into Batch.Sections
	ID       uint32 // number within the section
	LinkType LinkType
	SnapLen  uint32 // 0 means no limit
	FCSLen   uint8  // bytes of frame check sequence at the end of each frame, where the file says so
	// Name is if_name, or empty. Where inputs are joined, a pcap file gives its
	// interface its own name without folders.
	Name string
	// CapturePoint numbers the place where the packets were seen: interfaces of one
	// input that are declared again in a later section under the same name (or
	// number, if unnamed) share it; different inputs never do.
	CapturePoint uint32
	// Timestamp resolution: Ticks units a second (a power of ten or of two),
	// saturated at 1<<63 where the declared resolution is finer, and an offset
	// in seconds.
	TicksPerSecond uint64
	OffsetSeconds  int64
}

// The flags of a pcapng packet (draft-ietf-opsawg-pcapng, section 4.3.1): four bits are
// the length of the frame check sequence in bytes, 0 where it is not known.
const fcsShift, fcsMask = 5, 0xf

// minFCSBits is where an interface's length must be one in bits, as the text of the
// specification has it, although its example and Wireshark have bytes.
const minFCSBits = 16

// FCSLen returns how many bytes of frame check sequence frame i had at its end on the
// wire: by its own flags where pcapng gives such, else by its interface. It is 0 where
// the capture says nothing.
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

// packetFlags returns the flags of a pcapng packet, 0 if it has none.
func (b *Batch) packetFlags(i int) uint32 {
	f := &b.Frames[i]
	section := &b.Sections[b.Interfaces[f.Interface].Section]
	options, end := int(f.Data)+int((f.CapLen+3)&^3), int(f.Record)+int(f.RecordLen)-4
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
