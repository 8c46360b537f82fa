package capture

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"github.com/flowdedup/flowdedup/capture/outfile"
)

// What WriterOptions.Warn is told; test with errors.Is.
var (
	// ErrOtherFormat says that the stream does not fit into the format asked for, and
	// which one is written instead.
	ErrOtherFormat = errors.New("the ending of the name says")
	// ErrFormatLoss says what the format that was asked for has no place for.
	ErrFormatLoss = errors.New("has no place for")
)

// WriterOptions says how NewFormatWriter writes.
type WriterOptions struct {
	// Merged is what NewWriter is told.
	Merged bool
	// Format is what to write wherever it can hold the packets: a pcap file those of
	// one link type, with the same frame check sequence, whose interfaces are described
	// before the first packet; pcapng all but link types above 65535. Where it cannot,
	// and for 0, the format is that of NewWriter.
	Format Format
	// Warn, if not nil, is told of another format than the one asked for when it is
	// chosen, and by Close of what was lost in it.
	Warn func(error)
}

// NewFormatWriter returns a Writer as NewWriter does, in the format that is asked for.
//
// A pcap file made of pcapng is little-endian, in nanoseconds unless microseconds hold
// the times of all interfaces, and holds packets with their times and lengths. A packet
// without a time gets that of the packet before it, or 0. Options, other blocks, and
// from which of several interfaces a packet came are lost, and counted. A packet of
// another link type than that of the interfaces described before the first packet is
// an error that wraps ErrNotSupported.
func NewFormatWriter(w io.Writer, opt WriterOptions) Writer {
	k := NewWriter(w, opt.Merged).(*lazyWriter)
	k.opt = opt
	return k
}

// FormatOf returns the format that the ending of an output's name asks for: .pcap, or
// .pcapng and .ntar, also before the ending of a compression, in upper or lower case. It
// returns 0 for other names.
func FormatOf(name string) Format {
	name = strings.ToLower(name)
	ending := filepath.Ext(name)
	if outfile.Compresses(name) {
		ending = filepath.Ext(strings.TrimSuffix(name, ending))
	}
	switch ending {
	case ".pcap":
		return FormatPcap
	case ".pcapng", ".ntar":
		return FormatPcapNG
	}
	return 0
}

// Layout chooses how to write the inputs known by b. The error, if it is not nil, says
// why that is not in the format asked for.
func (opt *WriterOptions) Layout(b *Batch) (Layout, error) {
	kind := chooseLayout(b, opt.Merged)
	written := FormatPcapNG
	if kind == onePcap || kind == copied && b.Sections[0].Format == FormatPcap {
		written = FormatPcap
	}
	if opt.Format == 0 || opt.Format == written {
		return kind, nil
	}
	fits, instead := fitsPcapNG, oneSection
	if opt.Format == FormatPcap {
		fits, instead = fitsPcap, convertedPcap
	}
	if err := fits(b.Interfaces); err != nil {
		return kind, fmt.Errorf("%w %v, but %v is written: %w", ErrOtherFormat, opt.Format, written, err)
	}
	return instead, nil
}

// fitsPcap returns why one pcap file cannot hold packets of all these interfaces.
func fitsPcap(interfaces []Interface) error {
	if len(interfaces) == 0 {
		return errors.New("the input describes no interface")
	}
	first := &interfaces[0]
	if first.FCSLen%2 != 0 || first.FCSLen > maxPcapFCS {
		return fmt.Errorf("pcap cannot tell of a frame check sequence of %d bytes", first.FCSLen)
	}
	for i := range interfaces {
		switch it := &interfaces[i]; {
		case it.LinkType != first.LinkType:
			return fmt.Errorf("pcap holds one link type, and there are %v and %v", first.LinkType, it.LinkType)
		case it.FCSLen != first.FCSLen:
			return fmt.Errorf("pcap holds frame check sequences of one length, and there are %d and %d bytes", first.FCSLen, it.FCSLen)
		}
	}
	return nil
}

// maxPcapFCS is the longest frame check sequence that a pcap header can tell of: 4 bits
// of 16-bit words.
const maxPcapFCS = 15 * 2

// fitsPcapNG returns why a pcapng section cannot hold packets of all these interfaces.
func fitsPcapNG(interfaces []Interface) error {
	for i := range interfaces {
		if t := interfaces[i].LinkType; t > math.MaxUint16 {
			return fmt.Errorf("pcapng has no link type %v", t)
		}
	}
	return nil
}

// maxHeld bounds the blocks that are held until the format is chosen.
const maxHeld = 1 << 20

// hold keeps the blocks of b for begin, and reports whether that has to wait: a pcap file
// is begun with all that is known of interfaces when the first packet comes, or when a
// batch without content says that none comes soon.
func (w *lazyWriter) hold(b *Batch) bool {
	if w.opt.Format != FormatPcap || len(b.Frames) > 0 || len(b.Blocks) == 0 || len(w.held.Buf) > maxHeld {
		return false
	}
	for i := range b.Blocks {
		k := b.Blocks[i]
		w.held.Buf = append(w.held.Buf, b.Block(i)...)
		k.Offset, k.Before = uint32(len(w.held.Buf))-k.Len, 0
		w.held.Blocks = append(w.held.Blocks, k)
	}
	w.held.Interfaces, w.held.Sections = b.Interfaces, b.Sections
	return true
}

// begin chooses the format by what b tells of the inputs, and writes what was held.
func (w *lazyWriter) begin(b *Batch) error {
	kind, unfit := w.opt.Layout(b)
	if unfit != nil && w.opt.Warn != nil {
		w.opt.Warn(unfit)
	}
	w.enc = newEncoder(kind, w.out, b)
	if len(w.held.Blocks) == 0 {
		return nil
	}
	held := w.held
	w.held = Batch{}
	held.Interfaces, held.Sections = b.Interfaces, b.Sections
	return w.enc.encode(&held, nil, WholeOf(&held))
}

// tellLoss warns of what the format had no place for.
func (w *lazyWriter) tellLoss() {
	if c, ok := w.enc.(*pcapConverter); ok && w.opt.Warn != nil {
		if err := c.lost(); err != nil {
			w.opt.Warn(err)
		}
	}
}
