package capture

import (
	"fmt"
	"math/bits"
)

// pcapHeaderLen is the length of a pcap file header.
const pcapHeaderLen = 24

// The magic number and record header length of the modified format.
const (
	magicModified     = 0xA1B2CD34
	modifiedRecordLen = 24
)

// swapping says when a pcap record has its captured length behind its wire
// length, as libpcap has found in the wild (its sf-pcap.c).
type swapping uint8

const (
	swapNever  swapping = iota
	swapAlways          // version 2.0 to 2.2, and 543 of DG/UX
	swapLarger          // 2.3: some writers; told from a captured length above the wire length
)

// pcap reads the pcap format (draft-ietf-opsawg-pcap), the "modified" one of
// Alexey Kuznetzov with 24-byte record headers, and their old versions, of
// which none is refused.
type pcap struct {
	big       bool
	nano      bool
	recordLen uint32 // of a record header
	maxLen    uint32 // of a captured packet
	swap      swapping
	started   bool // the file header has been delivered
	ifaces    []Interface
	sections  []Section
}

// newPcap returns the reader for the variant whose magic number head begins
// with, or nil.
func newPcap(head []byte) *pcap {
	p := &pcap{recordLen: pcapRecordLen}
	magic := le.Uint32(head)
	if head[0] == 0xA1 {
		p.big = true
		magic = bits.ReverseBytes32(magic)
	}
	switch magic {
	case magicMicroseconds:
	case magicNanoseconds:
		p.nano = true
	case magicModified:
		p.recordLen = modifiedRecordLen
	default:
		return nil
	}
	return p
}

func (p *pcap) u32(b []byte) uint32 {
	return order32(b, p.big)
}

func (p *pcap) header(head []byte) (int, error) {
	if len(head) < pcapHeaderLen {
		return pcapHeaderLen, nil
	}
	major, minor := order16(head[4:], p.big), order16(head[6:], p.big)
	switch {
	case major == 2 && minor < 3, major == 543:
		p.swap = swapAlways
	case major == 2 && minor == 3:
		p.swap = swapLarger
	}
	word := p.u32(head[20:])
	iface := Interface{
		LinkType: LinkType(word & 0x03FFFFFF),
		SnapLen:  p.u32(head[16:]),
		// The unit of time is all that the clock of a pcap file has.
		TicksPerSecond: 1e6,
	}
	if word&fcsLenPresent != 0 {
		iface.FCSLen = uint8(word>>28) * 2 // counted in 16-bit words
	}
	if p.nano {
		iface.TicksPerSecond = 1e9
	}
	p.maxLen = capLenCeiling(iface.LinkType)
	p.ifaces = []Interface{iface}
	p.sections = []Section{{
		Format: FormatPcap, BigEndian: p.big, Nanosecond: p.nano,
		RecordHeader: p.recordLen,
	}}
	return 0, nil
}

func (p *pcap) parse(b *Batch) (used, need int, err error) {
	pos := uint32(0)
	if !p.started {
		p.started = true
		b.Blocks = append(b.Blocks, Block{Type: BlockFileHeader, Len: pcapHeaderLen})
		pos = pcapHeaderLen
	}
	frames, buf := b.Frames, b.Buf
	recordLen, maxLen, big, swap := p.recordLen, p.maxLen, p.big, p.swap
	tick := int64(1000)
	if p.nano {
		tick = 1
	}
	need = int(recordLen)
	for len(buf)-int(pos) >= int(recordLen) {
		h := buf[pos:][:16]
		times, lens := le.Uint64(h), le.Uint64(h[8:])
		if big {
			times, lens = swapHalves(times), swapHalves(lens)
		}
		capLen, wireLen := uint32(lens), uint32(lens>>32)
		if swap != swapNever && (swap == swapAlways || capLen > wireLen) {
			capLen, wireLen = wireLen, capLen
		}
		if capLen > maxLen {
			err = damaged("captured length %d exceeds %d", capLen, maxLen)
			break
		}
		size := recordLen + capLen
		if int(size) > len(buf)-int(pos) {
			need = int(size)
			break
		}
		frames = append(frames, Frame{
			// Fractions of a second or more are added as they are.
			Time:      int64(uint32(times))*1e9 + int64(times>>32)*tick,
			Data:      pos + recordLen,
			CapLen:    capLen,
			WireLen:   wireLen,
			Record:    pos,
			RecordLen: size,
		})
		pos += size
	}
	b.Frames = frames
	return int(pos), need, err
}

// swapHalves reverses the bytes of each half of v.
func swapHalves(v uint64) uint64 {
	return bits.RotateLeft64(bits.ReverseBytes64(v), 32)
}

func (p *pcap) cut(rest []byte) error {
	have, want := len(rest), int(p.recordLen)
	if have < want {
		return fmt.Errorf("record header %w: %d of %d bytes", ErrTruncated, have, want)
	}
	capLen, wireLen := p.u32(rest[8:]), p.u32(rest[12:])
	if p.swap == swapAlways || p.swap == swapLarger && capLen > wireLen {
		capLen = wireLen
	}
	return fmt.Errorf("record %w: %d of %d bytes", ErrTruncated, have-want, capLen)
}

// inHeader is never true: what follows the file header is a record.
func (p *pcap) inHeader([]byte) bool { return false }

func (p *pcap) tables() ([]Interface, []Section) {
	return p.ifaces[:1:1], p.sections[:1:1]
}
