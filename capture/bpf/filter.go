package bpf

import (
	"context"

	"golang.org/x/net/bpf"

	"github.com/flowdedup/flowdedup/capture"
)

// Filter says which frames are wanted: an expression, or a program that takes its
// place. The zero value wants all.
type Filter struct {
	Expr    string
	Program []bpf.RawInstruction // for frames of every link type
}

// All reports whether all frames are wanted.
func (f *Filter) All() bool { return f.Expr == "" && len(f.Program) == 0 }

// For returns the program for frames of a link type. Parameters and errors are those of
// [Compile].
func (f *Filter) For(ctx context.Context, link capture.LinkType, snaplen int, iface string) ([]bpf.RawInstruction, error) {
	switch {
	case len(f.Program) == 0:
		return Compile(ctx, f.Expr, link, snaplen, iface)
	case iface != "":
		return f.Program, Check(f.Program)
	}
	return f.Program, nil
}
