// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/engine/window"
)

// CopyFlags say what a copy is.
type CopyFlags struct {
	Window          window.Window
	Identity        identity.Kind
	IdentityBytes   int
	Ignore          identity.Ignore
	Across, Refresh bool
}

// Register adds the flags that say what a copy is.
func (f *CopyFlags) Register(fs *pflag.FlagSet) {
	if f.Window == (window.Window{}) {
		f.Window.Duration = window.Default
	}
	fs.Var(NewParsed(&f.Window, f.Window.String(), "window", ParseWindow), "window", "window of copies: 1ms, n:1000 packets, none")
	f.Identity = identity.L3
	fs.Var(NewParsed(&f.Identity, "l3", "kind", identity.ParseKind), "identity", "what makes packets equal: frame, l3, inner")
	fs.IntVar(&f.IdentityBytes, "identity-bytes", 0, "compare only the first `N` bytes of the identity (0: all)")
	fs.Var(NewList(&f.Ignore, "", "fields", identity.ParseIgnore), "ignore", "additional fields to ignore: "+identity.FieldNames()+"; none: compare all")
	fs.BoolVar(&f.Across, "across", false, "copies come from another interface, input or LAN only")
	fs.BoolVar(&f.Refresh, "refresh", false, "a removed packet restarts the window")
	GroupCompare.Add(fs, "window", "identity", "ignore", "across")
	GroupAdvanced.Add(fs, "identity-bytes", "refresh")
}

// IdentityConfig returns what is compared.
func (f *CopyFlags) IdentityConfig() identity.Config {
	return identity.Config{Kind: f.Identity, Ignore: f.Ignore, Bytes: f.IdentityBytes}
}

// WithinFlag names what copies have in common.
type WithinFlag struct{ Within []string }

// WithinWords are the words that it takes.
var WithinWords = []string{"vlan", "vni", "interface", "input", "lan"}

// Register adds the flag.
func (f *WithinFlag) Register(fs *pflag.FlagSet) {
	fs.Var(NewList(&f.Within, "", "points", ParseWords(WithinWords)), "within", "copies come from the same only: "+strings.Join(WithinWords, ", "))
	GroupCompare.Add(fs, "within")
}

// Check rejects words that other flags contradict.
func (f *WithinFlag) Check(copies *CopyFlags) error {
	if err := f.Contradicts(copies); err != nil {
		return &usageError{err}
	}
	return nil
}

// Contradicts returns an error for words that other flags contradict.
func (f *WithinFlag) Contradicts(copies *CopyFlags) error {
	switch {
	case slices.Contains(f.Within, "interface") && copies.Across:
		return errors.New("--within interface finds copies on one interface only, --across on another only: leave one of them out")
	case slices.Contains(f.Within, "vni") && copies.Identity != identity.Inner:
		return errors.New("--within vni needs --identity inner: without it the VNI is part of what is compared")
	}
	return nil
}

// CheckInputs rejects words that have no meaning for these captures.
func (f *WithinFlag) CheckInputs(inputs []string) error {
	if slices.Contains(f.Within, "input") && len(inputs) < 2 {
		return &usageError{errors.New("--within input needs several captures: name more, or leave it out")}
	}
	return nil
}

// SliceWords are values to complete.
var SliceWords = []string{"l4", "l4+64", "96"}
