// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
)

// Comments on packets whose time is the time of the packet before, or 0.
const (
	commentTimeTaken = "no timestamp in the original (simple packet block): that of the preceding packet"
	commentTimeZero  = "no timestamp in the original (simple packet block)"
)

// conversion is the conversion of a packet block of a pcapng input.
type conversion uint8

const (
	renumbered conversion = iota // the same block, with a new number of its interface
	swapped                      // the same simple packet block in the other byte order
	rebuilt                      // an enhanced packet block with a list of options made anew
	givenTime                    // the same of a packet that has no time
)

// conversionOf chooses the conversion of a block. A simple packet block can neither name an
// interface but 0 nor hold a comment.
func (w *sectionWriter) conversionOf(b *capture.Batch, i int, big bool) conversion {
	commented := len(b.Comments.Of(i)) > 0
	switch kind := encoding.Uint32(b.Record(i), big); {
	case kind == capture.BlockSimplePacket && (w.isTimed(b.Frames[i].Interface) || commented):
		return givenTime
	case kind == capture.BlockSimplePacket && big:
		return swapped
	case kind == capture.BlockPacket || kind == capture.BlockEnhancedPacket && (big || commented):
		return rebuilt
	}
	return renumbered
}

// isTimed reports whether simple packet blocks of an interface become enhanced packet blocks: its
// number is not 0. Derived interfaces are never number 0.
func (w *sectionWriter) isTimed(at uint32) bool {
	return int(at) >= len(w.targets) || !w.targets[at].known || w.targets[at].id != 0
}

// blockLen returns how long the block becomes that packetBlock writes for frame i.
func (w *sectionWriter) blockLen(b *capture.Batch, i int, big, afterTimed bool) uint32 {
	f := &b.Frames[i]
	switch w.conversionOf(b, i, big) {
	case rebuilt:
		return encoding.MinPacketLen + pad4(f.CapLen) + uint32(len(w.rebuiltList(b, i, big)))
	case givenTime:
		return encoding.MinPacketLen + pad4(f.CapLen) + uint32(len(w.timedList(b, i, afterTimed)))
	}
	return f.RecordLen
}

// packetBlock writes frame i of a pcapng input.
func (w *sectionWriter) packetBlock(b *capture.Batch, i int, t *target) {
	record := b.Record(i)
	big := t.origin == fromBig
	switch w.conversionOf(b, i, big) {
	case rebuilt:
		// Obsolete and enhanced packet blocks differ only in the first word.
		w.packet(b, i, t.id, packetTicks(record, big), w.rebuiltList(b, i, big))
	case givenTime:
		w.timedPacket(b, i, t)
	case swapped:
		p := w.out.extend(encoding.SimpleHead)
		le.PutUint32(p, capture.BlockSimplePacket)
		le.PutUint32(p[4:], uint32(len(record)))
		le.PutUint32(p[8:], b.Frames[i].WireLen)
		w.out.write(record[encoding.SimpleHead : len(record)-4])
		w.u32(uint32(len(record)))
	default:
		w.renumber(record, t)
	}
}

// renumber writes the little-endian block of a packet with the new number of its interface. A
// simple packet block has no number.
func (w *sectionWriter) renumber(record []byte, t *target) {
	if le.Uint32(record) == capture.BlockSimplePacket {
		w.out.write(record)
		return
	}
	p := w.out.extend(blockFrame)
	copy(p, record[:blockHead])
	le.PutUint32(p[blockHead:], t.id)
	w.out.write(record[blockFrame:])
}

// timedPacket writes a frame without a timestamp as a block that must have a timestamp.
func (w *sectionWriter) timedPacket(b *capture.Batch, i int, t *target) {
	ticks, taken := uint64(0), w.last != capture.NoTime
	if taken {
		ticks = ticksAt(w.last, &b.Interfaces[b.Frames[i].Interface])
	}
	w.packet(b, i, t.id, ticks, w.timedList(b, i, taken))
}

// The three functions below return a list that is valid until their next call.

// rebuiltList returns the options of a packet block, and its comment after them.
func (w *sectionWriter) rebuiltList(b *capture.Batch, i int, big bool) []byte {
	record := b.Record(i)
	list := w.scratch[:0]
	if encoding.Uint32(record, big) == capture.BlockPacket {
		// A count of -1 means that it is not known.
		if drops := encoding.Uint16(record[10:], big); drops != 0xFFFF {
			list = encoding.AppendCount(list, encoding.OptDropCount, uint64(drops))
		}
	}
	added := len(list)
	old := record[encoding.PacketHead+pad4(b.Frames[i].CapLen) : len(record)-4]
	list = append(list, old...)
	if big {
		swapOptions(list[added:], capture.BlockEnhancedPacket)
	}
	if comment := b.Comments.Of(i); len(comment) > 0 {
		list = encoding.AppendOption(list[:added+optionsEnd(list[added:])], encoding.OptComment, comment)
		old = nil
	}
	if len(list) > 0 && len(old) == 0 {
		list = le.AppendUint32(list, encoding.OptEnd)
	}
	w.scratch = list
	return list
}

// optionsEnd returns where the last whole option of a little-endian list ends.
func optionsEnd(list []byte) int {
	o := encoding.Options{Rest: list}
	for {
		if code, _, err := o.Next(); err != nil || code == encoding.OptEnd {
			return len(list) - len(o.Rest)
		}
	}
}

// timedList returns the options of a packet that had no time.
func (w *sectionWriter) timedList(b *capture.Batch, i int, taken bool) []byte {
	why := commentTimeZero
	if taken {
		why = commentTimeTaken
	}
	w.scratch = encoding.AppendOption(w.scratch[:0], encoding.OptComment, why)
	if comment := b.Comments.Of(i); len(comment) > 0 {
		w.scratch = encoding.AppendOption(w.scratch, encoding.OptComment, comment)
	}
	w.scratch = le.AppendUint32(w.scratch, encoding.OptEnd)
	return w.scratch
}

// commentList returns the options of a packet that has at most a comment.
func (w *sectionWriter) commentList(comment []byte) []byte {
	w.scratch = w.scratch[:0]
	if len(comment) > 0 {
		w.scratch = encoding.AppendOption(w.scratch, encoding.OptComment, comment)
		w.scratch = le.AppendUint32(w.scratch, encoding.OptEnd)
	}
	return w.scratch
}
