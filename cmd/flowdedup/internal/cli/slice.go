// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture/strip"
)

// SliceWords are values to complete.
var SliceWords = []string{"l4", "l4+64", "96"}

// registerSlice adds the flag of how much of packets is written.
func (f *keepFlags) registerSlice(fs *pflag.FlagSet) {
	fs.Var(NewParsed(&f.slice, "", "bytes", strip.ParseSlice), "slice", "cut what is written: 96 bytes of a frame, or l4+64 behind the innermost TCP or UDP header")
	GroupKeep.Add(fs, "slice")
}

// checkSlice rejects what does not fit --slice.
func (f *keepFlags) checkSlice(fs *pflag.FlagSet, output string) error {
	given := func(flag string) bool { at := fs.Lookup(flag); return at != nil && at.Value.String() != "" }
	switch {
	case given("forward"):
		return errors.New("--slice cuts what is written, and an interface takes whole packets: it takes no --forward")
	case output == "" && !given("duplicates"):
		return errors.New("--slice cuts what is written: name a file with -w")
	case f.mark:
		return f.checkMark(fs, output)
	}
	return nil
}
