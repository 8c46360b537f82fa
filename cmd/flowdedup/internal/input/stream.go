package input

import (
	"context"
	"sync"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pipeline"
)

// Stream is the one stream that all inputs make together.
type Stream struct {
	src      capture.Source
	packets  *pipeline.Pipeline
	failed   []error
	warnings *warnings
	filter   *filter
	progress func(done, total int64, packets uint64)
	read     uint64 // packets
	filtered uint64 // those of them that were not wanted
}

func newStream(src capture.Source, filter *filter) *Stream {
	return &Stream{src: src, packets: pipeline.New(src), warnings: &warnings{}, filter: filter}
}

// Each is pipeline.Pipeline.Each for the packets that are wanted. An expression that
// cannot be compiled, or has no meaning for the first packet, gives an ErrFilter.
func (s *Stream) Each(ctx context.Context, workers int, task func() pipeline.Task) error {
	return s.packets.Run(ctx, workers, func() pipeline.Task {
		return &filteredTask{Task: task(), ctx: ctx, stream: s}
	})
}

// filteredTask is the work on the packets of a batch that are wanted.
type filteredTask struct {
	pipeline.Task
	ctx    context.Context
	stream *Stream
	result filterResult
}

// Admit chooses the filters of a batch.
func (t *filteredTask) Admit(b *capture.Batch) { t.result = t.stream.filter.admit(b) }

// Prepare takes the packets out of a batch that are not wanted.
func (t *filteredTask) Prepare(b *capture.Batch) {
	t.stream.filter.keep(t.ctx, b, &t.result)
	if t.result.err == nil {
		t.Task.Prepare(b)
	}
}

// Apply looks at what came of filtering, and counts.
func (t *filteredTask) Apply(b *capture.Batch) error {
	s := t.stream
	if err := s.filter.check(&t.result, s.read); err != nil {
		return err
	}
	if err := t.Task.Apply(b); err != nil {
		return err
	}
	s.count(len(b.Frames), t.result.filtered)
	return nil
}

// count enters the packets of a batch, and tells of progress.
func (s *Stream) count(kept, filtered int) {
	s.read += uint64(kept + filtered)
	s.filtered += uint64(filtered)
	if s.progress != nil {
		done, total := s.src.Offset()
		s.progress(done, total, s.read)
	}
}

// Failed returns why inputs could not be opened, one error each.
func (s *Stream) Failed() []error { return s.failed }

// Inputs returns the names of the inputs that were opened.
func (s *Stream) Inputs() []string { return s.src.Inputs() }

// Filtered returns how many packets were left out since they were not wanted. It is
// known when Each has returned.
func (s *Stream) Filtered() uint64 { return s.filtered }

// Size returns how many bytes of capture there are, 0 if unknown.
func (s *Stream) Size() int64 { return s.src.Size() }

// Close closes the inputs. It does not wait for a read that blocks on a silent pipe,
// as one may that goes on after Each.
func (s *Stream) Close() error {
	s.warnings.end()
	return s.packets.Close()
}

// Damaged reports whether the inputs were damaged, where err is what ended the
// stream.
func (s *Stream) Damaged(err error) bool { return s.warnings.damaged() || capture.IsDamage(err) }

// warnings passes on warnings of damage that did not end an input, and
// remembers that there were any. The reading goroutine may be in the middle of
// a read when the stream is closed; nothing is told from then on.
type warnings struct {
	mu        sync.Mutex
	emit      func(error)
	hadDamage bool
	ended     bool
}

func (w *warnings) warn(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	w.hadDamage = true
	w.emit(err)
}

// note tells of what is no damage.
func (w *warnings) note(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended {
		w.emit(err)
	}
}

func (w *warnings) damaged() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hadDamage
}

func (w *warnings) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
}
