package dedup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
)

// Run de-duplicates the inputs. The summary is valid whatever the error is; its
// Method is empty if the run ended before inputs and outputs were open.
//
// The error is the context's when that was done: what was read until then is
// processed and written. Inputs that are damaged or cannot be opened give an
// error that holds a *capture.InputError for each, again with everything else
// written; where not one packet could be read nothing is written, nor where the filter
// is none.
func Run(ctx context.Context, cfg Config) (Summary, error) {
	begin := time.Now()
	in, err := input.Open(ctx, cfg.Inputs, cfg.Input)
	if err != nil {
		return newBooks().close(time.Since(begin)), err
	}
	defer in.Close()
	r, err := newRunner(&cfg, in)
	if err != nil {
		return newBooks().close(time.Since(begin)), err
	}
	defer r.judging.Close()
	if err := r.prepare(ctx); err != nil {
		return newBooks().close(time.Since(begin)), errors.Join(err, r.sinks.abort())
	}

	err = in.Each(ctx, cfg.Workers, func() input.Task {
		return &task{run: r, packets: r.judging.NewPackets()}
	})
	err = r.end(err, r.judging.books.tally.count+in.Filtered())
	s := r.judging.Summary(time.Since(begin))
	s.SkippedBlocks = r.sinks.skipped()
	s.Files = r.sinks.files()
	s.Filtered = in.Filtered()
	s.Damaged = in.Damaged(err)
	return s, errors.Join(append(in.Failed(), err)...)
}

// muchMemory is from where on it takes seconds to have it, and packets touch most of it soon.
const muchMemory = 4 << 30

// prepare takes the memory of a large filter, which a run that touches it a page at a time
// would wait for without a word, and a signal with it.
func (r *runner) prepare(ctx context.Context) error {
	cfg := r.judging.cfg
	if cfg.Memory < muchMemory {
		return nil
	}
	if cfg.Input.Warn != nil {
		cfg.Input.Warn(fmt.Errorf("taking %s of memory first, which may take a while", humanize.IBytes(uint64(cfg.Memory))))
	}
	return r.judging.Populate(ctx)
}

// end commits the outputs, or takes them back where err or an error of their
// own leaves nothing worth keeping of the packets read.
func (r *runner) end(err error, read uint64) error {
	useless := input.IsDamage(err) || errors.Is(err, input.ErrFilter)
	if errors.Is(err, ErrOutput) || useless && read == 0 {
		return errors.Join(err, r.sinks.abort())
	}
	return errors.Join(err, r.sinks.commit())
}

// runner is what the batches of a run have in common.
type runner struct {
	judging *Judging
	sinks   *sinks
}

func newRunner(cfg *Config, in *input.Stream) (*runner, error) {
	judging, err := NewJudging(cfg, in.Size())
	if err != nil {
		return nil, err
	}
	sinks, err := openSinks(cfg, len(in.Inputs()))
	if err != nil {
		return nil, errors.Join(err, judging.Close())
	}
	return &runner{judging: judging, sinks: sinks}, nil
}

// ErrOutput is what failures of an output wrap. They end a run, and nothing is
// left under the names of outputs that are files, except of one that was
// complete and in its place before the other failed, and of complete files of
// those that rotate.
var ErrOutput = errors.New("output failed")

// outputError is a failure of an output: its text is that of the cause alone,
// which names the file.
type outputError struct{ err error }

func (e *outputError) Error() string   { return e.err.Error() }
func (e *outputError) Unwrap() []error { return []error{ErrOutput, e.err} }
