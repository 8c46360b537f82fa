// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
)

// Where a pcapng block's body begins, and the size of the rest of the block.
const (
	blockHead  = 8
	blockFrame = 12
)

// packet writes frame i as an enhanced packet block.
func (w *sectionWriter) packet(b *capture.Batch, i int, id uint32, ticks uint64, options []byte) {
	f := &b.Frames[i]
	n := encoding.MinPacketLen + pad4(f.CapLen) + uint32(len(options))
	encoding.PutPacketHead(w.out.extend(encoding.PacketHead), n, id, ticks, f.CapLen, f.WireLen)
	w.out.write(b.Data(i))
	clear(w.out.extend(int(pad4(f.CapLen) - f.CapLen)))
	w.out.write(options)
	w.u32(n)
}

// block writes block i of the batch as the output's section needs it.
func (w *sectionWriter) block(b *capture.Batch, i int) error {
	k := &b.Blocks[i]
	s := &b.Sections[k.Section]
	if s.Format == capture.FormatPcap || k.Type == capture.BlockSectionHeader {
		return nil
	}
	if k.Type == capture.BlockInterface {
		if err := w.countInterface(k); err != nil {
			return err
		}
	}
	block := b.Block(i)
	if s.BigEndian {
		block = append(w.scratch[:0], block...)
		w.scratch = block
		if !swapBlock(block, k.Type) {
			w.skipped++
			return nil
		}
	}
	if k.Type != capture.BlockStatistics {
		w.out.write(block)
		return nil
	}
	w.statistics(&w.sections[k.Section], block)
	return nil
}

// countInterface numbers the interface that block k describes.
func (w *sectionWriter) countInterface(k *capture.Block) error {
	m := &w.sections[k.Section]
	if m.described == len(m.interfaces) {
		return fmt.Errorf("interface description %d of section %d is not in the table: %w", m.described, k.Section, capture.ErrDamaged)
	}
	t := &w.targets[m.interfaces[m.described]]
	m.described++
	t.id, t.known = w.next, true
	w.next++
	return nil
}

// statistics writes a little-endian interface statistics block with the new
// number of its interface, if that exists.
func (w *sectionWriter) statistics(m *sectionMap, block []byte) {
	if len(block) < blockFrame+4 {
		w.skipped++
		return
	}
	id := le.Uint32(block[blockHead:])
	if uint64(id) >= uint64(m.described) {
		w.skipped++
		return
	}
	p := w.out.extend(blockFrame)
	copy(p, block[:blockHead])
	le.PutUint32(p[blockHead:], w.targets[m.interfaces[id]].id)
	w.out.write(block[blockFrame:])
}

// swapBlock turns a big-endian block into little-endian order in place. It returns false
// for a type whose layout is unknown, and for a block that is damaged inside. Values
// without a byte order (addresses, text, custom data) stay unchanged.
func swapBlock(block []byte, kind uint32) bool {
	body := block[blockHead : len(block)-4]
	ok := true
	switch kind {
	case capture.BlockInterface:
		ok = len(body) >= 8
		if ok {
			swap16(body[:4])
			swap32(body[4:8])
			swapOptions(body[8:], kind)
		}
	case capture.BlockStatistics:
		ok = len(body) >= 12
		if ok {
			swap32(body[:12])
			swapOptions(body[12:], kind)
		}
	case capture.BlockNameResolution:
		// Records look like options. The options follow the record that ends the records.
		swapOptions(body[swapOptions(body, kind):], kind)
	case capture.BlockDecryption:
		ok = swapSecrets(body)
	case capture.BlockCustom:
		ok = len(body) >= 4
		if ok {
			swap32(body[:4])
		}
	case capture.BlockJournal:
	default:
		return false
	}
	swap32(block[:blockHead])
	swap32(block[len(block)-4:])
	return ok
}

// swapSecrets converts a decryption secrets block: type, length, data, options.
func swapSecrets(body []byte) bool {
	if len(body) < 8 {
		return false
	}
	swap32(body[:8])
	size := le.Uint32(body[4:])
	if uint64(size) > uint64(len(body)-8) {
		return false
	}
	swapOptions(body[min(8+int(pad4(size)), len(body)):], capture.BlockDecryption)
	return true
}

// swapOptions turns a big-endian option list into little-endian order in place, and returns
// where it ended. It ends a broken list with zeros, which are an end-of-options mark.
func swapOptions(list []byte, kind uint32) int {
	at := 0
	for len(list)-at >= 4 {
		swap16(list[at : at+4])
		code, size := le.Uint16(list[at:]), int(le.Uint16(list[at+2:]))
		at += 4
		if code == encoding.OptEnd {
			return at
		}
		if size > len(list)-at {
			clear(list[at-4:])
			return len(list)
		}
		swapValue(list[at:at+size], kind, code)
		at = min(at+(size+3)&^3, len(list))
	}
	return at
}

// swapValue converts the integers in the value of one option.
func swapValue(value []byte, kind uint32, code uint16) {
	switch optionInteger(kind, code) {
	case 8:
		if len(value) >= 8 {
			slices.Reverse(value[:8])
		}
	case 4:
		swap32(value)
	}
	if code == encoding.OptCustomText || code == encoding.OptCustomData {
		swap32(value[:min(len(value), 4)])
	}
}

// optionInteger returns the size in bytes of the integers that an option's
// value consists of, or 0.
func optionInteger(kind uint32, code uint16) int {
	switch kind {
	case capture.BlockInterface:
		switch code {
		case encoding.OptSpeed, encoding.OptTSOffset, encoding.OptTxSpeed, encoding.OptRxSpeed:
			return 8
		case encoding.OptZone:
			return 4
		}
	case capture.BlockEnhancedPacket:
		switch code {
		case encoding.OptDropCount, encoding.OptPacketID:
			return 8
		case encoding.OptFlags, encoding.OptQueue, encoding.OptThread:
			return 4
		}
	case capture.BlockStatistics:
		switch {
		case code == encoding.OptStatStart || code == encoding.OptStatEnd:
			return 4 // high and low half of a time
		case code > encoding.OptStatEnd && code <= encoding.OptStatUser:
			return 8
		}
	}
	return 0
}

// swap16 reverses the bytes of each whole 16-bit word of p.
func swap16(p []byte) {
	for ; len(p) >= 2; p = p[2:] {
		le.PutUint16(p, bits.ReverseBytes16(le.Uint16(p)))
	}
}

// swap32 reverses the bytes of each whole 32-bit word of p.
func swap32(p []byte) {
	for ; len(p) >= 4; p = p[4:] {
		le.PutUint32(p, bits.ReverseBytes32(le.Uint32(p)))
	}
}
