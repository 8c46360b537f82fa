// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/bits"
	"path/filepath"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/pcapoverip"
	"github.com/flowdedup/flowdedup/capture/rotate"
)

// destination takes the packets of a batch that are not in drop.
type destination interface {
	Write(b *capture.Batch, drop []uint64) error
	// Exactly one of these is called, once. commit completes the output, keep ends it as it
	// is, cut short before the end of the packets or not, and discard removes it.
	commit() error
	keep(cut bool) error
	discard() error
	// counts returns the outcome of the packets so far.
	counts() outcome
	// retries reports whether it can be written again after a failure.
	retries() bool
}

// outcome counts the packets of a destination by their fate.
type outcome struct {
	written uint64 // packets that left the program or are in a file
	lost    uint64 // packets that never will
	files   uint64 // complete files of a rotation
	skipped uint64 // blocks that could not be copied
}

// KeptError says where the packets of an output are that did not get its name, because
// the run or the output failed.
type KeptError struct {
	Name, File string
	Err        error // nil if the run reports the reason
}

// Error names both files.
func (k *KeptError) Error() string {
	if k.Err != nil {
		return fmt.Sprintf("%v; what was processed is in %s", k.Err, k.File)
	}
	return fmt.Sprintf("%s was not written; what was processed is in %s", k.Name, k.File)
}

// Unwrap returns the reason.
func (k *KeptError) Unwrap() error { return k.Err }

// output is one destination and its state.
type output struct {
	destination
	*calls  // nil if no call can block
	name    string
	removed bool // it takes the removed packets
	direct  bool // writing does not block
	// records writes gathered records of kept packets to the destination; nil if it cannot.
	records pcapfile.RecordWriter

	share *share // of kept packets, nil for all
	given traffic
	outcome
	failed           error  // why it takes no packets now
	reason           error  // its first failure
	writtenAtFailure uint64 // outcome.written at its last failure
}

// ended reports whether the output takes no more packets.
func (o *output) ended() bool {
	return o.failed != nil && (!o.retries() || errors.Is(o.failed, ErrBlocked))
}

// update reads the counts after a call, unless the call still blocks.
func (o *output) update(err error) {
	if !errors.Is(err, ErrBlocked) {
		o.outcome = o.destination.counts()
	}
}

// settle takes the error of the call that ended the output, so that gathered packets that were
// not written count as lost.
func (o *output) settle(err error) {
	var kept *KeptError
	if err == nil || o.failed != nil || errors.As(err, &kept) && kept.Err == nil {
		return
	}
	o.failed = err
	if o.retries() { // it is not tried again
		o.lost = max(o.lost, o.given.packets-min(o.written, o.given.packets))
	}
}

// missing returns how many of the packets given to the output will never be in it.
func (o *output) missing() uint64 {
	if o.ended() {
		return o.given.packets - min(o.written, o.given.packets)
	}
	return min(o.lost, o.given.packets)
}

// traffic is a number of packets and their captured bytes.
type traffic struct{ packets, bytes uint64 }

func (a *traffic) add(b traffic) {
	a.packets += b.packets
	a.bytes += b.bytes
}

// trafficOf counts the frames of b whose bit is set.
func trafficOf(b *capture.Batch, set []uint64) (a traffic) {
	for w, word := range set {
		a.packets += uint64(bits.OnesCount64(word))
		for ; word != 0; word &= word - 1 {
			a.bytes += uint64(b.Frames[w*64+bits.TrailingZeros64(word)].CapLen)
		}
	}
	return a
}

// trafficBut counts the frames of b that are not in removed: few are removed, mostly.
func trafficBut(b *capture.Batch, removed traffic) traffic {
	all := uint64(0)
	for i := range b.Frames {
		all += uint64(b.Frames[i].CapLen)
	}
	return traffic{uint64(len(b.Frames)) - removed.packets, all - removed.bytes}
}

// flushEvery is the longest time before the packets of a live run can be read by others.
const flushEvery = time.Second

// single is one file, a pipe or standard output.
type single struct {
	file   *outfile.File
	writer capture.Writer
	live   bool
	next   time.Time // of the next flush
	log    *slog.Logger
}

func (d *single) Write(b *capture.Batch, drop []uint64) error {
	err := d.writer.Write(b, drop)
	if now := time.Now(); err == nil && d.live && !now.Before(d.next) {
		d.next = now.Add(flushEvery)
		err = d.writer.Flush()
	}
	return err
}

func (d *single) commit() error {
	if err := d.writer.Close(); err != nil {
		return KeepFile(d.file, err)
	}
	if err := d.file.Commit(); err != nil {
		return err
	}
	d.log.Info("file complete", "file", d.file.Name(), "packets", d.writer.Written())
	return nil
}

func (d *single) keep(cut bool) error {
	_ = d.writer.Close() // an error would come from the file
	if cut && !d.live {
		return kept(d.file, d.file.KeepPartial, nil)
	}
	return KeepFile(d.file, nil)
}

// KeepFile ends a file after a failure. reason may be nil if the failure is reported
// elsewhere. The error is a *KeptError if the file did not get its name.
func KeepFile(f *outfile.File, reason error) error { return kept(f, f.Keep, reason) }

// kept ends a file by one of its methods: see KeepFile.
func kept(f *outfile.File, end func() (string, error), reason error) error {
	name := f.Name()
	kept, err := end()
	if reason == nil {
		reason = err
	}
	if kept == "" || filepath.Clean(kept) == filepath.Clean(name) {
		return reason
	}
	return &KeptError{Name: name, File: kept, Err: reason}
}

func (d *single) discard() error { return d.file.Discard() }
func (d *single) retries() bool  { return false }

func (d *single) counts() outcome {
	return outcome{written: d.writer.Written(), skipped: d.writer.Skipped()}
}

const (
	// rotationRetry is the pause before another file is begun on a full disk.
	rotationRetry = 5 * time.Second
	// clockLag is how long after its end an interval is closed if no packet ends it: many
	// times the delay of ring blocks.
	clockLag = 2 * time.Second
)

// rotating is a series of files.
type rotating struct {
	*rotate.File
	live  bool
	tried time.Time // when the last retry was
	next  time.Time // of the next flush
}

func (s *Set) openRotation(name string, derived bool) (destination, error) {
	opt := s.cfg.Rotate
	opt.Derived = derived
	opt.Warn = func(err error) { s.cfg.Log.Warn(name, "error", err) }
	opt.Completed = func(file string, packets uint64) {
		s.cfg.Log.Info("file complete", "file", file, "packets", packets)
	}
	r, err := rotate.New(name, opt)
	if err != nil {
		return nil, err
	}
	return &rotating{File: r, live: s.cfg.Live}, nil
}

// Write writes the packets that are not in drop. A live rotation gets every batch and the
// time, even while it cannot write.
func (d *rotating) Write(b *capture.Batch, drop []uint64) error {
	err := d.File.Write(b, drop)
	if !d.live {
		return err
	}
	now := time.Now()
	if err = d.Tick(now.Add(-clockLag)); err == nil && !now.Before(d.next) {
		d.next = now.Add(flushEvery)
		err = d.Flush()
	}
	if err != nil && now.Sub(d.tried) > rotationRetry {
		d.tried = now
		d.Retry()
	}
	return err
}

func (d *rotating) commit() error { return d.Commit() }

func (d *rotating) keep(cut bool) error {
	if cut {
		return d.CutShort()
	}
	return d.Commit()
}

func (d *rotating) discard() error { return d.Discard() }
func (d *rotating) retries() bool  { return d.live }

func (d *rotating) counts() outcome {
	stats := d.Stats()
	return outcome{written: d.Written(), lost: stats.Lost, files: stats.Files, skipped: d.Skipped()}
}

// forwarding is an interface as a destination. Its sender finds an interface again after
// an outage.
type forwarding struct {
	*afpacket.Sender
	retry bool
}

// Write sends the packets that are not in drop.
func (f *forwarding) Write(b *capture.Batch, drop []uint64) error { return f.Send(b, drop) }

func (f *forwarding) commit() error   { return f.Close() }
func (f *forwarding) keep(bool) error { return f.Close() }
func (f *forwarding) discard() error  { return f.Close() }
func (f *forwarding) retries() bool   { return f.retry }

func (f *forwarding) counts() outcome {
	s := f.Stats()
	return outcome{written: s.Sent, lost: s.Skipped() + s.Lost}
}

// usable reports whether the interface is there, as far as is known.
func (f *forwarding) usable() bool { return f.Reachable() }

// OpenForward opens the interfaces to send to, if there are any. It comes before OpenFiles
// if privileges are dropped in between.
func (s *Set) OpenForward() error {
	for _, name := range s.cfg.Forward {
		sender, err := afpacket.OpenSender(afpacket.SenderConfig{
			Interface: name,
			Warn:      func(err error) { s.cfg.Log.Warn("packets are not forwarded", "error", err) },
		})
		if err != nil {
			return err
		}
		d := &forwarding{Sender: sender, retry: s.cfg.Retry}
		s.outputs = append(s.outputs, &output{destination: d, name: name})
	}
	return nil
}

// network is peers as a destination.
type network struct{ *pcapoverip.Sender }

// openSender connects to the address, or waits for a peer there.
func (s *Set) openSender(ctx context.Context, name string) (destination, error) {
	addr, err := pcapoverip.ParseAddress(name)
	if err != nil {
		return nil, err
	}
	sender, err := pcapoverip.OpenSender(ctx, addr, pcapoverip.SenderConfig{
		TLS: s.cfg.TLS, Live: s.cfg.Live || s.cfg.Arriving && pcapoverip.Listens(name), Commented: s.cfg.Rotate.Commented,
		Warn: func(err error) { s.cfg.Log.Warn("output", "error", err) },
	})
	if err != nil {
		return nil, err
	}
	return network{sender}, nil
}

func (n network) commit() error   { return n.Close() }
func (n network) keep(bool) error { return n.Close() }
func (n network) discard() error  { return n.Close() }
func (n network) retries() bool   { return false }
func (n network) usable() bool    { return n.Connected() }

func (n network) counts() outcome {
	s := n.Stats()
	return outcome{written: s.Written, lost: s.Lost, skipped: n.Skipped()}
}
