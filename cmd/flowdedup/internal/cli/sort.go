// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/pcapoverip"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// SortFlags say how far packets are sorted by time before anything else is done with them.
type SortFlags struct {
	Span   time.Duration
	Memory int
}

// SortWords are values to complete.
var SortWords = []string{"100ms", "1s"}

func (f *SortFlags) Register(fs *pflag.FlagSet) {
	fs.Var(NewParsed(&f.Span, "", "duration", ParseLength), "sort", "sort packets by time, if they are late by at most this: 1s")
	f.Memory = pcapfile.DefaultSortMemory
	fs.Var(NewParsed(&f.Memory, show.Bytes(pcapfile.DefaultSortMemory), "size", ParseMemory), "sort-memory", "memory for packets that --sort holds back")
	GroupInput.Add(fs, "sort")
	GroupAdvanced.Add(fs, "sort-memory")
}

// Check rejects inputs that are not sorted.
func (f *SortFlags) Check(fs *pflag.FlagSet, inputs []string) error {
	switch {
	case f.Span == 0 && fs.Changed("sort-memory"):
		return &usageError{errors.New("--sort-memory needs --sort")}
	case f.Span == 0:
		return nil
	case fs.Changed("no-merge"):
		return &usageError{errors.New("--sort and --no-merge, which reads inputs one after another, exclude each other")}
	case fs.Changed("merge-wait") || slices.ContainsFunc(inputs, pcapoverip.IsAddress):
		return &usageError{errors.New("--sort is for captures: packets from tcp:// and tcp-listen:// cannot be held back for others, only by --merge-wait")}
	}
	return nil
}

// Config returns how to sort, nil for not.
func (f *SortFlags) Config(fs *pflag.FlagSet) *pcapfile.SortConfig {
	if f.Span == 0 {
		return nil
	}
	return &pcapfile.SortConfig{Span: int64(f.Span), Memory: Remembered(fs, "sort-memory", f.Memory), Latest: f.Latest()}
}

// Latest returns what follows the latest time, but for outliers. Packets with one wait until
// others have reached that time.
func (f *SortFlags) Latest() func(int64) int64 {
	near := max(f.Span, calendar.Tolerance)
	clock := &calendar.Clock{Ahead: near, Behind: near}
	return func(t int64) int64 {
		clock.Observe(t)
		return clock.Latest()
	}
}
