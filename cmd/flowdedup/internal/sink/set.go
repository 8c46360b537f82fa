// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/certs"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/pcapoverip"
	"github.com/flowdedup/flowdedup/capture/reassemble"
	"github.com/flowdedup/flowdedup/capture/rotate"
	"github.com/flowdedup/flowdedup/capture/strip"
	"github.com/flowdedup/flowdedup/capture/traits"
)

// Config names the outputs of a run; "" is no output. The caller has checked the names.
type Config struct {
	// Kept and Removed are files, "-", or addresses of package pcapoverip, for kept and removed
	// packets.
	Kept, Removed string
	// Others are further addresses for kept packets.
	Others []string
	// Balance shares kept packets among the interfaces of Forward and all addresses: all packets
	// of a conversation go to the same output. While an output is away, its packets go to the others
	// with Spread, and are lost without. Files and pipes get all packets.
	Balance, Spread bool
	// TLS is for addresses; nil for none.
	TLS *certs.Files
	// Arriving says that packets come from a network: a peer that is slow to read does not
	// stall the senders.
	Arriving bool
	// BeginsLate says that inputs may describe interfaces after packets of others.
	BeginsLate bool
	// Forward are interfaces that kept packets are sent to. With Retry the set retries
	// while an interface is down, gone or not there yet.
	Forward []string
	Retry   bool
	// Reassembled says that packets were put together of fragments of tunnels. Files get them as they
	// came, except of kept packets that lose the tunnel.
	Reassembled bool
	// Strip are headers that kept packets lose.
	Strip strip.Headers
	// Slice cuts packets in files, kept and removed.
	Slice strip.Slice
	// Tunnels are the UDP ports of tunnels that Strip, Slice and Balance open; nil are the usual
	// ports.
	Tunnels *headers.Tunnels
	// Rotate splits each output into several files, if it has a size or an interval.
	Rotate rotate.Options
	// Live is for runs without end. A file has its name from the start, and others can
	// read it with a delay of one second. An existing file is never replaced. An output
	// that fails does not stop the others.
	Live bool
	// Folders lets Kept and Removed be folders that get a file for each input.
	Folders bool
	// Inputs are the input files. Kept may replace one of them.
	Inputs []string
	// Stop ends a live run whose reader has left its pipe.
	Stop func()
	Log  *slog.Logger // nil discards
}

// InPlace reports whether the outputs let packets stay in the capture ring: files get whole
// records, and headers are taken off records.
func (c *Config) InPlace() bool { return c.Kept == "" && c.Removed == "" && c.Strip == 0 }

var (
	// ErrOutput is wrapped by failures of an output.
	ErrOutput = errors.New("output failed")
	// ErrBlocked says that an output was blocked when the run was to end.
	ErrBlocked = errors.New("blocked, so the run ended without it")
)

// endTimeout is how long a blocked output may take when the run is to end, and again when
// it is closed.
const endTimeout = 300 * time.Millisecond

// hangTimeout is how much longer a file on a disk of this machine may take, which is busy
// at times.
const hangTimeout = 400 * time.Millisecond

// syncTimeout is how long the end of such a file may take. A busy disk needs seconds for what the
// system has not written yet.
const syncTimeout = 10 * time.Second

// Set is the outputs of a run. One goroutine calls Write and the methods that end the
// set. If Write has not returned after GiveUp, a different goroutine may end the set.
type Set struct {
	cfg      Config
	outputs  []*output
	stripper *strip.Stripper // nil if packets keep their headers
	slicer   *strip.Slicer   // nil if packets stay whole
	splitter reassemble.Splitter
	balancer *balancer       // nil if all outputs get all packets
	plain    encoding        // of batches that were not encoded
	giveUp   <-chan struct{} // closed when blocked outputs are given up
	unsynced <-chan struct{} // closed when files that are not complete are given up
	leave    <-chan struct{} // closed when a caller of Write that hangs is left behind

	mu       sync.Mutex // guards the counts of Write, for List
	stripped strip.Stats
	sliced   strip.SliceStats
	writing  *output             // the output that a caller of Write writes to itself
	ending   bool                // no more is written
	last     map[string][]func() // warnings that came since, by the name of the output; to be logged
}

// New returns a set with nothing open. When ctx is done, the run is to end, and blocked
// outputs get endTimeout.
func New(ctx context.Context, cfg Config) *Set {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &Set{cfg: cfg, giveUp: closedAfter(ctx, endTimeout), unsynced: closedAfter(ctx, syncTimeout), leave: closedAfter(ctx, endTimeout+hangTimeout)}
	if cfg.Strip != 0 {
		s.stripper = strip.New(strip.Config{Headers: cfg.Strip, Tunnels: cfg.Tunnels, Sent: len(cfg.Forward) > 0})
	}
	if cfg.Balance {
		s.balancer = &balancer{pairs: traits.NewPairReader(cfg.Tunnels), spread: cfg.Spread}
	}
	if !cfg.Slice.None() {
		s.slicer = strip.NewSlicer(cfg.Slice, cfg.Tunnels)
	}
	return s
}

// OpenFiles opens the files, so that errors appear before any packet is read. It waits
// for the reader of a pipe until ctx is done. After an error the caller must call
// Discard.
func (s *Set) OpenFiles(ctx context.Context) error {
	for _, name := range append([]string{s.cfg.Kept}, s.cfg.Others...) {
		if err := s.openNamed(ctx, name, false); err != nil {
			return err
		}
	}
	return s.openNamed(ctx, s.cfg.Removed, true)
}

// openNamed opens a file or address, nothing for "".
func (s *Set) openNamed(ctx context.Context, name string, removed bool) error {
	if name == "" {
		return nil
	}
	d, err := s.openFile(ctx, name, !removed)
	if err != nil {
		return err
	}
	file := name
	if _, ok := d.(*folder); ok {
		file = InFolder(name, "file")
	}
	o := &output{
		destination: d, name: name, removed: removed, calls: newCalls(name),
		direct: !pcapoverip.IsAddress(name) && !outfile.MayStall(file),
	}
	if file, ok := d.(*single); ok && !removed && !s.cfg.Live {
		o.records, _ = file.writer.(pcapfile.RecordWriter)
	}
	s.outputs = append(s.outputs, o)
	return nil
}

// closedAfter returns a channel that is closed a time d after ctx is done.
func closedAfter(ctx context.Context, d time.Duration) <-chan struct{} {
	over := make(chan struct{})
	context.AfterFunc(ctx, func() { time.AfterFunc(d, func() { close(over) }) })
	return over
}

// openFile opens the file, or the first file of a rotation.
func (s *Set) openFile(ctx context.Context, name string, kept bool) (destination, error) {
	if pcapoverip.IsAddress(name) {
		return s.openSender(ctx, name)
	}
	derived := kept && s.cfg.Strip&strip.Tunnel != 0 || s.cfg.BeginsLate
	if s.cfg.Rotate.Size > 0 || s.cfg.Rotate.Every > 0 {
		return s.openRotation(name, derived)
	}
	if s.cfg.Folders && IsFolder(name) {
		return s.openFolder(ctx, name, derived)
	}
	opt := s.cfg.Rotate.Output
	open := outfile.Create
	if s.cfg.Live {
		open = outfile.CreateVisible
	} else if kept { // which may replace an input
		opt.Input = inputAt(name, s.cfg.Inputs)
	}
	file, err := open(ctx, name, opt)
	if err != nil {
		return nil, err
	}
	if s.cfg.Live && file.Name() != name {
		s.cfg.Log.Warn("the file exists and stays as it is", "output", name, "written", file.Name())
	}
	writer := pcapfile.NewWriter(file, pcapfile.WriterOptions{
		Merged: s.cfg.Rotate.Merged, Derived: derived, Format: pcapfile.FormatOf(name), Commented: s.cfg.Rotate.Commented,
		Warn: s.warner(name, name),
	})
	return &single{file: file, writer: writer, live: s.cfg.Live, log: s.cfg.Log}, nil
}

// inputAt returns the input that an output would replace, nil if there is none.
func inputAt(name string, inputs []string) os.FileInfo {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	for _, input := range inputs {
		if in, err := os.Stat(input); err == nil && os.SameFile(info, in) {
			return info
		}
	}
	return nil
}

// Write strips and slices the kept packets of a batch, and hands the batch with its verdicts (a bit
// per packet that is a copy) to every output. It may change the content of b. Its error ends a run
// that is not live: it comes from the first output that fails.
func (s *Set) Write(b *capture.Batch, drop []uint64) error {
	if len(s.outputs) == 0 {
		return nil
	}
	if s.cfg.Reassembled {
		b, drop = s.splitter.Split(b, drop, s.cfg.Strip&strip.Tunnel != 0)
	}
	b = s.strip(b, drop)
	s.plain.invert(b, drop)
	s.slice(b, drop, s.plain.inverted)
	s.plain.count(b, drop)
	return s.write(b, drop, &s.plain)
}

// write writes a batch that e has seen.
func (s *Set) write(b *capture.Batch, drop []uint64, e *encoding) error {
	s.balance(b, drop)
	var errs []error
	for _, o := range s.outputs {
		verdicts, size := drop, e.kept
		switch {
		case o.removed:
			verdicts, size = e.inverted, e.removed
		case o.share != nil:
			verdicts, size = o.share.drop, o.share.size
		}
		if o.ended() {
			s.addMissed(o, size)
			continue
		}
		err := s.writeTo(o, b, verdicts, e)
		if s.left() {
			return err
		}
		errs = append(errs, s.written(o, size, err))
	}
	return errors.Join(errs...)
}

// GiveUp returns a channel that is closed when a Write that has not returned hangs: a disk
// stands still.
func (s *Set) GiveUp() <-chan struct{} { return s.leave }

// writeTo writes a batch to an output. Where that waits for nothing but a disk, the
// goroutine of the caller does it, which has the packets in its caches.
func (s *Set) writeTo(o *output, b *capture.Batch, drop []uint64, e *encoding) error {
	if !o.direct {
		return o.do(s.giveUp, func() error { return e.writeTo(o, b, drop) })
	}
	s.setWriting(o)
	defer s.setWriting(nil)
	return e.writeTo(o, b, drop)
}

func (s *Set) setWriting(o *output) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ending {
		s.writing = o
	}
}

// left reports whether the set has ended without the caller.
func (s *Set) left() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ending
}

// beginEnd lets nothing more be written, and returns the output that hangs, nil for none.
func (s *Set) beginEnd() *output {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ending, s.last = true, map[string][]func(){}
	return s.writing
}

// strip takes headers off the kept packets.
func (s *Set) strip(b *capture.Batch, drop []uint64) *capture.Batch {
	if s.stripper == nil {
		return b
	}
	b = s.stripper.Strip(b, drop)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stripped = s.stripper.Stats()
	return b
}

// slice cuts the packets that are written.
func (s *Set) slice(b *capture.Batch, drop, inverted []uint64) {
	if s.slicer == nil {
		return
	}
	switch {
	case s.cfg.Removed == "":
		s.slicer.Slice(b, drop)
	case s.cfg.Kept == "":
		s.slicer.Slice(b, inverted)
	default:
		s.slicer.Slice(b, nil)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sliced = s.slicer.Stats()
}

// addMissed counts packets for an output that takes none any more.
func (s *Set) addMissed(o *output, size traffic) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.given.add(size)
}

// written records the result of a write. It returns an error that ends the run.
func (s *Set) written(o *output, size traffic, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.given.add(size)
	o.update(err)
	switch {
	case err == nil && o.failed == nil:
		return nil
	case err == nil:
		s.recovered(o)
		return nil
	case !s.cfg.Live:
		o.failed, o.reason = err, err
		return failure(err)
	case errors.Is(err, syscall.EPIPE):
		o.failed, o.reason = err, err
		s.cfg.Stop()
		return nil
	}
	s.failedLive(o, err)
	return nil
}

// recovered records that a failed output works again. That is so once it has really
// written a packet.
func (s *Set) recovered(o *output) {
	if o.written <= o.writtenAtFailure {
		return
	}
	o.failed = nil
	s.cfg.Log.Info("output works again", "output", o.name, "lost", o.missing())
}

// failedLive records the failure of an output while others go on. If none is left, it stops the
// run: packets that were captured until then are still judged, and count as lost.
func (s *Set) failedLive(o *output, err error) {
	again := o.failed != nil
	o.failed = err
	if o.reason == nil {
		o.reason = err
	}
	o.writtenAtFailure = o.written
	if again {
		return
	}
	s.cfg.Log.Error("output failed", "output", o.name, "error", err)
	if !slices.ContainsFunc(s.outputs, func(o *output) bool { return !o.ended() }) {
		s.cfg.Stop()
	}
}

// outputError is a failure of an output. Its text is the text of the cause, which names the
// file.
type outputError struct{ err error }

func (e *outputError) Error() string   { return e.err.Error() }
func (e *outputError) Unwrap() []error { return []error{ErrOutput, e.err} }

func failure(err error) error {
	if err == nil {
		return nil
	}
	return &outputError{err}
}
