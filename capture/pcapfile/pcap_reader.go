// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"

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
	big       bool
	nano      bool
	recordLen uint32 // of a record header
	maxLen    uint32 // of a captured packet
	invalid   uint64 // packets with a fraction of a second or more than that
	swap      swapping
	started   bool // the file header has been delivered
	touched   byte // see touchAhead; means nothing
	ifaces    []capture.Interface
	sections  []capture.Section
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
	return encoding.Uint32(b, p.big)
}

func (p *pcap) header(head []byte) (int, error) {
	if len(head) < PcapHeaderLen {
		return PcapHeaderLen, nil
	}
	major, minor := encoding.Uint16(head[4:], p.big), encoding.Uint16(head[6:], p.big)
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
	p.maxLen = capLenCeiling(iface.LinkType)
	p.ifaces = []capture.Interface{iface}
	p.sections = []capture.Section{{
		Format: capture.FormatPcap, BigEndian: p.big, Nanosecond: p.nano,
		RecordHeader: p.recordLen,
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
		if len(remainder) < int(p.recordLen) || !isBlank(remainder[8:pcapRecordLen]) {
			need, err = p.need(remainder)
			return used, need, err
		}
		if need, err = p.empty(remainder, ended); need > 0 || err != nil {
			return used, need, err
		}
		p.appendEmpty(b, used)
		used += int(p.recordLen)
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

// appendEmpty describes the packet of a record without lengths at used.
func (p *pcap) appendEmpty(b *capture.Batch, used int) {
	tick := int64(1000)
	if p.nano {
		tick = 1
	}
	seconds, fraction := p.u32(b.Buf[used:]), p.u32(b.Buf[used+4:])
	b.Frames = append(b.Frames, capture.Frame{
		Time: int64(seconds)*1e9 + int64(fraction)*tick,
		Data: uint32(used) + p.recordLen, Record: uint32(used), RecordLen: p.recordLen,
	})
	if fraction >= p.second() {
		p.distrust(b.Frames[len(b.Frames)-1:], b.Buf)
	}
}

// isBlank reports whether a part of a record header is all zeros. A header of zeros is a packet of
// 1970 without a length on the wire or captured bytes.
func isBlank(part []byte) bool { return len(bytes.TrimLeft(part, "\x00")) == 0 }

// blank decides about remainder, which begins with a blank record. A single blank record is an odd
// packet. Two blank records in a row, or a blank record and then zeros to the end, were never
// written: a crash left a hole, or the tail was only allocated. Without this rule, each 16 zeros
// would be a packet. It needs need bytes to decide.
func (p *pcap) blank(remainder []byte, ended bool) (need int, err error) {
	after := remainder[p.recordLen:]
	switch {
	case len(after) < pcapRecordLen && !ended:
		return int(p.recordLen) + pcapRecordLen, nil
	case len(after) > 0 && isBlank(after[:min(len(after), pcapRecordLen)]):
		return 0, damaged("zeros in place of records")
	}
	return 0, nil
}

// touchAhead is how many bytes ahead of a record the walk touches the buffer. A record is found by
// the length of the record before, so without this the walk would wait for each record to come
// from the second-level cache. The byte that is read has a use, or else the compiler would drop
// the read.
const touchAhead = 768

// walk describes the whole records from pos on, until frames is full. It returns how many
// there are and where they end. It writes frames field by field: the compiler builds a
// literal elsewhere and copies it, which takes longer than all else here.
func (p *pcap) walk(frames []capture.Frame, buf []byte, pos uint32) (found int, end uint32) {
	found, end, most := p.describe(frames, buf, pos)
	if most >= uint64(p.second()) {
		p.distrust(frames[:found], buf)
	}
	return found, end
}

// distrust removes the times of frames whose fraction of a second is a second or more.
func (p *pcap) distrust(frames []capture.Frame, buf []byte) {
	for i := range frames {
		if f := &frames[i]; p.u32(buf[f.Record+4:]) >= p.second() {
			f.Time = capture.NoTime
			p.invalid++
		}
	}
}

// describe is walk without a conversion of times, and also returns the largest fraction of a
// second.
func (p *pcap) describe(frames []capture.Frame, buf []byte, pos uint32) (found int, end uint32, most uint64) {
	recordLen, maxLen, odd := p.recordLen, p.maxLen, p.big || p.swap != swapNever
	tick := int64(1000)
	if p.nano {
		tick = 1
	}
	early := byte(0)
	for i := range frames {
		at := int(pos) // of 32 bits, so that the compiler knows of no overflow
		if at+pcapRecordLen > len(buf) {
			return i, pos, most
		}
		h := (*[pcapRecordLen]byte)(buf[at : at+pcapRecordLen])
		if at+touchAhead < len(buf) {
			early |= buf[at+touchAhead]
		}
		times, lens := le.Uint64(h[:]), le.Uint64(h[8:])
		if odd {
			times, lens = p.native(times), p.nativeLens(lens)
		}
		size := recordLen + uint32(lens)
		if uint32(lens) > maxLen || int(size) > len(buf)-at || lens == 0 {
			return i, pos, most
		}
		f := &frames[i]
		f.Time = int64(uint32(times))*1e9 + int64(times>>32)*tick
		most = max(most, times>>32)
		f.Data = pos + recordLen
		f.CapLen = uint32(lens)
		f.WireLen = uint32(lens >> 32)
		f.Interface = 0
		f.Record = pos
		f.RecordLen = size
		pos += size
	}
	p.touched = early
	return len(frames), pos, most
}

// need returns how many bytes the record at the end of the walk needs, or its fault.
func (p *pcap) need(remainder []byte) (need int, err error) {
	if len(remainder) < int(p.recordLen) {
		return int(p.recordLen), nil
	}
	capLen := p.capLen(remainder)
	if capLen > p.maxLen {
		return 0, damaged("captured length %d exceeds %d", capLen, p.maxLen)
	}
	return int(p.recordLen + capLen), nil
}

// native returns two integers a and b of 32 bits, a in the low half, that were read as a
// little-endian integer v of 64 bits. Of a big-endian file, from the highest byte to the lowest:
//
//	v               b3 b2 b1 b0 a3 a2 a1 a0   as the file has a0 a1 a2 a3 b0 b1 b2 b3
//	ReverseBytes64  a0 a1 a2 a3 b0 b1 b2 b3
//	RotateLeft64    b0 b1 b2 b3 a0 a1 a2 a3
func (p *pcap) native(v uint64) uint64 {
	if p.big {
		return bits.RotateLeft64(bits.ReverseBytes64(v), 32)
	}
	return v
}

// nativeLens is native for the lengths of a record. The captured length comes into the low half.
func (p *pcap) nativeLens(v uint64) uint64 {
	v = p.native(v)
	if p.swap == swapAlways || p.swap == swapLarger && uint32(v) > uint32(v>>32) {
		return bits.RotateLeft64(v, 32)
	}
	return v
}

// capLen returns the captured length from a record header.
func (p *pcap) capLen(h []byte) uint32 {
	return uint32(p.nativeLens(le.Uint64(h[8:])))
}

func (p *pcap) truncated(remainder []byte) error {
	have, want := len(remainder), int(p.recordLen)
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
