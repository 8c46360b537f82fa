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
	"github.com/flowdedup/flowdedup/capture/netio"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/capture/records/export"
)

// idle is how long a run waits for messages before it looks whether something has waited
// long enough.
const idle = 250 * time.Millisecond

// bufferBytes is what waits in a socket: some 10,000 messages.
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

// mergeWait is how long messages wait for older ones that come another way.
const mergeWait = 100 * time.Millisecond

// listen opens what exporters send to.
func (r *runner) listen(ctx context.Context) error {
	if len(r.cfg.Listen) > 0 {
		if err := r.openSockets(); err != nil {
			return err
		}
	}
	var src interface {
		capture.Source
		Stop()
	} = r.sockets
	if len(r.cfg.Streams) > 0 {
		arrivals, err := r.openStreams(ctx)
		if err != nil {
			return err
		}
		src = arrivals
	}
	r.inputs = append(r.inputs, src)
	r.live = true
	context.AfterFunc(ctx, src.Stop)
	r.messages = export.NewReader(src)
	r.reader = r.messages
	for _, at := range r.cfg.Listen {
		r.cfg.Log.Info("listening", "address", at)
	}
	for _, at := range r.cfg.Streams {
		r.cfg.Log.Info("listening", "address", at)
	}
	return nil
}

// openSockets opens sockets for datagrams.
func (r *runner) openSockets() (err error) {
	var targets []mirror.Target
	for _, at := range r.cfg.Listen {
		targets = append(targets, mirror.Datagrams(at))
	}
	r.sockets, err = mirror.Open(mirror.Config{Targets: targets, BufferBytes: bufferBytes, Idle: idle, Warn: r.warn})
	return err
}

// openStreams opens addresses for IPFIX over TCP, and merges what comes there with the
// datagrams.
func (r *runner) openStreams(ctx context.Context) (*pcapfile.Arrivals, error) {
	var names []string
	var receivers []*netio.Receiver
	if r.sockets != nil {
		names = append(names, r.sockets.Inputs()...)
	}
	for _, at := range r.cfg.Streams {
		receiver, err := netio.Open(ctx, at, netio.ReceiverConfig{
			Endless: true, Warn: func(err error) { r.cfg.Log.Warn(err.Error()) },
			Begin: func(in io.Reader, name string, from netip.AddrPort) (capture.Source, error) {
				return export.NewStream(in, name, from), nil
			},
		})
		if err != nil {
			for _, open := range receivers {
				open.Close()
			}
			return nil, err
		}
		names, receivers = append(names, at.String()), append(receivers, receiver)
	}
	arrivals := pcapfile.NewArrivals(names, mergeWait)
	arrivals.SetIdle(idle)
	if r.sockets != nil {
		arrivals.Add(pcapfile.Arrival{Source: r.sockets})
	}
	for i, receiver := range receivers {
		receiver.Start(arrivals, len(names)-len(receivers)+i)
	}
	return arrivals, nil
}

// warn passes on what is odd about an input. Damage is remembered.
func (r *runner) warn(err error) {
	var damage *capture.InputError
	if errors.As(err, &damage) {
		r.damaged.Store(true)
	}
	r.cfg.Log.Warn(err.Error())
}
