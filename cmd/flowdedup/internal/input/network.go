// SPDX-License-Identifier: Apache-2.0

package input

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/certs"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/pcapoverip"
)

// Network says how inputs are read that come over a network.
type Network struct {
	// TLS is nil for none.
	TLS *certs.Files
	// MergeWait is how long a packet waits for earlier packets of network inputs, after its
	// arrival.
	MergeWait time.Duration
	// WaitForPipes says that MergeWait is for pipes too. They are waited for as long as it
	// takes otherwise, as files always are.
	WaitForPipes bool
}

// arrives reports whether inputs begin at any time, or are not always waited for.
func (o *Options) arrives(names []string) bool {
	return slices.ContainsFunc(names, pcapoverip.IsAddress) ||
		o.Network.WaitForPipes && !o.NoMerge && len(names) > 1 && slices.ContainsFunc(names, isPipe)
}

// isPipe reports whether a name exists, and is no regular file.
func isPipe(name string) bool {
	info, err := os.Stat(name)
	return name == "-" || err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

// origin is where captures come from: a receiver, or a capture.
type origin struct {
	receiver *pcapoverip.Receiver
	capture  pcapfile.Arrival
}

// openNetwork is Open if at least one input comes over a network.
func openNetwork(ctx context.Context, names []string, opt *Options, w *warnings) (*Stream, error) {
	arrivals, receivers, failed := openArrivals(ctx, names, opt, w)
	if ctx.Err() != nil {
		failed = []error{ctx.Err()}
	}
	if arrivals == nil {
		w.end()
		return nil, errors.Join(failed...)
	}
	context.AfterFunc(ctx, arrivals.Stop)
	s := opt.stream(arrivals, true, w)
	s.failed, s.arrivals, s.receivers, s.mergeWait = failed, arrivals, receivers, opt.Network.MergeWait
	s.beginsLate = len(names) > 1 || pcapoverip.Listens(names[0])
	return s, nil
}

// openArrivals opens the inputs of openNetwork. failed are the errors of inputs.
func openArrivals(ctx context.Context, names []string, opt *Options, w *warnings) (to *pcapfile.Arrivals, receivers []*pcapoverip.Receiver, failed []error) {
	var origins []origin
	var opened []string
	for _, name := range names {
		o, err := openOrigin(ctx, name, len(names), opt, w)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		origins, opened = append(origins, o), append(opened, name)
	}
	if len(origins) == 0 {
		return nil, nil, failed
	}
	to = pcapfile.NewArrivals(opened, opt.Network.MergeWait)
	for i := range origins {
		o := &origins[i]
		if o.receiver != nil {
			receivers = append(receivers, o.receiver)
			o.receiver.Start(to, i)
			continue
		}
		o.capture.Input = i
		to.Add(o.capture)
	}
	return to, receivers, failed
}

func openOrigin(ctx context.Context, name string, inputs int, opt *Options, w *warnings) (o origin, err error) {
	files := pcapfile.Options{Warn: w.warn, Note: w.note, ChunkSize: opt.chunkSize(inputs)}
	switch {
	case pcapoverip.IsAddress(name):
		var addr pcapoverip.Address
		if addr, err = pcapoverip.ParseInput(name); err == nil {
			o.receiver, err = pcapoverip.Open(ctx, addr, pcapoverip.ReceiverConfig{TLS: opt.Network.TLS, Warn: w.broken})
		}
	case isPipe(name):
		o.capture.Source = &pipe{name: name, opt: files}
		o.capture.Patient = !opt.Network.WaitForPipes
	default:
		o.capture.Source, err = pcapfile.Open(name, files)
		o.capture.Patient = true
	}
	return o, err
}

// broken reports a stream that broke off while others go on. A stream that never was a capture
// does not count as damage.
func (w *warnings) broken(err error) {
	var in *capture.InputError
	if !capture.IsUnread(err) || errors.As(err, &in) && in.Header {
		w.note(err)
		return
	}
	w.warn(err)
}

// pipe is a capture that opens in its first Next, as a pipe opens when its writer does.
type pipe struct {
	name string
	opt  pcapfile.Options
	src  capture.Source // nil before
}

// Next opens the pipe first; see capture.Source.
func (p *pipe) Next(b *capture.Batch) (err error) {
	if p.src == nil {
		if p.src, err = pcapfile.Open(p.name, p.opt); err != nil {
			p.src = nil
			return err
		}
	}
	return p.src.Next(b)
}

// Inputs returns the only name.
func (p *pipe) Inputs() []string { return []string{p.name} }

// Offset returns zeros: the end of a pipe is unknown.
func (p *pipe) Offset() (done, total int64) { return 0, 0 }

// Size returns 0: unknown.
func (p *pipe) Size() int64 { return 0 }

// Close closes the pipe.
func (p *pipe) Close() error {
	if p.src == nil {
		return nil
	}
	return p.src.Close()
}
