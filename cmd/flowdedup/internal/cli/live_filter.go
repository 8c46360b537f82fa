package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	xbpf "golang.org/x/net/bpf"

	"github.com/flowdedup/flowdedup/capture/bpf"
	"github.com/flowdedup/flowdedup/capture/ring"
)

// program returns what --filter or --bpf-file asks the kernel to run, nil for all
// packets.
func (f *liveFlags) program(ctx context.Context) ([]xbpf.RawInstruction, error) {
	wanted := &f.filter.wanted
	if wanted.All() {
		return nil, nil
	}
	snap := f.conf.SnapLen
	if snap == 0 {
		snap = ring.MaxSnapLen
	}
	var program []xbpf.RawInstruction
	for i, name := range f.conf.Interfaces {
		link, err := ring.LinkTypeOf(name)
		if err != nil {
			return nil, err
		}
		one, err := wanted.For(ctx, link, snap, name)
		switch {
		case errors.Is(err, bpf.ErrExpression):
			return nil, &usageError{fmt.Errorf("--filter: %w", err)}
		case err != nil:
			return nil, fmt.Errorf("--filter: %s: %w", name, err)
		case i > 0 && !slices.Equal(one, program):
			return nil, &usageError{fmt.Errorf("--filter is another program for %s than for %s, whose links differ: capture from each on its own",
				name, f.conf.Interfaces[0])}
		}
		program = one
	}
	return program, nil
}
