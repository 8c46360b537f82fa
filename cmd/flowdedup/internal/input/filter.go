package input

import (
	"context"
	"errors"
	"fmt"
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

	mu       sync.Mutex
	machines []*bpf.Machine // by interface; nil where nothing matches
	byLink   map[capture.LinkType]*bpf.Machine
	err      error // why there is none for the interface behind
}

func newFilter(wanted bpf.Filter, warn func(error)) *filter {
	return &filter{wanted: wanted, warn: warn, byLink: map[capture.LinkType]*bpf.Machine{}}
}

// keep takes the packets out of a batch that do not match, and returns how many. The
// error is that of the first interface, on which the expression has no meaning, or of a
// compiler that cannot be run.
func (f *filter) keep(ctx context.Context, b *capture.Batch) (filtered int, err error) {
	if f.wanted.All() {
		return 0, nil
	}
	machines, err := f.compiled(ctx, b.Interfaces)
	if err != nil {
		return 0, err
	}
	kept, block := b.Frames[:0], 0
	for i := range b.Frames {
		block = moveBlocks(b.Blocks, block, i, len(kept))
		frame := &b.Frames[i]
		if m := machines[frame.Interface]; m != nil && m.Run(b.Data(i), frame.WireLen) != 0 {
			kept = append(kept, *frame)
		}
	}
	moveBlocks(b.Blocks, block, len(b.Frames), len(kept))
	filtered = len(b.Frames) - len(kept)
	b.Frames = kept
	return filtered, nil
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

// compiled returns a machine for each interface, in whose order they are made: whatever
// batch comes first, the same ones fail.
func (f *filter) compiled(ctx context.Context, interfaces []capture.Interface) ([]*bpf.Machine, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.machines) < len(interfaces) && f.err == nil {
		var m *bpf.Machine
		if m, f.err = f.machine(ctx, interfaces[len(f.machines)].LinkType); f.err == nil {
			f.machines = append(f.machines, m)
		}
	}
	if len(f.machines) < len(interfaces) {
		return nil, f.err
	}
	return f.machines, nil
}

// machine returns the one for a link type. Where the expression has no meaning on it,
// that is an error for the first, and a warning for others.
func (f *filter) machine(ctx context.Context, link capture.LinkType) (*bpf.Machine, error) {
	if m, known := f.byLink[link]; known {
		return m, nil
	}
	m, err := f.compile(ctx, link)
	if err != nil && (len(f.byLink) == 0 || !errors.Is(err, bpf.ErrExpression)) {
		return nil, err
	}
	if err != nil {
		f.warn(fmt.Errorf("no packet of link type %v matches: %w", link, err))
	}
	f.byLink[link] = m
	return m, nil
}

func (f *filter) compile(ctx context.Context, link capture.LinkType) (*bpf.Machine, error) {
	program, err := f.wanted.For(ctx, link, snapLen, "")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFilter, err)
	}
	return bpf.NewMachine(program)
}
