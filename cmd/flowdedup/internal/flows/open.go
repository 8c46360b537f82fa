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
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/compressed"
	"github.com/flowdedup/flowdedup/capture/mirror"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/pcapoverip"
	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/capture/records/export"
)

// idle is how long a run waits for messages before it looks whether something has waited
// long enough.
const idle = 250 * time.Millisecond

// bufferBytes is the buffer of a socket: some 20,000 messages.
const bufferBytes = 32 << 20

// delay is how long messages gather in a socket: waking up costs as much as some hundred records.
const delay = 20 * time.Millisecond

// openInputs opens all inputs, or sockets.
func (r *runner) openInputs(ctx context.Context) error {
	if r.cfg.live() {
		return r.listen(ctx)
	}
	var binary []capture.Source
	var texts []io.Reader
	var textNames []string
	for _, name := range r.cfg.Inputs {
		in, head, err := r.openFile(ctx, name)
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
		binary, r.names.inputs = append(binary, src), append(r.names.inputs, name)
	}
	var readers []records.Reader
	if len(binary) > 0 {
		r.messages = r.newReader(join(binary, r.warn))
		readers = append(readers, r.messages)
	}
	for i, in := range texts {
		reader, err := r.openText(in, textNames[i], uint32(len(binary)+i))
		if err != nil {
			return err
		}
		readers, r.names.inputs = append(readers, reader), append(r.names.inputs, textNames[i])
	}
	r.reader = readers[0]
	if len(readers) > 1 {
		r.reader = newMerged(readers)
	}
	return nil
}

// newReader returns a reader of messages.
func (r *runner) newReader(src capture.Source) *export.Reader {
	reader := export.NewReader(src)
	reader.Limit(r.cfg.shares().reader)
	if r.cfg.Inner {
		reader.OpenTunnels(r.cfg.Tunnels)
	}
	return reader
}

// openFile opens a file, and returns its decompressed content and its first bytes. Both may wait for
// the writer of a pipe, until ctx is done.
func (r *runner) openFile(ctx context.Context, name string) (in io.Reader, head []byte, err error) {
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
		// It is not closed: a read may be under way when the run ends, and its memory is all
		// that it has.
		if o.inside, o.head, err = compressed.NewReader(o.file); err != nil {
			return capture.Locate(err, shown(name), 0, true)
		}
		return nil
	}); err != nil {
		return nil, nil, err
	}
	if name != "-" {
		r.inputs = append(r.inputs, o.file)
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

func openBinary(in io.Reader, head []byte, name string, warn func(error)) (capture.Source, error) {
	if export.IsStream(head) {
		return export.NewStream(in, shown(name), netip.AddrPort{}), nil
	}
	if len(head) >= 2 && head[0] == 0 && (head[1] == 1 || head[1] == 5 || head[1] == 7 || head[1] == 9) {
		err := fmt.Errorf("%w: it begins as a message of NetFlow v%d, which does not state its length: read a capture of exports, or send it to --listen",
			capture.ErrUnknownFormat, head[1])
		return nil, capture.Locate(err, shown(name), 0, true)
	}
	return pcapfile.NewReader(in, shown(name), pcapfile.Options{Warn: warn})
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

// socketLag is how long it may take from a message's arrival to its being read.
const socketLag = 10 * time.Millisecond

// listen opens the sockets that exporters send to. Messages of several sockets are merged by
// time, so the number of sockets does not change which point reported a flow first.
func (r *runner) listen(ctx context.Context) error {
	names, receivers, err := r.openStreams(ctx)
	if err != nil {
		return err
	}
	if err := r.openSockets(); err != nil {
		closeAll(receivers)
		return err
	}
	if len(r.sockets) > 0 {
		names = append(names, r.sockets[0].Inputs()...)
	}
	r.receivers = receivers
	src := r.received(names)
	r.inputs = append(r.inputs, src)
	context.AfterFunc(ctx, src.Stop)
	r.messages = r.newReader(src)
	r.reader = r.messages
	r.logAddresses()
	return nil
}

// stoppable is a source that ends when it is asked to.
type stoppable interface {
	capture.Source
	Stop()
}

// received returns the source of all messages that come. A socket that is the only one needs no
// merging, and so no other goroutine to wake up.
func (r *runner) received(names []string) stoppable {
	if len(r.sockets) == 1 && len(r.receivers) == 0 {
		return r.sockets[0]
	}
	src := pcapfile.NewArrivals(names, mergeWait)
	src.SetIdle(idle)
	for _, socket := range r.sockets {
		src.Add(pcapfile.Arrival{Source: socket, Input: len(r.receivers), Lag: socketLag})
	}
	for i, receiver := range r.receivers {
		receiver.Start(src, i)
	}
	return src
}

func (r *runner) logAddresses() {
	for _, at := range r.cfg.Listen {
		if at.Addr().IsUnspecified() {
			r.cfg.Log.Info("listening", "address", at, "reachable", "at every address of this host")
			continue
		}
		r.cfg.Log.Info("listening", "address", at)
	}
	for _, at := range r.cfg.Streams {
		r.cfg.Log.Info("listening", "address", at)
	}
}

// openSockets opens sockets for datagrams.
func (r *runner) openSockets() (err error) {
	if len(r.cfg.Listen) == 0 {
		return nil
	}
	var targets []mirror.Target
	for _, at := range r.cfg.Listen {
		targets = append(targets, mirror.Datagrams(at))
	}
	r.sockets, err = mirror.OpenEach(mirror.Config{Targets: targets, BufferBytes: bufferBytes, Delay: delay, Idle: idle, Warn: r.warn})
	return err
}

// openStreams opens addresses for IPFIX over TCP, and returns their names.
func (r *runner) openStreams(ctx context.Context) (names []string, receivers []*pcapoverip.Receiver, err error) {
	for _, at := range r.cfg.Streams {
		receiver, err := pcapoverip.Open(ctx, at, pcapoverip.ReceiverConfig{
			Endless: true, Warn: func(err error) { r.cfg.Log.Warn(err.Error()) },
			Begin: func(in io.Reader, name string, from netip.AddrPort) (capture.Source, error) {
				stream := export.NewStream(in, name, from)
				return stream, stream.Await()
			},
		})
		if err != nil {
			closeAll(receivers)
			return nil, nil, err
		}
		names, receivers = append(names, at.String()), append(receivers, receiver)
	}
	return names, receivers, nil
}

func closeAll(receivers []*pcapoverip.Receiver) {
	for _, open := range receivers {
		open.Close()
	}
}

// warn reports warnings of an input, and remembers damage.
func (r *runner) warn(err error) {
	var damage *capture.InputError
	if errors.As(err, &damage) {
		r.damaged.Store(true)
	}
	r.cfg.Log.Warn(err.Error())
}
