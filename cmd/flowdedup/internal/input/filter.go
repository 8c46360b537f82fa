package input

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/bpf"
)

// snapLen is what programs return for a match. Only zero or not zero matters.
const snapLen = 262144

// ErrFilter is wrapped by errors of an expression and of compiling it.
var ErrFilter = errors.New("--filter")

// maxLinkTypes is how many link types a filter is compiled for. Each costs a process and
// milliseconds, and only a hostile file has more of them.
const maxLinkTypes = 64

// filter removes unwanted packets. It is safe for concurrent use, except that admit and
// check take one batch after another.
type filter struct {
	wanted bpf.Filter
	warn   func(error)

	byLink      map[capture.LinkType]*linkFilter
	byInterface []*linkFilter // nil before the first packet of an interface
	over        *linkFilter   // serves all link types beyond maxLinkTypes
}

// linkFilter is the filter for one link type.
type linkFilter struct {
	link    capture.LinkType
	over    bool // it serves all link types beyond maxLinkTypes
	compile sync.Once
	machine *bpf.Machine
	refused error // why nothing matches; then there is no machine
	err     error // why nothing could be compiled
	warned  bool
}

// filterResult is the result of filtering a batch.
type filterResult struct {
	filters  []*linkFilter // by interface, for all interfaces of the batch
	filtered int           // packets removed
	first    error         // why the first packet's link type is refused, if it is
	refused  []*linkFilter // the filters of packets that could not match
	err      error         // why the batch could not be filtered
}

func newFilter(wanted bpf.Filter, warn func(error)) *filter {
	return &filter{
		wanted: wanted, warn: warn, byLink: map[capture.LinkType]*linkFilter{},
		over: &linkFilter{over: true, refused: fmt.Errorf("%w: only the first %d link types are filtered", ErrFilter, maxLinkTypes)},
	}
}

// admit chooses the filters of a batch. The first maxLinkTypes link types of the stream
// get one each. Batches must come in order.
func (f *filter) admit(b *capture.Batch) (r filterResult) {
	if f.wanted.All() {
		return r
	}
	for len(f.byInterface) < len(b.Interfaces) {
		f.byInterface = append(f.byInterface, nil)
	}
	for i := range b.Frames {
		if at := b.Frames[i].Interface; f.byInterface[at] == nil {
			f.byInterface[at] = f.ofLink(b.Interfaces[at].LinkType)
		}
	}
	r.filters = f.byInterface
	return r
}

// ofLink returns the filter of a link type, compiled or not. One program serves all link
// types.
func (f *filter) ofLink(link capture.LinkType) *linkFilter {
	if len(f.wanted.Program) > 0 {
		link = 0
	}
	l := f.byLink[link]
	switch {
	case l != nil:
		return l
	case len(f.byLink) == maxLinkTypes:
		return f.over
	}
	l = &linkFilter{link: link}
	f.byLink[link] = l
	return l
}

// keep removes the packets that do not match from a batch, by the filters that admit has
// chosen. The first packet of a filter compiles it.
func (f *filter) keep(ctx context.Context, b *capture.Batch, r *filterResult) {
	if f.wanted.All() {
		return
	}
	kept, block := b.Frames[:0], 0
	var l *linkFilter
	for i := range b.Frames {
		block = moveBlocks(b.Blocks, block, i, len(kept))
		frame := &b.Frames[i]
		if next := r.filters[frame.Interface]; next != l {
			if l = next; l.prepare(ctx, &f.wanted) != nil {
				r.err = l.err
				return
			}
		}
		switch {
		case l.machine == nil:
			r.noteRefused(l, i)
		case l.machine.Run(b.Data(i), frame.WireLen) != 0:
			kept = append(kept, *frame)
		}
	}
	moveBlocks(b.Blocks, block, len(b.Frames), len(kept))
	r.filtered = len(b.Frames) - len(kept)
	b.Frames = kept
}

// noteRefused records that packet i of a batch has a refused link type.
func (r *filterResult) noteRefused(l *linkFilter, i int) {
	if i == 0 {
		r.first = l.refused
	}
	if !slices.Contains(r.refused, l) {
		r.refused = append(r.refused, l)
	}
}

// moveBlocks sets Before to kept in the blocks, from number block on, that at most frames
// packets precede. It returns the number of the next block.
func moveBlocks(blocks []capture.Block, block, frames, kept int) int {
	for block < len(blocks) && int(blocks[block].Before) <= frames {
		blocks[block].Before = uint32(kept)
		block++
	}
	return block
}

// prepare compiles the filter once, and returns the same result afterwards. The error is
// that of a compiler that cannot be run.
func (l *linkFilter) prepare(ctx context.Context, wanted *bpf.Filter) error {
	l.compile.Do(func() {
		if l.refused != nil {
			return
		}
		program, err := wanted.For(ctx, l.link, snapLen, "")
		if errors.Is(err, bpf.ErrExpression) {
			l.refused = fmt.Errorf("%w: %w", ErrFilter, err)
			return
		}
		if err == nil {
			l.machine, err = bpf.NewMachine(program)
		}
		if errors.Is(err, bpf.ErrNoCompiler) {
			err = fmt.Errorf("%w (--bpf-file)", err)
		}
		if err != nil {
			l.err = fmt.Errorf("%w: %w", ErrFilter, err)
		}
	})
	return l.err
}

// check evaluates the result of a batch that follows so many packets. If the expression
// has no meaning for the link type of the very first packet, that is an error; for later
// packets it is a warning. Batches must come in order.
func (f *filter) check(r *filterResult, packets uint64) error {
	switch {
	case r.err != nil:
		return r.err
	case packets == 0 && r.first != nil:
		return r.first
	}
	for _, l := range r.refused {
		if !l.warned {
			l.warned = true
			f.warn(l.warning())
		}
	}
	return nil
}

// warning says which packets cannot match.
func (l *linkFilter) warning() error {
	if l.over {
		return fmt.Errorf("no packet of further link types matches: %w", l.refused)
	}
	return fmt.Errorf("no packet of link type %v matches: %w", l.link, l.refused)
}
