// SPDX-License-Identifier: Apache-2.0

package input

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/pcapoverip"
	"github.com/flowdedup/flowdedup/capture/pipeline"
	"github.com/flowdedup/flowdedup/capture/reassemble"
)

// Stream is the packets of all inputs as one stream.
type Stream struct {
	src      capture.Source
	whole    *reassemble.Source // nil unless fragments of tunnels are put together
	packets  *pipeline.Pipeline
	failed   []error
	warnings *warnings
	filter   *Matcher // nil for all packets
	progress func(done, total int64, packets uint64)
	wanted   func(b *capture.Batch, i int) bool
	part     parting
	admit    func(ctx context.Context, b *capture.Batch) error // nil for nothing
	read     uint64                                            // packets
	filtered uint64                                            // packets of these that the filter or the part removed
	unwanted uint64                                            // packets that wanted did

	sorter     *pcapfile.Sorter // src if packets are sorted, else nil
	receivers  []*pcapoverip.Receiver
	arrivals   *pcapfile.Arrivals // src if inputs arrive, else nil
	mergeWait  time.Duration
	beginsLate bool
	fragments  atomic.Pointer[reassemble.Stats] // at the end of the part
}

func newStream(src capture.Source, filter *Matcher) *Stream {
	return &Stream{src: src, packets: pipeline.New(src), warnings: &warnings{}, filter: filter}
}

// Admit makes Each call admit with each batch before it is prepared, in the order of the
// stream, as pipeline.Admitter says. An error ends Each.
func (s *Stream) Admit(admit func(ctx context.Context, b *capture.Batch) error) { s.admit = admit }

// Each is pipeline.Pipeline.Run for the wanted packets. An error of the filter's Matcher.Admit ends
// it.
func (s *Stream) Each(ctx context.Context, workers int, task func() pipeline.Task) error {
	ctx, s.part.end = context.WithCancelCause(ctx)
	defer s.part.end(nil)
	err := s.packets.Run(ctx, workers, func() pipeline.Task {
		return &filteredTask{Task: task(), ctx: ctx, stream: s}
	})
	if context.Cause(ctx) != io.EOF {
		s.warnings.emitWhole()
	}
	if late := s.Late(); late != nil && *late > 0 {
		s.warnings.note(fmt.Errorf("%d packets arrived more than %v after later ones of other inputs, and are out of order: duplicates among them may remain; use a larger --merge-wait",
			*late, s.mergeWait))
	}
	return err
}

// Arrives reports whether packets come as fast as they are made, and cannot wait.
func (s *Stream) Arrives() bool { return s.arrivals != nil }

// BeginsLate reports whether inputs may describe interfaces after packets of others.
func (s *Stream) BeginsLate() bool { return s.beginsLate }

// Late returns how many packets arrived too late to be merged in order, nil if all are
// waited for.
func (s *Stream) Late() *uint64 {
	if s.arrivals == nil {
		return nil
	}
	late := s.arrivals.Late()
	return &late
}

// Unsorted counts the packets that could not be sorted, nil if packets are not sorted.
func (s *Stream) Unsorted() *pcapfile.SortStats {
	if s.sorter == nil {
		return nil
	}
	stats := s.sorter.Stats()
	return &stats
}

// Fragments counts the fragments of tunnels, nil if they are not put together.
func (s *Stream) Fragments() *reassemble.Stats {
	if s.whole == nil {
		return nil
	}
	if stats := s.fragments.Load(); stats != nil {
		return stats
	}
	stats := s.whole.Stats()
	return &stats
}

// Peers returns the counts of the peers of all inputs together, nil if none is on a network.
func (s *Stream) Peers() *pcapoverip.ReceiverStats {
	if len(s.receivers) == 0 {
		return nil
	}
	sum := &pcapoverip.ReceiverStats{}
	for _, r := range s.receivers {
		n := r.Stats()
		sum.Peers += n.Peers
		sum.Connected += n.Connected
		sum.PeersDropped += n.PeersDropped
	}
	return sum
}

// filteredTask filters a batch before its task.
type filteredTask struct {
	pipeline.Task
	ctx     context.Context
	stream  *Stream
	err     error    // why the batch cannot be prepared
	from    int64    // the times of the batch that are wanted
	to      int64    // ... before this
	full    bool     // nothing behind the batch is wanted
	wanted  []uint64 // a bit for each packet that is
	removed int      // how many the filter or the part removed
	others  int      // how many were not wanted for other reasons
}

var _ pipeline.Admitter = (*filteredTask)(nil)

// Admit prepares to filter a batch, and does as Stream.Admit says.
func (t *filteredTask) Admit(b *capture.Batch) {
	p := &t.stream.part
	if t.err = nil; p.Count > 0 && p.taken == p.Count {
		t.err = io.EOF // the batch was read ahead
		return
	}
	if f := t.stream.filter; f != nil {
		t.err = f.Admit(t.ctx, b)
	}
	if t.from, t.to = p.span(b); p.Count > 0 && t.err == nil {
		all := slices.Clone(b.Frames)
		t.sift(b)
		if t.removed, t.full = p.cut(b, all); t.full {
			t.stream.warnings.readAhead()
			t.stream.fragments.Store(t.stream.Fragments())
		}
	}
	if t.stream.admit != nil && t.err == nil {
		t.err = t.stream.admit(t.ctx, b)
	}
}

// Prepare removes unwanted packets from a batch.
func (t *filteredTask) Prepare(b *capture.Batch) {
	if t.err != nil {
		return
	}
	if t.stream.part.Count == 0 { // else the packets were counted
		t.sift(b)
	}
	if f := t.stream.wanted; f != nil {
		t.others = pick(b, f, t.wanted)
	}
	t.Task.Prepare(b)
}

// sift removes packets that the filter does not want, and packets outside of the wanted times.
func (t *filteredTask) sift(b *capture.Batch) {
	n := (len(b.Frames) + 63) / 64
	t.wanted, t.removed = slices.Grow(t.wanted[:0], n)[:n], 0
	if f := t.stream.filter; f != nil {
		t.removed = keep(b, f, t.wanted)
	}
	if p := &t.stream.part; p.From != nil || p.To != nil {
		t.removed += outside(b, t.from, t.to, t.wanted)
	}
}

// Judge passes the batch on, and counts.
func (t *filteredTask) Judge(b *capture.Batch) error {
	if t.err != nil {
		return t.err
	}
	if err := t.Task.Judge(b); err != nil {
		return err
	}
	t.stream.unwanted += uint64(t.others)
	t.stream.count(len(b.Frames)+t.others, t.removed)
	if t.full {
		t.stream.part.end(io.EOF)
	}
	return nil
}

// Finish finishes the other task.
func (t *filteredTask) Finish() error {
	if f, ok := t.Task.(pipeline.Finisher); ok {
		return f.Finish()
	}
	return nil
}

// GiveUp returns when the other task's Write is left behind if it hangs; nil is never.
func (t *filteredTask) GiveUp() <-chan struct{} {
	if a, ok := t.Task.(pipeline.Abandoner); ok {
		return a.GiveUp()
	}
	return nil
}

// count adds the packets of a batch, and reports progress.
func (s *Stream) count(kept, filtered int) {
	s.read += uint64(kept + filtered)
	s.filtered += uint64(filtered)
	if s.progress != nil {
		done, total := s.src.Offset()
		s.progress(done, total, s.read)
	}
}

// Failed returns an error for each input that could not be opened.
func (s *Stream) Failed() []error { return s.failed }

// Inputs returns the names of the inputs that were opened.
func (s *Stream) Inputs() []string { return s.src.Inputs() }

// Filtered returns how many packets the filter removed, or lie outside of the part's times. It is valid after Each.
func (s *Stream) Filtered() uint64 { return s.filtered }

// Unwanted returns how many other packets were not wanted. It is valid after Each.
func (s *Stream) Unwanted() uint64 { return s.unwanted }

// Size returns the bytes of all inputs, 0 if unknown.
func (s *Stream) Size() int64 { return s.src.Size() }

// Close closes the inputs. It does not wait for a read from a silent pipe, which may
// continue after Each.
func (s *Stream) Close() error {
	s.warnings.end()
	if s.arrivals != nil {
		s.arrivals.Stop() // ends reading
	}
	return s.packets.Close()
}

// Damaged reports whether inputs were damaged. err is the error of Each.
func (s *Stream) Damaged(err error) bool { return s.warnings.damaged() || capture.IsDamage(err) }

// warnings passes on warnings about damage that did not end an input, and remembers that there
// were any. A reading goroutine may still run when the stream is closed: its warnings are
// dropped.
type warnings struct {
	mu        sync.Mutex
	emit      func(error)
	whole     []error // about whole inputs; nothing where a part ended before
	ahead     bool    // what readers find from now on lies behind the part, where they are by chance
	hadDamage bool
	ended     bool
}

func (w *warnings) warn(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended || w.ahead {
		return
	}
	w.hadDamage = true
	w.emit(err)
}

// note passes on a warning about something other than damage. The manual has a remedy for wrong
// times.
func (w *warnings) note(err error) {
	times := (*pcapfile.TimesError)(nil)
	if errors.As(err, &times) {
		err = fmt.Errorf("%w (the manual, windows.md)", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.ended || w.emit == nil || w.ahead && times != nil:
	case times != nil && times.Whole:
		w.whole = append(w.whole, err)
	default:
		w.emit(err)
	}
}

// emitWhole passes on the warnings about whole inputs.
func (w *warnings) emitWhole() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, err := range w.whole {
		w.emit(err)
	}
	w.whole = nil
}

func (w *warnings) damaged() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hadDamage
}

// readAhead drops what readers find behind the end of the part.
func (w *warnings) readAhead() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ahead = true
}

func (w *warnings) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
}
