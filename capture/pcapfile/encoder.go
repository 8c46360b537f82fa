// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"fmt"
	"io"

	"github.com/flowdedup/flowdedup/capture"
)

// Encoder writes the batches of a stream as one capture file, part by part. It returns the
// lengths of written packets beforehand. Callers that do not need them use NewWriter. It is for
// one goroutine.
type Encoder struct {
	out     *outBuffer
	enc     encoder
	ignored uint64 // blocks that were skipped among the headers, and counted before
}

// encoder encodes in one layout. Errors of the output stay in the outBuffer.
type encoder interface {
	// encode writes the blocks and kept frames of a part of b. Its errors say why the
	// stream cannot be written in this format.
	encode(b *capture.Batch, drop []uint64, p Part) error
	// frameLen returns how many bytes encode writes for frame i of b if it is
	// kept; timed says whether a packet with a time was written before.
	frameLen(b *capture.Batch, i int, timed bool) int64
	// describes reports whether these bytes begin with the description of an interface.
	describes(b *capture.Batch, i int) bool
	skippedBlocks() uint64
}

// Part is a part of a batch: frames From..To-1 and blocks FromBlock..ToBlock-1. No block is before
// frame From or after frame To.
type Part struct {
	From, To           int
	FromBlock, ToBlock int
}

// WholeOf returns all of b.
func WholeOf(b *capture.Batch) Part {
	return Part{To: len(b.Frames), ToBlock: len(b.Blocks)}
}

// Encode appends the blocks and the kept frames of a part of b. It may gather them until Flush.
// It returns errors of the io.Writer unchanged, or says why the stream cannot be written in
// this format. Every later call returns it.
func (e *Encoder) Encode(b *capture.Batch, drop []uint64, p Part) error {
	if err := e.enc.encode(b, drop, p); err != nil {
		return err
	}
	return e.out.err
}

// FrameLen returns how many bytes Encode writes for frame i of b if it is kept. timed says
// whether an earlier packet of the file has a time: see Timed.
func (e *Encoder) FrameLen(b *capture.Batch, i int, timed bool) int64 {
	return e.enc.frameLen(b, i, timed)
}

// Describes reports whether FrameLen counts the description of an interface that was
// derived, which Encode writes before its first packet.
func (e *Encoder) Describes(b *capture.Batch, i int) bool { return e.enc.describes(b, i) }

// Timed reports whether FrameLen depends on timed and a packet with a time was encoded.
func (e *Encoder) Timed() bool {
	s, ok := e.enc.(*sectionWriter)
	return ok && s.last != capture.NoTime
}

// Size returns the bytes of the file, including gathered bytes.
func (e *Encoder) Size() int64 { return e.out.len() }

// Written returns how many packets the io.Writer has taken.
func (e *Encoder) Written() uint64 { return e.out.taken }

// WrittenBytes returns how many bytes the io.Writer has taken.
func (e *Encoder) WrittenBytes() int64 { return e.out.passed }

// Skipped returns how many blocks could not be converted, without blocks of the headers that a
// Splitter repeats.
func (e *Encoder) Skipped() uint64 {
	if e.enc == nil {
		return 0
	}
	return e.enc.skippedBlocks() - e.ignored
}

// Flush passes everything gathered on, and returns the first error of the io.Writer.
func (e *Encoder) Flush() error { return e.out.flush() }

// lost returns an error that wraps ErrFormatLoss and lists the parts that the format cannot
// hold, or nil.
func (e *Encoder) lost() error {
	if c, ok := e.enc.(*pcapConverter); ok {
		return c.lost()
	}
	return nil
}

// Splitter writes one stream as several files. Each can be read without the others. In order
// they hold the output of NewWriter: the same packets and blocks, each packet in the same
// bytes.
//
// Each file begins with the blocks that its packets need: the file header, or the section
// header and all descriptions of interfaces. It repeats name resolution and decryption secrets
// blocks of the section, up to 1 MiB of them. All other blocks are only where they were.
type Splitter struct {
	opt          WriterOptions
	layout       layout
	preamble     preamble
	first        uint32 // see newEncoder
	last         int64  // the latest time of the files before, if they give it to packets without a time
	skipped      uint64
	lossReported bool
}

// NewSplitter chooses the format of all files as NewWriter does without opt.Stream, for the
// inputs known by b, the first batch with a section. opt.Warn gets the first loss when a file ends.
func NewSplitter(b *capture.Batch, opt WriterOptions) *Splitter {
	l, _ := opt.chooseLayout(b) // files take the natural format rather than fail
	return &Splitter{opt: opt, layout: l, first: firstInterface(b, nil), last: capture.NoTime}
}

// Observe keeps block i of b, whether it was written or not, for the files that begin
// after it.
func (s *Splitter) Observe(b *capture.Batch, i int) { s.preamble.observe(b, i, s.layout) }

// Check returns an error that wraps ErrNotSupported if there is more that a new file has
// to begin with than can be repeated.
func (s *Splitter) Check() error { return s.preamble.check() }

// Begin begins a new file, which continues with packets of b. Errors come from Encode; then
// only headers were written.
func (s *Splitter) Begin(w io.Writer, b *capture.Batch) (*Encoder, error) {
	head := &s.preamble.Batch
	head.Interfaces, head.Sections = b.Interfaces, b.Sections
	out := newOutBuffer(w)
	e := &Encoder{out: out, enc: s.layout.newEncoder(out, head, s.first)}
	if enc, ok := e.enc.(dating); ok {
		*enc.latestTime() = s.last
	}
	err := e.Encode(head, nil, WholeOf(head))
	e.ignored = e.Skipped()
	return e, err
}

// dating is an encoder that gives packets without a time the latest time before.
type dating interface{ latestTime() *int64 }

func (w *sectionWriter) latestTime() *int64 { return &w.last }
func (w *pcapWriter) latestTime() *int64    { return &w.latest }

// End ends a file: the files after it go on from its last time, and Skipped adds its count.
func (s *Splitter) End(e *Encoder) {
	s.skipped += e.Skipped()
	if enc, ok := e.enc.(dating); ok {
		s.last = *enc.latestTime()
	}
	if err := e.lost(); err != nil && !s.lossReported && s.opt.Warn != nil {
		s.lossReported = true
		s.opt.Warn(err)
	}
}

// Skipped returns how many blocks could not be converted for the files that ended.
func (s *Splitter) Skipped() uint64 { return s.skipped }

const (
	// maxPreamble bounds the blocks at the beginning of each file.
	maxPreamble = 16 << 20
	// maxRepeated bounds the names and secrets among it.
	maxRepeated = 1 << 20
)

// preamble holds the blocks of the stream that later packets need. A new file begins with
// them, so it is a complete capture.
type preamble struct {
	capture.Batch       // only blocks
	repeated      int64 // bytes of names and secrets among them
	full          bool  // there were more descriptions than can be repeated
}

// observe keeps block i of b, if files of this layout need it.
func (p *preamble) observe(b *capture.Batch, i int, l layout) {
	k := &b.Blocks[i]
	switch k.Type {
	case capture.BlockFileHeader:
		if l == oneSection {
			return // the tables say all
		}
	case capture.BlockSectionHeader:
		if l != copied {
			return
		}
		p.reset()
	case capture.BlockInterface:
	case capture.BlockNameResolution, capture.BlockDecryption:
		if p.repeated+int64(k.Len) > maxRepeated {
			return
		}
		p.repeated += int64(k.Len)
	default:
		return
	}
	p.add(b, i)
}

// reset begins a section to which nothing before it matters.
func (p *preamble) reset() {
	p.Reset()
	p.repeated, p.full = 0, false
}

func (p *preamble) add(b *capture.Batch, i int) {
	if len(p.Buf)+int(b.Blocks[i].Len) > maxPreamble {
		p.full = true
		return
	}
	appendBlock(&p.Batch, b, i)
}

// check returns an error if a file cannot be a complete capture.
func (p *preamble) check() error {
	if p.full {
		return fmt.Errorf("more than %d MiB of interface descriptions for each file: %w", maxPreamble>>20, capture.ErrNotSupported)
	}
	return nil
}
