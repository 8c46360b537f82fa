package cli

import (
	"context"
	"errors"
	"fmt"

	xbpf "golang.org/x/net/bpf"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/bpf"
	"github.com/flowdedup/flowdedup/capture/ring"
)

// programs returns what --filter or --bpf-file asks the kernel to run for each link type,
// nil for all packets.
func (f *liveFlags) programs(ctx context.Context) (map[capture.LinkType][]xbpf.RawInstruction, error) {
	if f.filter.wanted.All() {
		return nil, nil
	}
	all := map[capture.LinkType][]xbpf.RawInstruction{}
	for _, name := range f.conf.Interfaces {
		link, err := ring.LinkTypeOf(name)
		if err != nil {
			return nil, err
		}
		if _, known := all[link]; known {
			continue
		}
		if len(all) > 0 && f.filter.file != "" {
			return nil, &usageError{fmt.Errorf("--bpf-file is a program for one link type, and that of %s (%v) is another than that of %s: use --filter",
				name, link, f.conf.Interfaces[0])}
		}
		if all[link], err = f.program(ctx, link, name); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// program returns that of a link type, which an interface has.
func (f *liveFlags) program(ctx context.Context, link capture.LinkType, name string) ([]xbpf.RawInstruction, error) {
	snap := f.conf.SnapLen
	if snap == 0 {
		snap = ring.MaxSnapLen
	}
	p, err := f.filter.wanted.For(ctx, link, snap, name)
	switch {
	case err == nil:
		return p, nil
	case f.filter.file != "":
		return nil, fmt.Errorf("--bpf-file %s: %w", f.filter.file, err)
	}
	err = fmt.Errorf("--filter for %s (%v): %w", name, link, err)
	if errors.Is(err, bpf.ErrExpression) {
		return nil, &usageError{err}
	}
	return nil, err
}
