// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/outfile"
)

// WriterOptions says how NewWriter writes.
type WriterOptions struct {
	// Merged says that the Source mixes the records of its inputs, as Merge does. Without
	// it the inputs come in turn.
	Merged bool
	// Derived says that packets may come from interfaces that package strip has made. A
	// pcap file then has the link type of its first packet. Without a requested format,
	// and for pcapng, one section is written.
	Derived bool
	// Format requests a format. A pcap file holds packets of one link type, with the same
	// frame check sequence, whose interfaces are described before the first packet. pcapng
	// holds all but link types above 65535. If the format cannot hold the packets, or is
	// 0, it follows from the inputs.
	Format capture.Format
	// Commented says that the comments of batches go to the options of packets. Then one
	// little-endian pcapng section is written, whatever the inputs and Format. A packet
	// block that cannot hold a comment becomes an enhanced packet block.
	Commented bool
	// Stream says that readers of a network asked for Format, and no other format is written.
	// Packets that it cannot hold are an error of Write that wraps ErrNotSupported. Warn gets
	// an ErrFormatLoss, once, as soon as something is lost. Without packets and interfaces no
	// pcap header is written.
	Stream bool
	// Microseconds says that pcap made of pcapng has times in microseconds, whatever the
	// inputs have: some readers know only the first magic number of pcap.
	Microseconds bool
	// Warn, if not nil, gets an ErrOtherFormat when the requested format is not chosen, and from
	// Close an ErrFormatLoss that lists the parts that the format could not hold.
	Warn func(error)
}

// NewWriter returns a Writer for the batches of one Source.
//
// Without a requested format, the format follows from the inputs. The first batch with a
// section must know all of them:
//
//   - One input, or several pcapng inputs in turn: records and
//     blocks are copied byte for byte. Only the section length of a pcapng
//     section header becomes -1 (unknown), since frames may be missing.
//   - Several pcap inputs of one link type: one pcap, little-endian, in
//     nanoseconds if any input is, with the largest snap length. A packet without a
//     time gets the time of the packet before it, or 0.
//   - Everything else: one little-endian pcapng section, in which interfaces
//     are numbered anew and every timestamp keeps its resolution.
//
// Conversion of the blocks of a pcapng input in such a section:
//
//   - One section header of ours replaces theirs. Their options are lost.
//   - Interface descriptions keep their options. The description of a pcap input is made from
//     its file header. All other blocks that name an interface get its new number.
//   - Packets keep their timestamps bit by bit, and their options. An obsolete
//     packet block becomes an enhanced packet block, its drop count an option.
//   - A simple packet block stays as it is if its interface became number 0, which all simple
//     packet blocks mean. Otherwise it becomes an enhanced packet block, which must have a
//     timestamp: the latest timestamp written before, or 0, with a comment that says so.
//   - Statistics, name resolution, decryption secrets and custom blocks stay.
//     The reader has left out custom blocks and options whose author forbids copies
//     in changed files, whatever the format.
//   - Blocks of other types stay unchanged if the input is little-endian.
//     Big-endian blocks cannot be converted; Skipped counts them.
//
// Only opt.Format makes pcap of pcapng. That file is little-endian, and in nanoseconds unless
// microseconds hold the times of all interfaces. It holds packets with their times and
// lengths; a packet without a time is as above. Options, other
// blocks, and the interface of a packet are lost, and counted. A packet whose link
// type differs from the interfaces described before the first packet is an error that wraps
// ErrNotSupported.
//
// A Writer that never got a section writes a pcapng file without packets.
func NewWriter(w io.Writer, opt WriterOptions) capture.Writer {
	k := &lazyWriter{Encoder: Encoder{out: newOutBuffer(w)}, opt: opt}
	if f, ok := w.(*outfile.File); ok {
		k.file, k.gather = f, f.Gathers()
	}
	return k
}

// lazyWriter chooses how to encode at the first batch that has a section.
type lazyWriter struct {
	Encoder               // its enc is nil until then
	file    *outfile.File // below the Encoder, or nil
	opt     WriterOptions
	held    capture.Batch // blocks that came before the format was chosen
	gather  bool          // keep gathering across batches
	said    bool          // the losses of a stream
	rules   atomic.Pointer[gatherRules]
	err     error
}

var _ RecordWriter = (*lazyWriter)(nil)

func (w *lazyWriter) Write(b *capture.Batch, drop []uint64) error {
	capture.CheckDrop(b, drop)
	if w.err != nil {
		return w.err
	}
	if w.enc == nil && len(b.Sections) == 0 {
		return nil
	}
	if w.enc == nil {
		if w.hold(b, drop) {
			return nil
		}
		w.err = w.begin(b, drop)
	}
	if w.err == nil {
		w.err = w.Encode(b, drop, WholeOf(b))
	}
	w.note(b)
	w.sayLoss()
	return w.pass()
}

// pass passes on what was encoded, unless it is gathered across batches.
func (w *lazyWriter) pass() error {
	if w.err == nil && !w.gather {
		w.err = w.Encoder.Flush()
	}
	return w.err
}

// note notes what Gather may know once b has been written.
func (w *lazyWriter) note(b *capture.Batch) {
	if w.enc == nil || len(b.Blocks) == 0 && w.rules.Load() != nil {
		return
	}
	var rules *gatherRules
	switch e := w.enc.(type) {
	case *copyWriter:
		rules = &gatherRules{sections: e.known}
	case *pcapWriter:
		if !slices.Contains(e.copyable, false) {
			rules = &gatherRules{sections: e.known}
		}
	case *sectionWriter:
		if len(e.targets) > 0 && !slices.ContainsFunc(e.targets, func(t target) bool { return !t.fromPcap() }) {
			rules = &gatherRules{sections: len(e.sections), targets: slices.Clone(e.targets)}
		}
	}
	w.rules.Store(rules)
}

func (w *lazyWriter) Gather(r *Records, b *capture.Batch, drop []uint64) bool {
	rules := w.rules.Load()
	if rules == nil || rules.sections != len(b.Sections) || len(b.Blocks) > 0 || len(b.Frames) == 0 || len(b.Buf) > maxRecords {
		return false
	}
	if rules.targets == nil {
		r.copy(b, drop)
		return true
	}
	return len(rules.targets) == len(b.Interfaces) && b.Comments.Size() == 0 && r.convert(b, drop, rules.targets)
}

func (w *lazyWriter) WriteRecords(r *Records) error {
	if w.err != nil {
		return w.err
	}
	for i := range r.pieces {
		w.out.put(r.pieces[i].bytes, r.pieces[i].packets)
	}
	if s, ok := w.enc.(*sectionWriter); ok && r.last != capture.NoTime {
		s.last = r.last
	}
	w.err = w.out.err
	return w.pass()
}

func (w *lazyWriter) Flush() error {
	if w.err != nil {
		return w.err
	}
	if w.err = w.Encoder.Flush(); w.err == nil && w.file != nil {
		w.err = w.file.Flush()
	}
	return w.err
}

// ParkWriter passes on all that a Writer of NewWriter has gathered, and frees the memory that it
// takes until its next Write. So hundreds of files can be written in turn.
func ParkWriter(w capture.Writer) error {
	l, ok := w.(*lazyWriter)
	if !ok || l.err != nil {
		return nil // Write returns it
	}
	l.err = l.Encoder.Flush()
	l.out.buf = nil
	if l.err == nil && l.file != nil {
		l.err = l.file.Park()
	}
	return l.err
}

func (w *lazyWriter) Close() error {
	if w.err != nil {
		return w.err
	}
	if w.enc == nil && len(w.held.Sections) > 0 {
		held := w.held
		w.err = w.begin(&held, nil)
	}
	if w.enc == nil && w.err == nil && !(w.opt.Stream && w.opt.Format == capture.FormatPcap) {
		w.enc = newSectionWriter(w.out)
	}
	if w.enc == nil {
		return w.err
	}
	if w.err == nil {
		w.err = w.Encoder.Flush()
	}
	if lost := w.lost(); lost != nil && w.opt.Warn != nil && !w.opt.Stream {
		w.opt.Warn(lost)
	}
	return w.err
}

// sayLoss warns, once, that a stream loses something. How much is not known before its end,
// which may be months away.
func (w *lazyWriter) sayLoss() {
	if !w.opt.Stream || w.said || w.opt.Warn == nil || w.lost() == nil {
		return
	}
	w.said = true
	w.opt.Warn(fmt.Errorf("pcap %w names and numbers of capture points, comments, and finer times: format=pcapng keeps them", ErrFormatLoss))
}

// maxHeld bounds the blocks that are held until the format is chosen.
const maxHeld = 1 << 20

// hold keeps the blocks of b for begin, and reports whether begin has to wait. A pcap file
// begins with all interfaces that are known when the first packet comes, or when an empty
// batch says that none comes soon.
func (w *lazyWriter) hold(b *capture.Batch, drop []uint64) bool {
	if w.opt.Format != capture.FormatPcap || len(b.Blocks) == 0 || len(w.held.Buf) > maxHeld {
		return false
	}
	if n := len(b.Frames); n > 0 && (!w.opt.Derived || capture.CountKept(drop, 0, n) > 0) {
		return false
	}
	for i := range b.Blocks {
		appendBlock(&w.held, b, i)
	}
	w.held.Interfaces, w.held.Sections = b.Interfaces, b.Sections
	return true
}

// begin chooses the format for the inputs known by b, and writes held batches.
func (w *lazyWriter) begin(b *capture.Batch, drop []uint64) error {
	l, err := w.opt.chooseLayout(b)
	if err != nil {
		return err
	}
	w.enc = l.newEncoder(w.out, b, firstInterface(b, drop))
	if c, ok := w.enc.(*pcapConverter); ok && w.opt.Microseconds {
		c.nanosecond = false
	}
	if len(w.held.Blocks) == 0 {
		return nil
	}
	held := w.held
	w.held = capture.Batch{}
	held.Interfaces, held.Sections = b.Interfaces, b.Sections
	return w.Encode(&held, nil, WholeOf(&held))
}
