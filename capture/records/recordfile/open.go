package recordfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/capture/records/export"
	"github.com/flowdedup/flowdedup/capture/records/text"
)

// Formats that are no text.
const (
	Auto  = "auto"
	PCAP  = "pcap"
	IPFIX = "ipfix"
)

// Formats returns the names that Options.Format may have.
func Formats() []string { return append([]string{Auto, PCAP, IPFIX}, text.Formats()...) }

// Options says how inputs are read. The zero value finds out what they are.
type Options struct {
	// Format is one of Formats; empty means Auto.
	Format string
	// Mapping says what names of text mean, if it is not empty.
	Mapping text.Mapping
	// Export says how messages are read.
	Export export.Config
	// Warn gets damage of one input while others go on. It may be nil.
	Warn func(error)
}

// Input is several inputs that are read as one. It implements records.Reader.
type Input struct {
	records.Reader
	names    []string
	messages *export.Reader
	source   capture.Source // of messages
	files    []*os.File
	read     []*counted
	total    int64
}

// Open opens files by their names; "-" is standard input. Messages of exporters, in
// captures and in IPFIX files, share one Reader: an exporter may be in several of them.
// Errors name the input.
func Open(names []string, opt Options) (in *Input, err error) {
	if opt.Format == "" {
		opt.Format = Auto
	}
	if !slices.Contains(Formats(), opt.Format) {
		return nil, fmt.Errorf("%w: %q is none of %q", text.ErrFormat, opt.Format, Formats())
	}
	in = &Input{}
	defer func() {
		if err != nil {
			_ = in.Close() // the first error is the one to report
		}
	}()
	var sources []capture.Source
	var lines []string
	var texts []*bufio.Reader
	for _, name := range names {
		r, shown, err := in.open(name)
		if err != nil {
			return nil, err
		}
		format, err := formatOf(r, shown, opt)
		if err != nil {
			return nil, err
		}
		switch format {
		case PCAP:
			src, err := pcapfile.NewReader(r, shown, pcapfile.Options{Warn: opt.Warn})
			if err != nil {
				return nil, err
			}
			sources, in.names = append(sources, src), append(in.names, name)
		case IPFIX:
			sources, in.names = append(sources, export.NewStream(r, shown, netip.AddrPort{})), append(in.names, name)
		default:
			texts, lines = append(texts, r), append(lines, shown)
		}
	}
	return in, in.join(sources, texts, lines, opt)
}

// join makes one reader of all.
func (in *Input) join(sources []capture.Source, texts []*bufio.Reader, lines []string, opt Options) error {
	var readers []records.Reader
	if len(sources) > 0 {
		if in.source = sources[0]; len(sources) > 1 {
			in.source = pcapfile.Merge(sources, opt.Warn)
		}
		in.messages = export.NewReader(in.source, opt.Export)
		readers = append(readers, in.messages)
	}
	for i, r := range texts {
		c := text.Config{Mapping: opt.Mapping, Input: uint32(len(in.names))}
		if opt.Format != Auto {
			c.Format = opt.Format
		}
		t, err := text.NewReader(r, lines[i], c)
		if errors.Is(err, capture.ErrEmpty) {
			continue // an export of no flows
		}
		if err != nil {
			return err
		}
		readers, in.names = append(readers, t), append(in.names, lines[i])
	}
	if in.Reader = merge(readers, opt.Warn); len(readers) == 1 {
		in.Reader = readers[0]
	}
	return nil
}

// open opens an input.
func (in *Input) open(name string) (r *bufio.Reader, shown string, err error) {
	f, shown := os.Stdin, "stdin"
	if name != "-" {
		if f, err = os.Open(name); err != nil {
			return nil, name, err
		}
		in.files, shown = append(in.files, f), name
	}
	if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
		in.total += st.Size()
	}
	c := &counted{r: f}
	in.read = append(in.read, c)
	return bufio.NewReaderSize(c, readSize), shown, nil
}

// readSize is how much is read at once.
const readSize = 256 << 10

// formatOf returns PCAP, IPFIX, or another name for text.
func formatOf(r *bufio.Reader, name string, opt Options) (string, error) {
	if opt.Format != Auto {
		return opt.Format, nil
	}
	head, err := r.Peek(headSize)
	if err != nil && err != io.EOF {
		return "", &capture.ReadError{Input: name, Err: err}
	}
	switch {
	case export.IsStream(head):
		return IPFIX, nil
	case slices.ContainsFunc(head, func(c byte) bool { return c < '\t' || c > '\r' && c < ' ' }) || isSection(head):
		return PCAP, nil
	}
	return Auto, nil
}

// headSize is how much of an input is looked at: the magic number of a compressed capture
// has a byte that no text has.
const headSize = 4

// isSection reports whether bytes begin a pcapng file: with line ends.
func isSection(head []byte) bool { return string(head) == "\x0a\x0d\x0d\x0a" }

// Names returns the names of the inputs, by Point.Input.
func (in *Input) Names() []string { return in.names }

// Messages returns the reader of exporters' messages, nil if all inputs are text.
func (in *Input) Messages() *export.Reader { return in.messages }

// Offset returns how many bytes were read, and the size of all files, 0 if that is unknown.
// It may be called while another goroutine reads.
func (in *Input) Offset() (done, total int64) {
	for _, c := range in.read {
		done += c.n.Load()
	}
	return done, in.total
}

// Close closes the inputs.
func (in *Input) Close() error {
	if in.source != nil {
		_ = in.source.Close() // it was only read
	}
	for _, f := range in.files {
		_ = f.Close() // likewise
	}
	return nil
}
