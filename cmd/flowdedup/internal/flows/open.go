// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"
	"sync/atomic"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/compressed"
	"github.com/flowdedup/flowdedup/capture/mirror"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/pcapoverip"
	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/capture/records/export"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/flows/text"
)

// inputs are the files or sockets of a run, and the reader of all records in them.
type inputs struct {
	cfg    *config
	reader records.Reader
	// messages reads messages of exporters; nil if all inputs are text.
	messages *export.Reader
	texts    []*text.Reader
	names    []string // by the number of the input
	both     bool     // an input reports both directions in one record
	damaged  atomic.Bool
	closers  []io.Closer
	// sockets take datagrams, receivers the streams of config.Streams. Files have neither.
	sockets   []*mirror.Capture
	receivers []*pcapoverip.Receiver

	// Below are the numbers as of the last batch: a read that does not end changes them later.
	counts   records.Counts
	bytes    int           // memory of messages
	badLines uint64        // damaged records of text
	unread   []text.Unread // values of text that could not be read
	left     uint64        // messages that had come at the end, and were not read
}

// open opens all files, or sockets.
func (in *inputs) open(ctx context.Context) error {
	if in.cfg.live() {
		return in.listen(ctx)
	}
	var binary []capture.Source
	var texts []io.Reader
	var textNames []string
	for _, name := range in.cfg.Inputs {
		content, head, err := in.openFile(ctx, name)
		if err != nil {
			return err
		}
		if isText(head) {
			texts, textNames = append(texts, content), append(textNames, name)
			continue
		}
		src, err := openBinary(content, head, name, in.warn)
		if err != nil {
			return err
		}
		binary, in.names = append(binary, src), append(in.names, name)
	}
	var readers []records.Reader
	if len(binary) > 0 {
		src := binary[0]
		if len(binary) > 1 {
			src = pcapfile.Merge(binary, in.warn)
		}
		in.readMessages(src)
		readers = append(readers, in.messages)
	}
	for i, content := range texts {
		reader, err := in.openText(content, textNames[i], uint32(len(binary)+i))
		if err != nil {
			return err
		}
		readers, in.names = append(readers, reader), append(in.names, textNames[i])
	}
	in.reader = readers[0]
	if len(readers) > 1 {
		in.reader = newMerged(readers)
	}
	return nil
}

// readMessages has the messages in the packets of a source read.
func (in *inputs) readMessages(src capture.Source) {
	in.messages = export.NewReader(src)
	in.messages.Limit(in.cfg.shares().reader)
	if in.cfg.Inner {
		in.messages.OpenTunnels(in.cfg.Tunnels)
	}
}

// openFile opens a file, and returns its decompressed content and its first bytes. Both may wait for
// the writer of a pipe, until ctx is done.
func (in *inputs) openFile(ctx context.Context, name string) (content io.Reader, head []byte, err error) {
	o := new(struct {
		file   *os.File
		inside io.Reader
		head   []byte
	})
	if err := outfile.Until(ctx, func() (err error) {
		if o.file = os.Stdin; name != "-" {
			if o.file, err = os.Open(name); err != nil {
				return err
			}
		}
		// The decompressor stays open: a read may be under way when the run ends, and memory is
		// all that the decompressor has.
		if o.inside, o.head, err = compressed.NewReader(o.file); err != nil {
			return capture.Locate(err, shown(name), 0, true)
		}
		return nil
	}); err != nil {
		return nil, nil, err
	}
	if name != "-" {
		in.closers = append(in.closers, o.file)
	}
	return io.MultiReader(bytes.NewReader(o.head), o.inside), o.head, nil
}

// shown is the name of an input in errors.
func shown(name string) string {
	if name == "-" {
		return "stdin"
	}
	return name
}

func openBinary(content io.Reader, head []byte, name string, warn func(error)) (capture.Source, error) {
	if export.IsStream(head) {
		return export.NewStream(content, shown(name), netip.AddrPort{}), nil
	}
	if len(head) >= 2 && head[0] == 0 && (head[1] == 1 || head[1] == 5 || head[1] == 7 || head[1] == 9) {
		err := fmt.Errorf("%w: it begins as a message of NetFlow v%d, which does not state its length: read a capture of exports, or send it to --listen",
			capture.ErrUnknownFormat, head[1])
		return nil, capture.Locate(err, shown(name), 0, true)
	}
	return pcapfile.NewReader(content, shown(name), pcapfile.Options{Warn: warn})
}

// formatAuto detects the format of an input.
const formatAuto = "auto"

// formats returns the names of the formats of inputs.
func formats() []string { return append([]string{formatAuto}, text.Formats()...) }

// isText reports whether an input that begins with head is text.
func isText(head []byte) bool {
	return !slices.ContainsFunc(head[:min(len(head), 16)], func(b byte) bool {
		return b < ' ' && b != '\n' && b != '\r' && b != '\t' || b == 0x7f
	})
}

// openText opens input number n.
func (in *inputs) openText(content io.Reader, name string, n uint32) (records.Reader, error) {
	format := in.cfg.Format
	if format == formatAuto {
		format = ""
	}
	t, err := text.NewReader(content, shown(name), text.Config{Format: format, Mapping: in.cfg.Map, Times: in.cfg.Times, Input: n})
	if err != nil {
		return nil, err
	}
	in.both = in.both || t.Both()
	in.texts = append(in.texts, t)
	return t, nil
}

// warn reports a warning of an input, and remembers damage.
func (in *inputs) warn(err error) {
	if errors.As(err, new(*capture.InputError)) {
		in.damaged.Store(true)
	}
	in.cfg.Log.Warn(err.Error())
}

// note takes the numbers of the reader. It must not be called during a read.
func (in *inputs) note() {
	before := in.counts.Unread
	in.counts = in.reader.Counts()
	if in.messages != nil {
		in.bytes = in.messages.Bytes()
	}
	in.badLines = 0
	for _, t := range in.texts {
		in.badLines += t.Counts().Undecodable
	}
	if in.counts.Unread == before {
		return
	}
	in.unread = in.unread[:0]
	for _, t := range in.texts {
		in.unread = t.AppendUnread(in.unread)
	}
}

func (in *inputs) close() {
	for _, c := range in.closers {
		_ = c.Close() // everything was read, or the run failed
	}
}
