// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"
	"io"
	"net/netip"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/mirror"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/pcapoverip"
	"github.com/flowdedup/flowdedup/capture/records/export"
)

const (
	// idle is how long a run waits for messages before it looks for windows and records whose
	// time is over.
	idle = 250 * time.Millisecond
	// bufferBytes is the buffer of a socket: some 20,000 messages.
	bufferBytes = 32 << 20
	// delay is how long messages gather in a socket: waking up costs as much as some hundred
	// records.
	delay = 20 * time.Millisecond
	// mergeWait is how long messages wait for older messages of other sockets.
	mergeWait = 100 * time.Millisecond
	// socketLag is how long it may take from a message's arrival to its being read.
	socketLag = 10 * time.Millisecond
)

// listen opens the sockets that exporters send to. Messages of several sockets are merged by
// time, so the number of sockets does not change which point reported a flow first.
func (in *inputs) listen(ctx context.Context) error {
	err := in.openStreams(ctx)
	if err == nil {
		err = in.openSockets()
	}
	if err != nil {
		for _, receiver := range in.receivers {
			receiver.Close()
		}
		return err
	}
	src := in.received()
	in.closers = append(in.closers, src)
	context.AfterFunc(ctx, src.Stop)
	in.readMessages(src)
	in.reader = in.messages
	in.logAddresses()
	return nil
}

// openSockets opens sockets for datagrams.
func (in *inputs) openSockets() (err error) {
	if len(in.cfg.Listen) == 0 {
		return nil
	}
	var targets []mirror.Target
	for _, at := range in.cfg.Listen {
		targets = append(targets, mirror.Datagrams(at))
	}
	in.sockets, err = mirror.OpenEach(mirror.Config{Targets: targets, BufferBytes: bufferBytes, Delay: delay, Idle: idle, Warn: in.warn})
	return err
}

// openStreams opens addresses for IPFIX over TCP.
func (in *inputs) openStreams(ctx context.Context) error {
	for _, at := range in.cfg.Streams {
		receiver, err := pcapoverip.Open(ctx, at, pcapoverip.ReceiverConfig{
			Endless: true, Warn: func(err error) { in.cfg.Log.Warn(err.Error()) },
			Begin: func(content io.Reader, name string, from netip.AddrPort) (capture.Source, error) {
				stream := export.NewStream(content, name, from)
				return stream, stream.Await()
			},
		})
		if err != nil {
			return err
		}
		in.receivers = append(in.receivers, receiver)
	}
	return nil
}

// stoppable is a source that ends when it is asked to.
type stoppable interface {
	capture.Source
	Stop()
}

// received returns the source of all messages that come. A single socket needs no merging, and so
// no other goroutine to wake up.
func (in *inputs) received() stoppable {
	if len(in.sockets) == 1 && len(in.receivers) == 0 {
		return in.sockets[0]
	}
	var names []string
	for _, at := range in.cfg.Streams {
		names = append(names, at.String())
	}
	if len(in.sockets) > 0 {
		names = append(names, in.sockets[0].Inputs()...)
	}
	src := pcapfile.NewArrivals(names, mergeWait)
	src.SetIdle(idle)
	for _, socket := range in.sockets {
		src.Add(pcapfile.Arrival{Source: socket, Input: len(in.receivers), Lag: socketLag})
	}
	for i, receiver := range in.receivers {
		receiver.Start(src, i)
	}
	return src
}

func (in *inputs) logAddresses() {
	for _, at := range in.cfg.Listen {
		if at.Addr().IsUnspecified() {
			in.cfg.Log.Info("listening", "address", at, "reachable", "at every address of this host")
			continue
		}
		in.cfg.Log.Info("listening", "address", at)
	}
	for _, at := range in.cfg.Streams {
		in.cfg.Log.Info("listening", "address", at)
	}
}

// dropped returns the datagrams that were dropped: by the kernel, or unread at the end.
func (in *inputs) dropped() uint64 {
	all := in.left
	for _, socket := range in.sockets {
		for _, target := range socket.Stats() {
			for i := range target.Sockets {
				all += target.Sockets[i].Dropped
			}
		}
	}
	return all
}
