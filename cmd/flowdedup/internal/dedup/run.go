package dedup

import (
	"context"
	"errors"
	"math/bits"
	"time"

	"github.com/flowdedup/flowdedup/asm"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/stamp"
	"github.com/flowdedup/flowdedup/engine"
)

// step is how many packets go through decoding, digests and the filter at a
// time: the arrays in between stay in the first-level cache. It is a multiple
// of 64, so that each step owns whole words of the verdict bitmap.
const step = 512

// Run de-duplicates the inputs. The summary is valid whatever the error is; its
// Method is empty if the run ended before inputs and outputs were open.
//
// The error is the context's when that was done: what was read until then is
// processed and written. Inputs that are damaged or cannot be opened give an
// error that holds a *capture.InputError for each, again with everything else
// written; where not one packet could be read nothing is written.
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
	defer r.filter.Close()

	err = r.end(in.Each(ctx, r.batch))
	s := r.finish(begin)
	s.Damaged = in.Damaged(err)
	return s, errors.Join(append(in.Failed(), err)...)
}

// end commits the outputs, or takes them back where err or an error of their
// own leaves nothing worth keeping.
func (r *runner) end(err error) error {
	if errors.Is(err, ErrOutput) || input.IsDamage(err) && r.books.PacketsIn == 0 {
		return errors.Join(err, r.sinks.abort())
	}
	return errors.Join(err, r.sinks.commit())
}

// runner is the state of one run between batches.
type runner struct {
	cfg      *Config
	decoder  *flow.Decoder
	identity *flow.Identity
	digester asm.MessageDigester
	where    *flow.Points
	filter   engine.PacketFilter
	sinks    *sinks
	books    *books

	headers [step]flow.Header
	digests [step]asm.Digest
	times   [step]int64
	points  [step]uint32
	drop    []uint64
}

func newRunner(cfg *Config, in *input.Stream) (*runner, error) {
	filter, err := cfg.filter(in.Size())
	if err != nil {
		return nil, err
	}
	sinks, err := openSinks(cfg, len(in.Inputs()))
	if err != nil {
		return nil, errors.Join(err, filter.Close())
	}
	return &runner{
		cfg:      cfg,
		decoder:  flow.NewDecoder(flow.Config{Inner: cfg.Identity.Kind == flow.Inner}),
		identity: flow.NewIdentity(cfg.Identity),
		digester: cfg.digester(),
		where:    flow.NewPoints(),
		filter:   filter,
		sinks:    sinks,
		books:    newBooks(),
	}, nil
}

// batch judges the packets of a batch and writes it.
func (r *runner) batch(b *capture.Batch) error {
	r.verdicts(b)
	return r.sinks.write(b, r.drop)
}

// verdicts sets a bit in drop for each frame of b that is a copy.
func (r *runner) verdicts(b *capture.Batch) {
	words := (len(b.Frames) + 63) / 64
	if cap(r.drop) < words {
		r.drop = make([]uint64, words)
	}
	r.drop = r.drop[:words]
	for from := 0; from < len(b.Frames); from += step {
		n := min(step, len(b.Frames)-from)
		r.step(b, from, n)
	}
}

func (r *runner) step(b *capture.Batch, from, n int) {
	frames := b.Frames[from : from+n]
	headers := r.headers[:n]
	r.decoder.Decode(headers, b, from)
	buf, msgs := r.identity.Gather(b, from, headers)
	r.digester.SumMessages(r.digests[:n], buf, msgs)
	for i := range frames {
		r.times[i] = stamp.Usable(frames[i].Time)
	}
	r.where.Gather(r.points[:n], b, from)
	seen := r.drop[from/64:][:(n+63)/64]
	r.filter.TestAndSet(seen, r.digests[:n], r.times[:n], r.points[:n])
	r.books.packets(frames, headers)
	for w, word := range seen {
		for ; word != 0; word &= word - 1 {
			i := w*64 + bits.TrailingZeros64(word)
			r.books.duplicate(&frames[i], &headers[i])
		}
	}
}

func (r *runner) finish(begin time.Time) Summary {
	stats := r.filter.Stats()
	s := r.books.close(time.Since(begin))
	s.Window = r.cfg.Window.String()
	s.Identity = r.cfg.Identity.Kind.String()
	s.Digest = r.cfg.Digest
	s.Method = stats.Method
	s.MemoryBytes = stats.MemoryBytes
	s.PredictedFPR = stats.PredictedFPR
	s.EvictedLive = stats.EvictedLive
	s.SuggestedMemory = stats.SuggestedMemory
	s.SkippedBlocks = r.sinks.skipped()
	return s
}

// ErrOutput is what failures of an output wrap. They end a run, and nothing is
// left under the names of outputs that are files, except of one that was
// complete and in its place before the other failed.
var ErrOutput = errors.New("output failed")

// outputError is a failure of an output: its text is that of the cause alone,
// which names the file.
type outputError struct{ err error }

func (e *outputError) Error() string   { return e.err.Error() }
func (e *outputError) Unwrap() []error { return []error{ErrOutput, e.err} }
