// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/frames"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
)

// le is the byte order of most files.
var le = binary.LittleEndian

// PcapHeaderLen is the length of a pcap file header in bytes.
const PcapHeaderLen = 24

// The magic number and record header length of the modified format.
const (
	magicModified     = 0xA1B2CD34
	modifiedRecordLen = 24
)

// swapping says when a pcap record has its captured length after its wire
// length, as libpcap has found in the wild (its sf-pcap.c).
type swapping uint8

const (
	swapNever  swapping = iota
	swapAlways          // version 2.0 to 2.2, and 543 of DG/UX
	swapLarger          // 2.3: some writers; the captured length is then above the wire length
)

// pcap reads the pcap format (draft-ietf-opsawg-pcap), the "modified" format of Alexey Kuznetzov
// with 24-byte record headers, and all old versions of both.
type pcap struct {
	records  frames.Records
	nano     bool
	invalid  uint64 // packets with a fraction of a second or more than that
	swap     swapping
	started  bool // the file header has been delivered
	ifaces   []capture.Interface
	sections []capture.Section
}

// newPcap returns the reader for the variant whose magic number head begins
// with, or nil.
func newPcap(head []byte) *pcap {
	p := &pcap{records: frames.Records{Header: pcapRecordLen, Tick: 1000}}
	magic := le.Uint32(head)
	if head[0] == 0xA1 {
		p.records.Big = true
		magic = bits.ReverseBytes32(magic)
	}
	switch magic {
	case magicMicroseconds:
	case magicNanoseconds:
		p.nano, p.records.Tick = true, 1
	case magicModified:
		p.records.Header = modifiedRecordLen
	default:
		return nil
	}
	return p
}

func (p *pcap) u32(b []byte) uint32 {
	return encoding.Uint32(b, p.records.Big)
}

func (p *pcap) header(head []byte) (int, error) {
	if len(head) < PcapHeaderLen {
		return PcapHeaderLen, nil
	}
	major, minor := encoding.Uint16(head[4:], p.records.Big), encoding.Uint16(head[6:], p.records.Big)
	switch {
	case major == 2 && minor < 3, major == 543:
		p.swap = swapAlways
	case major == 2 && minor == 3:
		p.swap = swapLarger
	}
	word := p.u32(head[20:])
	iface := capture.Interface{
		LinkType: capture.LinkType(word & 0x03FFFFFF),
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
	p.records.Longest = capLenCeiling(iface.LinkType)
	p.ifaces = []capture.Interface{iface}
	p.sections = []capture.Section{{
		Format: capture.FormatPcap, BigEndian: p.records.Big, Nanosecond: p.nano,
		RecordHeader: p.records.Header, Swapped: p.swap == swapAlways,
	}}
	return 0, nil
}

func (p *pcap) parse(b *capture.Batch, ended bool) (used, need int, err error) {
	if !p.started {
		p.started = true
		b.Blocks = append(b.Blocks, capture.Block{Type: capture.BlockFileHeader, Len: PcapHeaderLen})
		used = PcapHeaderLen
	}
	for {
		used = walk(b, used, p.walk)
		remainder := b.Buf[used:]
		if len(remainder) < int(p.records.Header) || !isBlank(remainder[8:pcapRecordLen]) {
			need, err = p.need(remainder)
			return used, need, err
		}
		if need, err = p.empty(remainder, ended); need > 0 || err != nil {
			return used, need, err
		}
		b.Frames = append(b.Frames, p.describe(b.Buf, uint32(used), p.records.Header))
		used += int(p.records.Header)
	}
}

// empty decides about remainder, which begins with a record without lengths. It needs need
// bytes to decide. The header of a joined file looks like such a record: its magic number
// and version stand in the place of a time.
func (p *pcap) empty(remainder []byte, ended bool) (need int, err error) {
	if newPcap(remainder) != nil {
		return 0, damaged("another pcap file begins here: give each file by its name, as files that are joined are read up to here")
	}
	if isBlank(remainder[:8]) {
		return p.blank(remainder, ended)
	}
	return 0, nil
}

// isBlank reports whether a part of a record header is all zeros. A header of zeros is a packet of
// 1970 without a length on the wire or captured bytes.
func isBlank(part []byte) bool { return len(bytes.TrimLeft(part, "\x00")) == 0 }

// blank decides about remainder, which begins with a blank record. A single blank record is an odd
// packet. Two blank records in a row, or a blank record and then zeros to the end, were never
// written: a crash left a hole, or the tail was only allocated. Without this rule, each 16 zeros
// would be a packet. It needs need bytes to decide.
func (p *pcap) blank(remainder []byte, ended bool) (need int, err error) {
	after := remainder[p.records.Header:]
	switch {
	case len(after) < pcapRecordLen && !ended:
		return int(p.records.Header) + pcapRecordLen, nil
	case len(after) > 0 && isBlank(after[:min(len(after), pcapRecordLen)]):
		return 0, damaged("zeros in place of records")
	}
	return 0, nil
}

// walk describes the whole records from pos on, until all is full. It returns how many there are and
// where they end.
func (p *pcap) walk(all []capture.Frame, buf []byte, pos uint32) (found int, end uint32) {
	for ; ; found++ {
		if p.swap == swapNever {
			n, at := p.records.Walk(frames.Of(all[found:]), buf, int(pos))
			found, pos = found+n, uint32(at)
		}
		remainder := buf[pos:]
		if found == len(all) || len(remainder) < int(p.records.Header) || p.lens(remainder) == 0 {
			return found, pos
		}
		size, err := p.need(remainder)
		if err != nil || size > len(remainder) {
			return found, pos
		}
		all[found] = p.describe(buf, pos, uint32(size))
		pos += uint32(size)
	}
}

// describe returns the frame of the record of size bytes at pos.
func (p *pcap) describe(buf []byte, pos, size uint32) capture.Frame {
	h := buf[pos:]
	seconds, fraction, lens := p.u32(h), p.u32(h[4:]), p.lens(h)
	f := capture.Frame{
		Time: int64(seconds)*1e9 + int64(fraction)*int64(p.records.Tick),
		Data: pos + p.records.Header, CapLen: uint32(lens), WireLen: uint32(lens >> 32), Record: pos, RecordLen: size,
	}
	if fraction >= p.second() {
		f.Time = capture.NoTime
		p.invalid++
	}
	return f
}

// need returns how many bytes the record at the end of the walk needs, or its fault.
func (p *pcap) need(remainder []byte) (need int, err error) {
	if len(remainder) < int(p.records.Header) {
		return int(p.records.Header), nil
	}
	capLen := p.capLen(remainder)
	if capLen > p.records.Longest {
		return 0, damaged("captured length %d exceeds %d", capLen, p.records.Longest)
	}
	return int(p.records.Header + capLen), nil
}

// lens returns the lengths of a record from its header h, the captured length in the low half.
func (p *pcap) lens(h []byte) uint64 {
	lens := uint64(p.u32(h[8:])) | uint64(p.u32(h[12:]))<<32
	if p.swap == swapAlways || p.swap == swapLarger && uint32(lens) > uint32(lens>>32) {
		return bits.RotateLeft64(lens, 32)
	}
	return lens
}

// capLen returns the captured length from a record header.
func (p *pcap) capLen(h []byte) uint32 { return uint32(p.lens(h)) }

func (p *pcap) truncated(remainder []byte) error {
	have, want := len(remainder), int(p.records.Header)
	if have < want {
		return fmt.Errorf("record header %w: %d of %d bytes", capture.ErrTruncated, have, want)
	}
	return fmt.Errorf("record %w: %d of %d bytes", capture.ErrTruncated, have-want, p.capLen(remainder))
}

// beforeFirstPacket is never true: a record follows the file header.
func (p *pcap) beforeFirstPacket([]byte) bool { return false }

func (p *pcap) tables() ([]capture.Interface, []capture.Section) {
	return p.ifaces[:1:1], p.sections[:1:1]
}
