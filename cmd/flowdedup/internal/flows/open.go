package flows

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/mirror"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/capture/records/export"
)

// idle is how long a run waits for messages before it looks whether something has waited
// long enough.
const idle = 250 * time.Millisecond

// bufferBytes is what waits in a socket: a second of 100,000 messages in full.
const bufferBytes = 16 << 20

// openInputs opens all inputs, or sockets.
func (r *runner) openInputs(ctx context.Context) error {
	if r.cfg.live() {
		return r.listen(ctx)
	}
	var binary []capture.Source
	var binaryNames, textNames []string
	var texts []*bufio.Reader
	for _, name := range r.cfg.Inputs {
		in, head, err := r.openFile(name)
		if err != nil {
			return err
		}
		if isText(head) {
			texts, textNames = append(texts, in), append(textNames, name)
			continue
		}
		src, err := openBinary(in, head, name, r.warn)
		if err != nil {
			return err
		}
		binary, binaryNames = append(binary, src), append(binaryNames, name)
	}
	var readers []records.Reader
	if len(binary) > 0 {
		r.messages = export.NewReader(join(binary, r.warn))
		readers = append(readers, r.messages)
	}
	r.names.inputs = append(binaryNames, textNames...)
	for i, in := range texts {
		reader, err := r.openText(in, textNames[i], uint32(len(binary)+i))
		if err != nil {
			return err
		}
		readers = append(readers, reader)
	}
	r.reader = readers[0]
	if len(readers) > 1 {
		r.reader = newMerged(readers)
	}
	return nil
}

// openFile opens a file, and returns what it has, decompressed, and its first bytes.
func (r *runner) openFile(name string) (in *bufio.Reader, head []byte, err error) {
	file := os.Stdin
	if name != "-" {
		if file, err = os.Open(name); err != nil {
			return nil, nil, err
		}
		r.inputs = append(r.inputs, file)
	}
	if in, head, err = peek(file); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(head) == 0 {
		return nil, nil, &capture.InputError{Input: name, Header: true, Err: capture.ErrEmpty}
	}
	return in, head, nil
}

func openBinary(in io.Reader, head []byte, name string, warn func(error)) (capture.Source, error) {
	if len(head) >= 4 && export.IsStream(head) {
		return export.NewStream(in, name, netip.AddrPort{}), nil
	}
	return pcapfile.NewReader(in, name, pcapfile.Options{Warn: warn})
}

// join merges sources by time.
func join(sources []capture.Source, warn func(error)) capture.Source {
	if len(sources) == 1 {
		return sources[0]
	}
	return pcapfile.Merge(sources, warn)
}

// listen opens sockets for exporters.
func (r *runner) listen(ctx context.Context) error {
	var targets []mirror.Target
	for _, at := range r.cfg.Listen {
		targets = append(targets, mirror.Datagrams(at))
	}
	sockets, err := mirror.Open(mirror.Config{Targets: targets, BufferBytes: bufferBytes, Idle: idle, Warn: r.warn})
	if err != nil {
		return err
	}
	r.inputs = append(r.inputs, sockets)
	r.sockets = sockets
	context.AfterFunc(ctx, sockets.Stop)
	r.messages = export.NewReader(sockets)
	r.reader = r.messages
	for _, at := range r.cfg.Listen {
		r.cfg.Log.Info("listening", "address", at)
	}
	return nil
}

// warn passes on what is odd about an input. Damage is remembered.
func (r *runner) warn(err error) {
	var damage *capture.InputError
	if errors.As(err, &damage) {
		r.damaged.Store(true)
	}
	r.cfg.Log.Warn(err.Error())
}
