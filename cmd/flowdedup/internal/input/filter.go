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

// filter leaves out the packets that are not wanted. It serves any number of goroutines.
type filter struct {
	wanted bpf.Filter
	warn   func(error)

	mu          sync.Mutex
	byLink      map[capture.LinkType]*linkFilter
	byInterface []*linkFilter
}

// linkFilter is the filter for one link type.
type linkFilter struct {
	link    capture.LinkType
	machine *bpf.Machine
	refused error // why nothing matches; then there is no machine
	warned  bool
}

// sorted is what came of the packets of a batch.
type sorted struct {
	filtered int           // how many were left out
	first    error         // why the first packet's link type is refused, if it is
	refused  []*linkFilter // those of packets that could not match
	err      error         // why nothing could be done
}

func newFilter(wanted bpf.Filter, warn func(error)) *filter {
	return &filter{wanted: wanted, warn: warn, byLink: map[capture.LinkType]*linkFilter{}}
}

// keep takes the packets out of a batch that do not match.
func (f *filter) keep(ctx context.Context, b *capture.Batch) (s sorted) {
	if f.wanted.All() {
		return s
	}
	filters, err := f.compiled(ctx, b.Interfaces)
	if err != nil {
		s.err = err
		return s
	}
	kept, block := b.Frames[:0], 0
	for i := range b.Frames {
		block = moveBlocks(b.Blocks, block, i, len(kept))
		frame := &b.Frames[i]
		switch l := filters[frame.Interface]; {
		case l.machine == nil:
			s.refuse(l, i)
		case l.machine.Run(b.Data(i), frame.WireLen) != 0:
			kept = append(kept, *frame)
		}
	}
	moveBlocks(b.Blocks, block, len(b.Frames), len(kept))
	s.filtered = len(b.Frames) - len(kept)
	b.Frames = kept
	return s
}

// refuse notes that packet number i of a batch has a link type that is refused.
func (s *sorted) refuse(l *linkFilter, i int) {
	if i == 0 {
		s.first = l.refused
	}
	if !slices.Contains(s.refused, l) {
		s.refused = append(s.refused, l)
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

// compiled returns the filter of each interface. The error is that of a compiler that
// cannot be run.
func (f *filter) compiled(ctx context.Context, interfaces []capture.Interface) ([]*linkFilter, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.byInterface) < len(interfaces) {
		l, err := f.forLink(ctx, interfaces[len(f.byInterface)].LinkType)
		if errors.Is(err, bpf.ErrNoCompiler) {
			err = fmt.Errorf("%w (--bpf-file)", err)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFilter, err)
		}
		f.byInterface = append(f.byInterface, l)
	}
	return f.byInterface, nil
}

// forLink returns the filter of a link type.
func (f *filter) forLink(ctx context.Context, link capture.LinkType) (*linkFilter, error) {
	if l := f.byLink[link]; l != nil {
		return l, nil
	}
	l := &linkFilter{link: link}
	program, err := f.wanted.For(ctx, link, snapLen, "")
	if errors.Is(err, bpf.ErrExpression) {
		l.refused = fmt.Errorf("%w: %w", ErrFilter, err)
	} else if err == nil {
		l.machine, err = bpf.NewMachine(program)
	}
	if err != nil && l.refused == nil {
		return nil, err
	}
	f.byLink[link] = l
	return l, nil
}

// judge looks at what came of a batch behind so many packets. An expression that has no
// meaning for the first packet of all is an error; later ones of such a link type give
// cause for a warning. Batches are looked at in the order of the stream.
func (f *filter) judge(s *sorted, packets uint64) error {
	switch {
	case s.err != nil:
		return s.err
	case packets == 0 && s.first != nil:
		return s.first
	}
	for _, l := range s.refused {
		if !l.warned {
			l.warned = true
			f.warn(fmt.Errorf("no packet of link type %v matches: %w", l.link, l.refused))
		}
	}
	return nil
}
