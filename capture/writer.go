package capture

import (
	"fmt"
	"io"
	"math/bits"

	"github.com/flowdedup/flowdedup/capture/outfile"
)

// Writer writes a stream of batches, less some of their frames, as a capture
// file that Wireshark, tcpdump and libpcap read.
type Writer interface {
	// Write writes all blocks of b and those frames i whose bit in drop (bit
	// i%64 of word i/64) is 0; a nil drop keeps all. It panics when drop is
	// neither nil nor long enough. b and drop stay the caller's and are not
	// changed. What is written has reached the io.Writer when Write returns,
	// unless that is an outfile.File on a regular file or one that compresses:
	// those gather.
	//
	// An error of the io.Writer is returned as it is and lasts.
	Write(b *Batch, drop []uint64) error
	// Written returns how many packets the io.Writer has taken.
	Written() uint64
	// Skipped returns how many pcapng blocks could not be carried over: of an
	// unknown type in the other byte order, or damaged inside.
	Skipped() uint64
	// Flush writes what is still gathered, and ends a block of an outfile.File
	// that compresses, so that others can read all packets that were written.
	Flush() error
	// Close writes what is still gathered. It does not close the io.Writer.
	Close() error
}

// NewWriter returns a Writer for the batches of one Source. merged says that
// the Source mixes the records of its inputs, rather than giving one input
// after the other.
//
// The format follows from the inputs, which the first batch with a section must
// know all:
//
//   - One input, or several pcapng inputs one after the other: records and
//     blocks are copied byte for byte. Only the section length of a pcapng
//     section header becomes -1 (unknown), as frames may be missing.
//   - Several pcap inputs of one link type: one pcap, little-endian, in
//     nanoseconds if any input is, with the largest snap length.
//   - Everything else: one little-endian pcapng section, in which interfaces
//     are numbered anew and every timestamp keeps its resolution.
//
// What the blocks of a pcapng input become in such a section:
//
//   - Section headers give way to one of ours; their options are lost.
//   - Interface descriptions keep their options. For a pcap input one is made
//     from its file header. All other blocks that name an interface get its new
//     number.
//   - Packets keep their timestamps bit by bit, and their options. An obsolete
//     packet block becomes an enhanced one, its drop count an option.
//   - A simple packet block stays one if its interface became number 0, the only
//     one that it can speak of. Else it becomes an enhanced packet block, which
//     cannot do without a timestamp: it gets that of the last packet written
//     that had one, or 0, and a comment that says so.
//   - Statistics, name resolution, decryption secrets and custom blocks are
//     kept. Custom blocks and options that their author asks not to copy into
//     changed files were left out by the reader, whatever the format.
//   - Blocks of other types are kept as they are if the input is little-endian.
//     Big-endian ones cannot be converted and are counted by Skipped.
//
// A Writer that was never given a section writes a pcapng file without packets.
func NewWriter(w io.Writer, merged bool) Writer {
	k := &lazyWriter{out: newOutBuffer(w), opt: WriterOptions{Merged: merged}}
	if f, ok := w.(*outfile.File); ok {
		k.file, k.gather = f, f.Gathers()
	}
	return k
}

// encoder is what lazyWriter hands batches to once the format is known. Errors
// of the output stay in the outBuffer.
type encoder interface {
	// encode writes what is wanted of a part of b. Its errors mean that the
	// stream cannot be written in this format.
	encode(b *Batch, drop []uint64, p Part) error
	// frameLen returns how many bytes encode writes for frame i of b if it is
	// kept; timed says whether a packet with a time was written before.
	frameLen(b *Batch, i int, timed bool) int64
	skippedBlocks() uint64
}

// lazyWriter chooses the encoder at the first batch that has a section.
type lazyWriter struct {
	out    *outBuffer
	file   *outfile.File // below out, or nil
	enc    encoder
	opt    WriterOptions
	held   Batch // blocks that came before the format was chosen
	gather bool  // keep gathering across batches
	err    error
}

func (w *lazyWriter) Write(b *Batch, drop []uint64) error {
	CheckDrop(b, drop)
	if w.err != nil {
		return w.err
	}
	if w.enc == nil && len(b.Sections) == 0 {
		return nil
	}
	if w.enc == nil {
		if w.hold(b) {
			return nil
		}
		w.err = w.begin(b)
	}
	if w.err == nil {
		w.err = w.enc.encode(b, drop, WholeOf(b))
	}
	if w.err == nil {
		w.err = w.out.err
	}
	if w.err == nil && !w.gather {
		w.err = w.out.flush()
	}
	return w.err
}

func (w *lazyWriter) Written() uint64 { return w.out.taken }

func (w *lazyWriter) Skipped() uint64 {
	if w.enc == nil {
		return 0
	}
	return w.enc.skippedBlocks()
}

func (w *lazyWriter) Flush() error {
	if w.err != nil {
		return w.err
	}
	if w.err = w.out.flush(); w.err == nil && w.file != nil {
		w.err = w.file.Flush()
	}
	return w.err
}

func (w *lazyWriter) Close() error {
	if w.err != nil {
		return w.err
	}
	if w.enc == nil && len(w.held.Sections) > 0 {
		held := w.held
		w.err = w.begin(&held)
	}
	if w.enc == nil {
		w.enc = newSectionWriter(w.out)
	}
	if w.err == nil {
		w.err = w.out.flush()
	}
	w.tellLoss()
	return w.err
}

// CheckDrop panics when drop is neither nil nor long enough for b.
func CheckDrop(b *Batch, drop []uint64) {
	if need := (len(b.Frames) + 63) / 64; drop != nil && len(drop) < need {
		panic(fmt.Sprintf("capture: Write: %d words in drop for %d frames", len(drop), len(b.Frames)))
	}
}

// chooseLayout applies the rules of NewWriter to the inputs known by b.
func chooseLayout(b *Batch, merged bool) Layout {
	switch {
	case oneInput(b.Sections), !merged && noPcap(b.Sections):
		return copied
	case samePcap(b.Sections, b.Interfaces):
		return onePcap
	}
	return oneSection
}

// newEncoder returns the encoder of a layout that was chosen.
func newEncoder(kind Layout, out *outBuffer, b *Batch) encoder {
	switch kind {
	case copied:
		return &copyWriter{out: out}
	case onePcap:
		return newPcapWriter(out, b)
	case convertedPcap:
		return newPcapConverter(out, b)
	}
	return newSectionWriter(out)
}

func oneInput(sections []Section) bool {
	for i := range sections {
		if sections[i].Input != sections[0].Input {
			return false
		}
	}
	return true
}

func noPcap(sections []Section) bool {
	for i := range sections {
		if sections[i].Format != FormatPcapNG {
			return false
		}
	}
	return true
}

// samePcap reports whether all inputs fit under one pcap header.
func samePcap(sections []Section, interfaces []Interface) bool {
	for i := range sections {
		if sections[i].Format != FormatPcap {
			return false
		}
	}
	for i := range interfaces {
		if interfaces[i].LinkType != interfaces[0].LinkType || interfaces[i].FCSLen != interfaces[0].FCSLen {
			return false
		}
	}
	return len(interfaces) > 0
}

// Complement returns the bitmap that drops what drop keeps among n frames, so
// that the two split a batch. It reuses dst where that is long enough; dst and
// drop may be the same slice. Bits from n on are 0, and a nil drop, which keeps
// all, gives one that drops all.
func Complement(dst, drop []uint64, n int) []uint64 {
	words := (n + 63) / 64
	if cap(dst) < words {
		dst = make([]uint64, words)
	}
	dst = dst[:words]
	for i := range dst {
		var dropped uint64
		if drop != nil {
			dropped = drop[i]
		}
		dst[i] = ^dropped
	}
	if n%64 != 0 {
		dst[words-1] &= 1<<(n%64) - 1
	}
	return dst
}

// NextRun returns the first run lo..hi-1 of kept frames in pos..end-1; lo is
// end when there is none.
func NextRun(drop []uint64, pos, end int) (lo, hi int) {
	if drop == nil {
		return pos, end
	}
	lo = nextBit(drop, ^uint64(0), pos, end)
	return lo, nextBit(drop, 0, lo, end)
}

// nextBit returns the first place from pos on whose bit, after xor with flip,
// is 1, or end. It takes a word at a time.
func nextBit(words []uint64, flip uint64, pos, end int) int {
	for pos < end {
		if w := (words[pos>>6] ^ flip) >> (pos & 63); w != 0 {
			return min(pos+bits.TrailingZeros64(w), end)
		}
		pos = (pos | 63) + 1
	}
	return end
}
