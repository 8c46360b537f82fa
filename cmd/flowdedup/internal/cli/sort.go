// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture/netio"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
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
	case fs.Changed("merge-wait") || slices.ContainsFunc(inputs, netio.IsAddress):
		return &usageError{errors.New("--sort is for captures: packets from tcp:// and tcp-listen:// cannot be held back for others, only by --merge-wait")}
	}
	return nil
}

// config returns how to sort, nil for not.
func (f *SortFlags) config(fs *pflag.FlagSet) *pcapfile.SortConfig {
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

// warnUnsorted reports packets that could not be sorted, and what would do.
func (f *SortFlags) warnUnsorted(e *Env, s *dedup.Summary) {
	n := s.Unsorted
	if n == nil || n.Late == 0 {
		return
	}
	advice := fmt.Sprintf("use --sort %v or more", time.Duration(n.By)+f.Span)
	switch {
	case n.By > int64(time.Hour):
		advice = "give captures that were concatenated as separate inputs, which are merged by time"
	case n.Full:
		advice = "use a larger --sort-memory"
	}
	e.Warn(fmt.Errorf("%d packets came too late to be sorted, the first of them packet %d, by up to %v, and are out of order: %s",
		n.Late, n.First, time.Duration(n.By), advice))
}
