package capture

import "io"

// Layout says how a stream is written: see NewWriter and WriterOptions.Layout.
type Layout uint8

const (
	_ Layout = iota
	copied
	onePcap
	oneSection
	convertedPcap // what NewFormatWriter alone makes
)

// Repeats reports whether each of several files that are written in this layout has to
// have the blocks of a kind that came before its packets, to be read alone.
func (l Layout) Repeats(kind uint32) bool {
	switch kind {
	case BlockFileHeader:
		return l != oneSection // the tables say all
	case BlockSectionHeader:
		return l == copied
	case BlockInterface, BlockNameResolution, BlockDecryption:
		return true
	}
	return false
}

// Part is some of a batch: frames From to To-1 and blocks FromBlock to ToBlock-1, none of
// which lies before frame From or behind frame To.
type Part struct {
	From, To           int
	FromBlock, ToBlock int
}

// WholeOf returns all of b.
func WholeOf(b *Batch) Part {
	return Part{To: len(b.Frames), ToBlock: len(b.Blocks)}
}

// PartWriter writes parts of the batches of a stream to one of several files, as a Writer
// writes whole batches. It gathers what it writes, and is not safe for concurrent use.
type PartWriter struct {
	out *outBuffer
	enc encoder
}

// NewPartWriter returns a PartWriter to w in the layout that was chosen. b knows the
// inputs. last is the LastTime of the file before, or NoTime.
func (l Layout) NewPartWriter(w io.Writer, b *Batch, last int64) *PartWriter {
	out := newOutBuffer(w)
	p := &PartWriter{out: out, enc: newEncoder(l, out, b)}
	if s, ok := p.enc.(*sectionWriter); ok {
		s.last = last
	}
	return p
}

// Write writes the blocks of a part of b, and the frames of it that drop keeps: see
// Writer.Write. Errors are those of the io.Writer, which last, or mean that the stream
// cannot be written in this layout.
func (w *PartWriter) Write(b *Batch, drop []uint64, p Part) error {
	if err := w.enc.encode(b, drop, p); err != nil {
		return err
	}
	return w.out.err
}

// FrameLen returns how many bytes Write writes for frame i of b if it is kept; timed says
// whether a packet with a time was written before: see LastTime.
func (w *PartWriter) FrameLen(b *Batch, i int, timed bool) int64 { return w.enc.frameLen(b, i, timed) }

// LastTime returns the time that packets without one get in this layout: that of the last
// packet written that had one, or NoTime.
func (w *PartWriter) LastTime() int64 {
	if s, ok := w.enc.(*sectionWriter); ok {
		return s.last
	}
	return NoTime
}

// Len returns how many bytes were written, those that are gathered among them.
func (w *PartWriter) Len() int64 { return w.out.len() }

// Taken returns how many packets and bytes the io.Writer has taken.
func (w *PartWriter) Taken() (packets uint64, bytes int64) { return w.out.taken, w.out.passed }

// Skipped returns how many blocks could not be carried over: see Writer.Skipped.
func (w *PartWriter) Skipped() uint64 { return w.enc.skippedBlocks() }

// Lost returns what the format has no place for, as an error that wraps ErrFormatLoss, or
// nil.
func (w *PartWriter) Lost() error {
	if c, ok := w.enc.(*pcapConverter); ok {
		return c.lost()
	}
	return nil
}

// Flush writes what is gathered.
func (w *PartWriter) Flush() error { return w.out.flush() }
