// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"fmt"
	"math/bits"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
)

// pcapng reads the pcapng format: any number of sections, each of its own byte
// order and with its own interfaces.
type pcapng struct {
	warn        func(at int, err error)
	big         bool // byte order of the current section
	started     bool // its first section header has been delivered
	packets     bool // a packet has been delivered
	undelivered int  // interface descriptions that header has read and no batch has yet
	ifaceTable
}

func newPcapNG(warn func(at int, err error)) *pcapng {
	return &pcapng{warn: warn, ifaceTable: newIfaceTable()}
}

func (p *pcapng) u32(b []byte) uint32 {
	return encoding.Uint32(b, p.big)
}

// header reads the first section header, and the descriptions of interfaces that follow it
// in head. So the tables have these before the first packet.
func (p *pcapng) header(head []byte) (int, error) {
	if len(head) < encoding.MinBlockLen {
		return encoding.MinBlockLen, nil
	}
	length, err := p.blockLen(head)
	if err != nil {
		return 0, err
	}
	if int(length) > len(head) {
		return int(length), nil
	}
	if err := p.checkTrailer(head[:length], length); err != nil {
		return 0, err
	}
	if err := p.section(head[:length]); err != nil {
		return 0, err
	}
	p.lookAhead(head[length:])
	return 0, nil
}

// lookAhead reads the sound descriptions of interfaces at the start of remainder. Parsing
// reports damage in the description after these.
func (p *pcapng) lookAhead(remainder []byte) {
	for len(remainder) >= encoding.MinInterfaceLen && p.u32(remainder) == capture.BlockInterface {
		length, err := p.blockLen(remainder)
		if err != nil || int(length) > len(remainder) || p.checkTrailer(remainder[:length], length) != nil ||
			p.addInterface(remainder[:length], p.big) != nil {
			return
		}
		p.undelivered++
		remainder = remainder[length:]
	}
}

func (p *pcapng) parse(b *capture.Batch, _ bool) (used, need int, err error) {
	for need == 0 && err == nil {
		if !p.big {
			used = walk(b, used, p.fastPackets)
		}
		used, need, err = p.next(b, used)
	}
	p.packets = p.packets || len(b.Frames) > 0
	return used, need, err
}

// next delivers the block at offset at of b.Buf and returns where it ends. If it stays at at,
// the block needs need bytes, or err is its fault.
func (p *pcapng) next(b *capture.Batch, at int) (end, need int, err error) {
	remainder := b.Buf[at:]
	if len(remainder) < encoding.MinBlockLen {
		return at, encoding.MinBlockLen, nil
	}
	length, err := p.blockLen(remainder)
	if err != nil {
		return at, 0, err
	}
	if int(length) > len(remainder) {
		return at, int(length), nil
	}
	block := remainder[:length:length]
	if err := p.checkTrailer(block, length); err != nil {
		return at, 0, err
	}
	if err := p.block(b, block, uint32(at)); err != nil {
		return at, 0, err
	}
	return at + int(length), 0, nil
}

// blockLen returns the length of the block that remainder, 12 bytes or more, begins with. A
// section header's length is in the byte order that it declares.
func (p *pcapng) blockLen(remainder []byte) (uint32, error) {
	big := p.big
	if le.Uint32(remainder) == capture.BlockSectionHeader {
		switch le.Uint32(remainder[8:12]) {
		case encoding.ByteOrderMagic:
			big = false
		case bits.ReverseBytes32(encoding.ByteOrderMagic):
			big = true
		default:
			return 0, damaged("byte-order magic %x of a section header", remainder[8:12])
		}
	}
	length := encoding.Uint32(remainder[4:8], big)
	switch {
	case length < encoding.MinBlockLen:
		return 0, damaged("block length %d is below %d", length, encoding.MinBlockLen)
	case length&3 != 0:
		return 0, damaged("block length %d is no multiple of 4", length)
	case length > maxBlockLen:
		return 0, damaged("block length %d exceeds %d", length, maxBlockLen)
	}
	return length, nil
}

// checkTrailer compares the lengths at the start and the end of a block. Both are in the same byte
// order, whichever it is.
func (p *pcapng) checkTrailer(block []byte, length uint32) error {
	if last := le.Uint32(block[length-4:]); last != le.Uint32(block[4:]) {
		if le.Uint32(block[4:]) != length {
			last = bits.ReverseBytes32(last)
		}
		return damaged("block lengths %d and %d differ", length, last)
	}
	return nil
}

// block delivers one whole block that lies at offset at of b.Buf.
func (p *pcapng) block(b *capture.Batch, block []byte, at uint32) error {
	typ := p.u32(block)
	switch typ {
	case capture.BlockEnhancedPacket, capture.BlockPacket:
		return p.packet(b, block, at, typ == capture.BlockPacket)
	case capture.BlockSimplePacket:
		return p.simplePacket(b, block, at)
	case capture.BlockSectionHeader:
		if p.started {
			if err := p.section(block); err != nil {
				return err
			}
		}
		p.started = true // header has read the first section
	case capture.BlockInterface:
		if p.undelivered > 0 {
			p.undelivered--
		} else if err := p.addInterface(block, p.big); err != nil {
			return err
		}
	case capture.BlockFileHeader:
		p.warn(int(at), damaged("block of the reserved type 0 left out"))
		return nil
	case capture.BlockCustomNoCopy:
		return nil
	}
	if list := p.optionsAt(block, typ); list < len(block)-4 {
		block, _, _ = p.withoutNoCopy(block, list)
	}
	b.Blocks = append(b.Blocks, capture.Block{
		Type: typ, Offset: at, Len: uint32(len(block)),
		Section: uint32(len(p.sections) - 1), Before: uint32(len(b.Frames)),
	})
	return nil
}

// section begins the section whose header is block.
func (p *pcapng) section(block []byte) error {
	if len(block) < encoding.MinSectionLen {
		return damaged("section header of %d bytes", len(block))
	}
	p.big = le.Uint32(block[8:]) != encoding.ByteOrderMagic
	// Only a new major version breaks old readers.
	major, minor := encoding.Uint16(block[12:], p.big), encoding.Uint16(block[14:], p.big)
	if major != 1 {
		return fmt.Errorf("pcapng version %d.%d: %w", major, minor, capture.ErrNotSupported)
	}
	if err := checkOptions(block[24:len(block)-4], p.big); err != nil {
		return fmt.Errorf("section header: %w", err)
	}
	return p.beginSection(p.big)
}

// packet delivers an enhanced packet block, or an obsolete packet block, which differs only in its
// first word.
func (p *pcapng) packet(b *capture.Batch, block []byte, at uint32, obsolete bool) error {
	if len(block) < encoding.MinPacketLen {
		return damaged("packet block of %d bytes", len(block))
	}
	id := p.u32(block[encoding.PacketInterfaceAt:])
	if obsolete { // 16 bits of interface, 16 bits of drops
		id = uint32(encoding.Uint16(block[encoding.PacketInterfaceAt:], p.big))
	}
	index := uint64(p.first) + uint64(id)
	if index >= uint64(len(p.clocks)) {
		return damaged("packet of interface %d of %d", id, len(p.clocks)-int(p.first))
	}
	clock := &p.clocks[index]
	capLen := p.u32(block[encoding.PacketCapLenAt:])
	if capLen > clock.maxLen {
		return damaged("captured length %d exceeds %d", capLen, clock.maxLen)
	}
	if int(capLen) > len(block)-encoding.MinPacketLen {
		return damaged("captured length %d overruns its block of %d", capLen, len(block))
	}
	if options := int(encoding.PacketHead + pad4(capLen)); options < len(block)-4 {
		block = p.packetOptions(block, options, at)
	}
	b.Frames = append(b.Frames, capture.Frame{
		Time:      clock.nanoseconds(packetTicks(block, p.big)),
		Data:      at + encoding.PacketHead,
		CapLen:    capLen,
		WireLen:   p.u32(block[encoding.PacketWireLenAt:]),
		Interface: uint32(index),
		Record:    at,
		RecordLen: uint32(len(block)),
	})
	return nil
}

// packetTicks returns the time of an enhanced or obsolete packet block, in units of its interface.
func packetTicks(block []byte, big bool) uint64 {
	return uint64(encoding.Uint32(block[encoding.PacketTimeAt:], big))<<32 | uint64(encoding.Uint32(block[encoding.PacketTimeAt+4:], big))
}

// packetOptions removes options that are not to be copied, and ends a broken list where it
// breaks. The packet is sound, and so is the file that the block is copied to.
func (p *pcapng) packetOptions(block []byte, list int, at uint32) []byte {
	block, broken, err := p.withoutNoCopy(block, list)
	if err != nil {
		clear(block[broken : broken+4]) // opt_endofopt with length 0
		p.warn(int(at), damaged("%v", err))
	}
	return block
}

// simplePacket delivers a simple packet block. Its interface is 0. It has no time, and its
// captured length follows from the snap length.
func (p *pcapng) simplePacket(b *capture.Batch, block []byte, at uint32) error {
	if len(block) < encoding.MinSimpleLen {
		return damaged("simple packet block of %d bytes", len(block))
	}
	if int(p.first) == len(p.clocks) {
		return damaged("simple packet without an interface")
	}
	wireLen := p.u32(block[blockHead:])
	capLen, clock := wireLen, &p.clocks[p.first]
	if snap := p.ifaces[p.first].SnapLen; snap != 0 {
		capLen = min(capLen, snap)
	}
	if capLen > clock.maxLen {
		return damaged("captured length %d exceeds %d", capLen, clock.maxLen)
	}
	if int(capLen) > len(block)-encoding.MinSimpleLen {
		return damaged("captured length %d overruns its block of %d", capLen, len(block))
	}
	b.Frames = append(b.Frames, capture.Frame{
		Time:      capture.NoTime,
		Data:      at + encoding.SimpleHead,
		CapLen:    capLen,
		WireLen:   wireLen,
		Interface: p.first,
		Record:    at,
		RecordLen: uint32(len(block)),
	})
	return nil
}

func (p *pcapng) truncated(remainder []byte) error {
	if len(remainder) < encoding.MinBlockLen {
		return fmt.Errorf("block header %w: %d of %d bytes", capture.ErrTruncated, len(remainder), encoding.MinBlockLen)
	}
	length, err := p.blockLen(remainder)
	if err != nil {
		return err
	}
	return fmt.Errorf("block %w: %d of %d bytes", capture.ErrTruncated, len(remainder), length)
}

func (p *pcapng) beforeFirstPacket(remainder []byte) bool {
	if p.packets || len(remainder) < 4 {
		return false
	}
	switch p.u32(remainder) {
	case capture.BlockEnhancedPacket, capture.BlockPacket, capture.BlockSimplePacket:
		return false
	}
	return true
}

func (p *pcapng) tables() ([]capture.Interface, []capture.Section) {
	return p.ifaces[:len(p.ifaces):len(p.ifaces)], p.sections[:len(p.sections):len(p.sections)]
}

// fastPackets is the fast path for the blocks that most files consist of: little-endian
// enhanced packet blocks without options. It describes those from pos on, until frames is
// full or a block comes that is left to p.next: a block of other kinds, with damage, or not read
// whole. It returns how many there are and where they end. Like pcap.walk, it writes frames field
// by field.
func (p *pcapng) fastPackets(frames []capture.Frame, buf []byte, pos uint32) (found int, end uint32) {
	first, clocks := p.first, p.clocks[p.first:]
	for i := range frames {
		at := int(pos)
		if at+encoding.PacketHead > len(buf) {
			return i, pos
		}
		h := (*[encoding.PacketHead]byte)(buf[at : at+encoding.PacketHead])
		id, capLen, length := le.Uint32(h[encoding.PacketInterfaceAt:]), le.Uint32(h[encoding.PacketCapLenAt:]), le.Uint32(h[4:])
		if le.Uint32(h[:]) != capture.BlockEnhancedPacket || uint64(id) >= uint64(len(clocks)) {
			return i, pos
		}
		clock := &clocks[id]
		if capLen > clock.maxLen || length != encoding.MinPacketLen+pad4(capLen) || int(length) > len(buf)-at {
			return i, pos
		}
		next := int(pos + length)
		if le.Uint32(buf[next-4:next]) != length {
			return i, pos
		}
		f := &frames[i]
		f.Time = clock.nanoseconds(uint64(le.Uint32(h[encoding.PacketTimeAt:]))<<32 | uint64(le.Uint32(h[encoding.PacketTimeAt+4:])))
		f.Data = pos + encoding.PacketHead
		f.CapLen = capLen
		f.WireLen = le.Uint32(h[encoding.PacketWireLenAt:])
		f.Interface = first + id
		f.Record = pos
		f.RecordLen = length
		pos += length
	}
	return len(frames), pos
}
