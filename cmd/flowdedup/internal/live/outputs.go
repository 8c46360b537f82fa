package live

import (
	"errors"
	"fmt"
	"log/slog"
	"math/bits"
	"sync"
	"syscall"

	"github.com/flowdedup/flowdedup/capture"
)

// destination takes packets: all of a batch but those in drop.
type destination interface {
	Write(b *capture.Batch, drop []uint64) error
	// commit completes what was written, and abort takes it back; one of them is
	// called, once.
	commit() error
	abort() error
	// count returns how many files are complete.
	count() uint64
}

// output is one destination, and what has become of it.
type output struct {
	destination
	name   string
	invert bool // it takes the duplicates

	packets, bytes uint64
	files          uint64 // complete ones, where it rotates
	failed         error  // why nothing goes there now
	lost           error  // why something did not go there: the first such reason
	retry          bool   // it is tried again with the next batch
}

// outputs are the destinations of a run. One that fails does not stop the others; the
// last one that does ends the run. So does a reader that leaves its pipe, when the others
// have got what was captured until then.
type outputs struct {
	log      *slog.Logger
	stop     func() // ends the capture
	all      []*output
	inverted []uint64

	mu sync.Mutex // over what write counts, for list
}

// files opens the files of the packets kept and removed.
func (o *outputs) files(kept, removed string, rotate capture.RotateOptions) error {
	for _, f := range []struct {
		name   string
		invert bool
	}{{kept, false}, {removed, true}} {
		if f.name == "" {
			continue
		}
		file, err := createFile(f.name, rotate, func(err error) { o.log.Warn(err.Error()) })
		if err != nil {
			return err
		}
		o.all = append(o.all, &output{
			destination: file, name: f.name, invert: f.invert, retry: file.rotation != nil,
		})
	}
	return nil
}

// write hands a batch and its verdicts to every output.
func (o *outputs) write(b *capture.Batch, drop []uint64) error {
	if len(o.all) == 0 {
		return nil
	}
	o.inverted = capture.Complement(o.inverted, drop, len(b.Frames))
	kept, removed := amount(b, o.inverted), amount(b, drop)
	for _, out := range o.all {
		if out.failed != nil && !out.retry {
			continue
		}
		verdicts, size := drop, kept
		if out.invert {
			verdicts, size = o.inverted, removed
		}
		if err := o.written(out, size, out.Write(b, verdicts)); err != nil {
			return err
		}
	}
	return nil
}

// written notes what writing so much to an output has come to, and returns an error
// that ends the run.
func (o *outputs) written(out *output, size amounts, err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case err == nil:
		if out.failed != nil {
			o.log.Info("output works again", "output", out.name)
		}
		out.failed = nil
		out.packets += size.packets
		out.bytes += size.bytes
		out.files = out.count()
	case errors.Is(err, syscall.EPIPE):
		out.failed, out.lost = err, err
		o.stop()
	case out.failed == nil:
		if !out.retry {
			err = errors.Join(err, out.abort()) // others may need the room that it takes
		}
		out.failed = err
		if out.lost == nil {
			out.lost = err
		}
		if !out.retry && o.allFailed() {
			out.lost = nil // told by the end of the run
			return fmt.Errorf("%w: %w", ErrOutput, err)
		}
		o.log.Error("output failed", "output", out.name, "error", err)
	}
	return nil
}

func (o *outputs) allFailed() bool {
	for _, out := range o.all {
		if out.failed == nil || out.retry {
			return false
		}
	}
	return true
}

// amounts are sizes of a part of a batch.
type amounts struct{ packets, bytes uint64 }

// amount adds up the frames of b whose bit is set.
func amount(b *capture.Batch, set []uint64) (a amounts) {
	for w, word := range set {
		a.packets += uint64(bits.OnesCount64(word))
		for ; word != 0; word &= word - 1 {
			a.bytes += uint64(b.Frames[w*64+bits.TrailingZeros64(word)].CapLen)
		}
	}
	return a
}

// reason returns why nothing goes there now, or "".
func (o *output) reason() string {
	if o.failed == nil {
		return ""
	}
	return o.failed.Error()
}

// list returns the state of every file.
func (o *outputs) list() []Output {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []Output
	for _, out := range o.all {
		if _, ok := out.destination.(*forwarding); ok {
			continue // see forwarded
		}
		all = append(all, Output{
			Name: out.name, Packets: out.packets, Bytes: out.bytes, Files: out.files, Failed: out.reason(),
		})
	}
	return all
}

// ErrOutput is what the failure of an output wraps.
var ErrOutput = errors.New("output failed")

// commit completes the outputs, and returns what was lost of each and why.
func (o *outputs) commit() error {
	var errs []error
	for _, out := range o.all {
		var err error
		if out.failed != nil && !out.retry {
			err = out.abort()
		} else {
			err = out.commit()
		}
		out.files = out.count()
		if out.lost != nil && !errors.Is(err, out.lost) {
			errs = append(errs, fmt.Errorf("%w: %w", ErrOutput, out.lost))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%w: %w", ErrOutput, err))
		}
	}
	return errors.Join(errs...)
}

// abort takes back what was written.
func (o *outputs) abort() error {
	var errs []error
	for _, out := range o.all {
		errs = append(errs, out.abort())
	}
	return errors.Join(errs...)
}
