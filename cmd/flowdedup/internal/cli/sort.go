// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/pcapoverip"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// SortFlags configure sorting by time, which comes before all other work on packets.
type SortFlags struct {
	Span   time.Duration
	Memory int
}

// Flags returns the flags.
func (f *SortFlags) Flags() []Flag {
	return []Flag{
		{Name: "sort", Group: GroupInput, To: NewParsed(&f.Span, "", "duration", ParseLength), Words: []string{"100ms", "1s"}, Not: []string{"no-merge: it reads inputs one after another", "merge-wait: it holds back packets of captures only"}, Help: "sort by time packets late by at most this: 1s"},
		{Name: "sort-memory", Group: GroupAdvanced, To: NewParsed(&f.Memory, show.Bytes(pcapfile.DefaultSortMemory), "size", ParseMemory), Needs: []string{"sort"}, Help: "memory for packets that --sort holds back"},
	}
}

// Check rejects inputs that are not sorted.
func (f *SortFlags) Check(inputs []string) error {
	if f.Span > 0 && slices.ContainsFunc(inputs, pcapoverip.IsAddress) {
		return Usagef("--sort is for captures: for tcp:// and tcp-listen:// use --merge-wait")
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

// Latest returns a function that tracks the latest time and ignores outliers. Packets with an
// outlying time wait until others reach it.
func (f *SortFlags) Latest() func(int64) int64 {
	near := max(f.Span, calendar.Tolerance)
	clock := &calendar.Clock{Ahead: near, Behind: near}
	return func(t int64) int64 {
		clock.Observe(t)
		return clock.Latest()
	}
}
