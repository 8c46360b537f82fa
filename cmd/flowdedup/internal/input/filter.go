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

// snapLen is what programs accept of a frame that matches; only whether they accept
// anything matters.
const snapLen = 262144

// ErrFilter is wrapped by errors of an expression and of compiling it.
var ErrFilter = errors.New("--filter")

// maxLinkTypes is how many link types a filter is compiled for. Compiling takes a process
// and milliseconds for each, and only a file that is made to cost time has more of them.
const maxLinkTypes = 64

// filter leaves out the packets that are not wanted. It serves any number of goroutines,
// but for admit and judge, which see one batch after another.
type filter struct {
	wanted bpf.Filter
	warn   func(error)

	byLink      map[capture.LinkType]*linkFilter
	byInterface []*linkFilter // nil for those that no packet has come from
	over        *linkFilter   // of all link types beyond maxLinkTypes
}

// linkFilter is the filter for one link type.
type linkFilter struct {
	link    capture.LinkType
	over    bool // it stands for all link types beyond maxLinkTypes
	compile sync.Once
	machine *bpf.Machine
	refused error // why nothing matches; then there is no machine
	err     error // why it cannot be told what matches
	warned  bool
}

// filterResult is what came of the packets of a batch.
type filterResult struct {
	filters  []*linkFilter // by interface, for all that packets of the batch came from
	filtered int           // how many were left out
	first    error         // why the first packet's link type is refused, if it is
	refused  []*linkFilter // those of packets that could not match
	err      error         // why nothing could be done
}

func newFilter(wanted bpf.Filter, warn func(error)) *filter {
	return &filter{
		wanted: wanted, warn: warn, byLink: map[capture.LinkType]*linkFilter{},
		over: &linkFilter{over: true, refused: fmt.Errorf("%w: only the first %d link types are looked at", ErrFilter, maxLinkTypes)},
	}
}

// admit chooses the filters of a batch: the first link types that packets have, in the
// order of the stream, get one each. It is called for one batch after another.
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

// ofLink returns the filter of a link type, which need not be compiled yet. A program is
// the same for all of them.
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

// keep takes the packets out of a batch that do not match, by the filters that admit has
// chosen, each of which is compiled for the first packet that comes to it.
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

// noteRefused notes that packet number i of a batch has a link type that is refused.
func (r *filterResult) noteRefused(l *linkFilter, i int) {
	if i == 0 {
		r.first = l.refused
	}
	if !slices.Contains(r.refused, l) {
		r.refused = append(r.refused, l)
	}
}

// moveBlocks has the blocks that at most so many frames precede, from one on, know how
// many of those were kept, and returns the number of the block behind them.
func moveBlocks(blocks []capture.Block, block, frames, kept int) int {
	for block < len(blocks) && int(blocks[block].Before) <= frames {
		blocks[block].Before = uint32(kept)
		block++
	}
	return block
}

// prepare compiles the filter unless that was done, or fails as that did. The error is
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

// check looks at what came of a batch behind so many packets. An expression that has no
// meaning for the first packet of all is an error; later ones of such a link type give
// cause for a warning. Batches are looked at in the order of the stream.
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

// warning tells that packets could not match.
func (l *linkFilter) warning() error {
	if l.over {
		return fmt.Errorf("no packet of further link types matches: %w", l.refused)
	}
	return fmt.Errorf("no packet of link type %v matches: %w", l.link, l.refused)
}
