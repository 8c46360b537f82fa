// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/pcapoverip"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// PartFlags choose the part of captures that a command reads.
type PartFlags struct {
	Zone     *time.Location // of times that name none; nil is UTC
	from, to *bound
	count    uint64
}

// bound is an end of the part: a time, or an offset from the first packet.
type bound struct {
	time   time.Time
	local  bool // time is as clocks of Zone show it, though its location is UTC
	offset time.Duration
}

// Flags returns the flags.
func (f *PartFlags) Flags() []Flag {
	of := []string{"sort: give them to a run that reads the sorted capture", "interface: it is for captures"}
	words := []string{"+10s", "+1h"}
	return []Flag{
		{Name: "from", Group: GroupInput, To: NewParsed(&f.from, "", "time", parseBound), Words: words, Not: of, Help: "take packets from this time on: '2026-03-01 14:00', or +10s after the first packet"},
		{Name: "to", Group: GroupInput, To: NewParsed(&f.to, "", "time", parseBound), Words: words, Not: of, Help: "take packets before this time, or offset"},
		{Name: "count", Short: "c", Group: GroupInput, To: &f.count, Not: of, Help: "stop after `N` packets of these"},
	}
}

// ZoneFlag returns the flag --tz of commands for which only these times have a time zone.
func (f *PartFlags) ZoneFlag() Flag {
	flag := ZoneFlag(&f.Zone, GroupInput, "--from and --to")
	flag.Needs = []string{"from to"}
	return flag
}

// Check rejects a part that can have no packets.
func (f *PartFlags) Check() error {
	p := f.part()
	if p.From != nil && p.To != nil && p.From.Offset == p.To.Offset && p.From.Time >= p.To.Time {
		return Usagef("--from must be before --to")
	}
	return nil
}

// part returns the part.
func (f *PartFlags) part() input.Part {
	return input.Part{From: f.from.in(f.Zone), To: f.to.in(f.Zone), Count: f.count}
}

// in returns the bound, whose time is of a zone if it names none.
func (b *bound) in(zone *time.Location) *input.Bound {
	switch {
	case b == nil:
		return nil
	case b.time.IsZero():
		return &input.Bound{Time: int64(b.offset), Offset: true}
	case b.local && zone != nil:
		t := b.time
		return &input.Bound{Time: time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), zone).UnixNano()}
	}
	return &input.Bound{Time: b.time.UnixNano()}
}

// parseBound reads a time with or without a zone, seconds since 1970, or an offset.
func parseBound(s string) (*bound, error) {
	if rest, is := strings.CutPrefix(s, "+"); is {
		if d, err := time.ParseDuration(rest); err == nil && d >= 0 {
			return &bound{offset: d}, nil
		}
	}
	if since, err := time.ParseDuration(s + "s"); err == nil && since > 0 && !strings.ContainsAny(s, "hmnuµμ+") {
		return &bound{time: time.Unix(0, int64(since))}, nil
	}
	if b := parseTime(strings.Replace(s, " ", "T", 1)); b != nil && b.time.Year() >= 1970 && b.time.Year() < 2262 {
		return b, nil
	}
	return nil, errors.New("must be a time such as 2026-03-01, '2026-03-01 14:00' (in --tz), 2026-03-01T14:00:00.5Z or 1772373600.5 (seconds since 1970), or an offset from the first packet such as +10s")
}

// parseTime reads a date, with or without a time and a zone. It returns nil for others.
func parseTime(s string) *bound {
	for _, day := range []string{"", "T15:04", "T15:04:05"} {
		for _, zone := range []string{"", "Z07:00"} {
			if t, err := time.Parse(time.DateOnly+day+zone, s); err == nil && (day != "" || zone == "") {
				return &bound{time: t, local: zone == ""}
			}
		}
	}
	return nil
}

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
