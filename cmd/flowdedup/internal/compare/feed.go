// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"context"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/compare"
	"github.com/flowdedup/flowdedup/capture/pipeline"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
)

// ahead is how many batches of a side are read before they are needed. More of them would
// leave the caches before they are.
const ahead = 1

// feed reads the packets of a side. It is a compare.Source.
type feed struct {
	ready    chan *compare.Batch
	free     chan *compare.Batch
	finished error // of the stream, once ready is closed
}

// newFeed starts to read a stream, until it ends or ctx is done.
func newFeed(ctx context.Context, c *compare.Comparer, side int, in *input.Stream, workers int) *feed {
	f := &feed{ready: make(chan *compare.Batch, ahead), free: make(chan *compare.Batch, 4*ahead)}
	go func() {
		defer close(f.ready)
		f.finished = in.Each(ctx, workers, func() pipeline.Task {
			return &task{prepare: c.NewPreparer(side), take: f.batch, give: func(b *compare.Batch) error {
				select {
				case f.ready <- b:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}}
		})
	}()
	return f
}

// Next returns the next batch, nil at the end.
func (f *feed) Next() *compare.Batch { return <-f.ready }

// Release takes back a batch.
func (f *feed) Release(b *compare.Batch) {
	select {
	case f.free <- b:
	default:
	}
}

// batch returns an empty batch.
func (f *feed) batch() *compare.Batch {
	select {
	case b := <-f.free:
		return b
	default:
		return new(compare.Batch)
	}
}

// end waits until the stream is over, and returns its error.
func (f *feed) end() error {
	for b := f.Next(); b != nil; b = f.Next() {
		continue
	}
	return f.finished
}

// task prepares batches, and gives them away in order.
type task struct {
	prepare *compare.Preparer
	take    func() *compare.Batch
	give    func(*compare.Batch) error
}

// Prepare decodes and digests the packets.
func (t *task) Prepare(b *capture.Batch) { t.prepare.Prepare(b) }

// Judge has nothing to do.
func (t *task) Judge(*capture.Batch) error { return nil }

// Write gives the packets away.
func (t *task) Write(b *capture.Batch) error {
	to := t.take()
	t.prepare.Take(to, b)
	return t.give(to)
}

// survey samples all packets of an input.
func survey(ctx context.Context, c *compare.Comparer, side int, cfg *config) (*compare.Survey, error) {
	opt := cfg.options(side)
	opt.Warn = func(error) {} // damage is reported when the packets are compared
	opt.Progress = nil
	in, err := input.Open(ctx, cfg.Inputs[side:side+1], opt)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	s := compare.NewSurvey(side)
	one := new(compare.Batch)
	err = in.Each(ctx, workersOf(cfg), func() pipeline.Task {
		return &task{prepare: c.NewPreparer(side), take: func() *compare.Batch { return one }, give: func(b *compare.Batch) error {
			s.Add(b)
			return nil
		}}
	})
	if capture.IsUnread(err) {
		err = nil // reported later, too
	}
	return s, err
}
