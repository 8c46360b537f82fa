// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/outfile"
)

// Warnings for WriterOptions.Warn; test with errors.Is.
var (
	// ErrOtherFormat says that the requested format cannot hold the stream, and which
	// format is written instead.
	ErrOtherFormat = errors.New("the ending of the name says")
	// ErrFormatLoss names data that the requested format cannot hold.
	ErrFormatLoss = errors.New("has no place for")
)

// FormatOf returns the format that the ending of an output's name requests: .pcap, or
// .pcapng and .ntar. Case does not matter, and the ending of a compression may follow.
// Other names give 0.
func FormatOf(name string) capture.Format {
	name = strings.ToLower(name)
	ending := filepath.Ext(name)
	if outfile.Compresses(name) {
		ending = filepath.Ext(strings.TrimSuffix(name, ending))
	}
	switch ending {
	case ".pcap":
		return capture.FormatPcap
	case ".pcapng", ".ntar":
		return capture.FormatPcapNG
	}
	return 0
}

// layout says how a stream is written: see NewWriter.
type layout uint8

const (
	copied layout = iota
	onePcap
	oneSection
	convertedPcap // only where a format is asked for
)

// chooseLayout chooses how to write the inputs known by b. It warns if that is not in the
// requested format, which is an error of a stream.
func (opt *WriterOptions) chooseLayout(b *capture.Batch) (layout, error) {
	if opt.Commented {
		return oneSection, nil
	}
	natural, written := opt.naturalLayout(b), capture.FormatPcapNG
	if natural == onePcap || natural == copied && b.Sections[0].Format == capture.FormatPcap {
		written = capture.FormatPcap
	}
	if opt.Format == 0 || opt.Format == written {
		return natural, nil
	}
	fits, converted := fitsPcapNG, oneSection
	if opt.Format == capture.FormatPcap {
		fits, converted = fitsPcap, convertedPcap
	}
	err := fits(b.Interfaces)
	if err == nil {
		return converted, nil
	}
	if opt.Stream {
		return natural, fmt.Errorf("a stream of %v: %w: %w", opt.Format, capture.ErrNotSupported, err)
	}
	if opt.Warn != nil {
		opt.Warn(fmt.Errorf("%w %v, but %v is written: %w", ErrOtherFormat, opt.Format, written, err))
	}
	return natural, nil
}

// naturalLayout returns the layout for the inputs known by b, by the rules of NewWriter.
func (opt *WriterOptions) naturalLayout(b *capture.Batch) layout {
	switch {
	case opt.Derived:
		return oneSection
	case oneInput(b.Sections), !opt.Merged && all(b.Sections, capture.FormatPcapNG):
		return copied
	case samePcap(b.Sections, b.Interfaces):
		return onePcap
	}
	return oneSection
}

func oneInput(sections []capture.Section) bool {
	return !slices.ContainsFunc(sections, func(s capture.Section) bool { return s.Input != sections[0].Input })
}

// all reports whether all sections have a format.
func all(sections []capture.Section, format capture.Format) bool {
	return !slices.ContainsFunc(sections, func(s capture.Section) bool { return s.Format != format })
}

// samePcap reports whether all inputs fit under one pcap header.
func samePcap(sections []capture.Section, interfaces []capture.Interface) bool {
	return all(sections, capture.FormatPcap) && len(interfaces) > 0 && !slices.ContainsFunc(interfaces, func(it capture.Interface) bool {
		return !it.Derived && !sameLink(&it, &interfaces[0])
	})
}

// sameLink reports whether packets of two interfaces can be in one pcap file.
func sameLink(a, b *capture.Interface) bool { return a.LinkType == b.LinkType && a.FCSLen == b.FCSLen }

// fitsPcap returns why one pcap file cannot hold packets of all these interfaces.
func fitsPcap(interfaces []capture.Interface) error {
	if len(interfaces) == 0 {
		return errors.New("the input describes no interface")
	}
	first := &interfaces[0]
	if first.FCSLen%2 != 0 || first.FCSLen > maxPcapFCS {
		return fmt.Errorf("pcap cannot state a frame check sequence of %d bytes", first.FCSLen)
	}
	for i := range interfaces {
		switch it := &interfaces[i]; {
		case it.Derived: // the first packet decides
		case it.LinkType != first.LinkType:
			return fmt.Errorf("pcap holds one link type, and there are %v and %v", first.LinkType, it.LinkType)
		case it.FCSLen != first.FCSLen:
			return fmt.Errorf("pcap holds frame check sequences of one length, and there are %d and %d bytes", first.FCSLen, it.FCSLen)
		}
	}
	return nil
}

// maxPcapFCS is the longest frame check sequence that a pcap header can state: 4 bits count
// 16-bit words.
const maxPcapFCS = 15 * 2

// fitsPcapNG returns why a pcapng section cannot hold packets of all these interfaces.
func fitsPcapNG(interfaces []capture.Interface) error {
	for i := range interfaces {
		if t := interfaces[i].LinkType; t > math.MaxUint16 {
			return fmt.Errorf("pcapng has no link type %v", t)
		}
	}
	return nil
}

// firstInterface returns the interface of the first packet that is kept, or 0.
func firstInterface(b *capture.Batch, drop []uint64) uint32 {
	if at, _ := capture.NextRun(drop, 0, len(b.Frames)); at < len(b.Frames) {
		return b.Frames[at].Interface
	}
	return 0
}

// newEncoder returns the encoder for the inputs known by b. first is the interface of the
// first packet.
func (l layout) newEncoder(out *outBuffer, b *capture.Batch, first uint32) encoder {
	switch l {
	case copied:
		w := newCopyWriter(out)
		return &w
	case onePcap:
		return newPcapWriter(out, b)
	case convertedPcap:
		return newPcapConverter(out, b, first)
	}
	return newSectionWriter(out)
}
