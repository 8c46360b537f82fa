// SPDX-License-Identifier: Apache-2.0

package count

import (
	"cmp"
	"encoding/json"
	"io"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/version"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/distinct/countfile"
	"github.com/flowdedup/flowdedup/engine/distinct/windows"
)

// Row is the count of one window, key and family; its JSON form is part of
// the command line's contract.
type Row struct {
	// Kind is KindTotal for the whole input, and "" for a window.
	Kind string `json:"-"`
	// Zone is the time zone of the stamps; nil means UTC.
	Zone *time.Location `json:"-"`
	// Start and End are the bounds of the window, in nanoseconds since 1970 UTC.
	Start, End int64 `json:"-"`
	// Top has the elements with the most packets or bytes, in the row of all families: see Config.Top.
	Top []Top `json:"-"`
	Counted
	Distinct uint64 `json:"distinct"`
	// Low and High bound the true count with 95 % confidence.
	Low  uint64 `json:"low"`
	High uint64 `json:"high"`
	// Packets counts the packets of the window.
	Packets     uint64  `json:"packets_in"`
	Method      string  `json:"method"`
	MemoryBytes int     `json:"memory_bytes"`
	FPR         float64 `json:"predicted_fpr"`
	Cut
	*RowChanges
	*RowSensors
}

// Counted says what a line counts, and in which window.
type Counted struct {
	// WindowStart and WindowEnd bound the window, the end excluded. For one window of all
	// inputs they are the times of the earliest and the latest packet. Both are nil for
	// packets without a timestamp.
	WindowStart *string `json:"window_start"`
	WindowEnd   *string `json:"window_end"`
	Of          string  `json:"of"`
	Family      string  `json:"family"` // "ipv4", "ipv6" or "all"
}

// Head is the head of a line.
type Head struct {
	version.Heading
	Kind string `json:"kind"`
	Counted
}

// KindTotal is the kind of the rows of the whole input.
const KindTotal = "total"

// Cut says that a run began after the start of a window, or ended before its end, so that it
// counted a part of the window. It is zero for a window that the run saw whole.
type Cut struct {
	// Cut is "start", "end" or "both".
	Cut string `json:"cut,omitempty"`
	// SeenFrom is when the run began, SeenTo when it ended, each nil where the window is not
	// cut. A run on captures lasts from the earliest to the latest packet.
	SeenFrom *string `json:"seen_from,omitempty"`
	SeenTo   *string `json:"seen_to,omitempty"`
}

// A window counts as whole if at most 1/cutPart of it is missing: the first and last packets of
// captures that begin and end at full hours come close to these hours.
const cutPart = 100

// SeenOf returns which part of the window from start to end was seen by a run that lasted from first
// to last. math.MinInt64 and math.MaxInt64 stand for a run that began before, and ended after the
// window.
func SeenOf(start, end, first, last int64) countfile.Span {
	s := countfile.Whole(start, end)
	least := calendar.Distance(start, end) / cutPart
	if first > start && calendar.Distance(start, first) > least {
		s.SeenFrom = first
	}
	if last < end && calendar.Distance(last, end) > least {
		s.SeenTo = last
	}
	return s
}

// CutOf says how a window is cut.
func CutOf(s countfile.Span, zone *time.Location) Cut {
	c := Cut{Cut: s.Cut()}
	if s.SeenFrom > s.Start {
		c.SeenFrom = show.Timestamp(s.SeenFrom, zone)
	}
	if s.SeenTo < s.End {
		c.SeenTo = show.Timestamp(s.SeenTo, zone)
	}
	return c
}

// RowChanges say how the elements of a window differ from those of the window right before
// it, with the bounds of each number. The first window has none.
type RowChanges struct {
	New           uint64 `json:"new"`
	NewLow        uint64 `json:"new_low"`
	NewHigh       uint64 `json:"new_high"`
	Returning     uint64 `json:"returning"`
	ReturningLow  uint64 `json:"returning_low"`
	ReturningHigh uint64 `json:"returning_high"`
	Gone          uint64 `json:"gone"`
	GoneLow       uint64 `json:"gone_low"`
	GoneHigh      uint64 `json:"gone_high"`
}

func rowChanges(c *windows.Changes) *RowChanges {
	if c == nil {
		return nil
	}
	return &RowChanges{
		c.New.Distinct, c.New.Low, c.New.High, c.Returning.Distinct, c.Returning.Low, c.Returning.High,
		c.Gone.Distinct, c.Gone.Low, c.Gone.High,
	}
}

// RowSensors say which sensors a merged row has counts of.
type RowSensors struct {
	Sensors string   `json:"sensors"` // "19/20"
	Missing []string `json:"missing,omitempty"`
}

// Sighting is the first packet of a window with a certain key.
type Sighting struct {
	Kind        string  `json:"kind"` // of the line: `sighting`
	WindowStart *string `json:"window_start"`
	Of          string  `json:"of"`
	Value       string  `json:"value"`
	FirstSeen   *string `json:"first_seen"`
	// CommunityID is the Community ID of a flow, "" for other keys: see
	// keys.Config.CommunityID16.
	CommunityID string `json:"community_id,omitempty"`
}

// RowsOf returns the rows of the counts of a window.
func RowsOf(start, end int64, zone *time.Location, counts []windows.Count) []Row {
	return appendRows(nil, &Row{Zone: zone, Start: start, End: end, Counted: Counted{WindowStart: show.Timestamp(start, zone), WindowEnd: show.Timestamp(end, zone)}}, counts)
}

// appendRows appends the rows of the counts of a window. They have in common what of has.
func appendRows(rows []Row, of *Row, counts []windows.Count) []Row {
	for i := range counts {
		c := &counts[i]
		rows = append(rows, *of)
		r := &rows[len(rows)-1]
		r.Of, r.Family, r.Distinct, r.Low, r.High = c.Key, c.Family, c.Distinct, c.Low, c.High
		r.Packets, r.Method, r.MemoryBytes, r.FPR, r.RowChanges = c.Packets, c.Method, c.MemoryBytes, c.FPR, rowChanges(c.Changes)
	}
	return rows
}

// Lines writes one JSON object per line, each as soon as it is known.
type Lines struct {
	*json.Encoder
	Heading version.Heading // of the lines
}

// Line is a row as a line.
type Line struct {
	version.Heading
	Kind string `json:"kind"` // of the line: `window` or `total`
	*Row
}

// NewLine returns the line of a row, whose rate it rounds.
func NewLine(h version.Heading, r *Row) Line {
	r.FPR = show.Rounded(r.FPR)
	return Line{h, r.KindName(), r}
}

// KindName returns the kind as lines and CSV files name it.
func (r *Row) KindName() string { return cmp.Or(r.Kind, "window") }

// NewLines returns a writer of the lines of a command.
func NewLines(w io.Writer, command string) *Lines {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // values are like "10.0.0.1 > 10.0.0.2"
	return &Lines{enc, version.HeadingOf(command)}
}

// Rows writes the counts of a window that closed, each with its ranking.
func (l *Lines) Rows(rows []Row) error {
	for i := range rows {
		if err := l.Encode(NewLine(l.Heading, &rows[i])); err != nil {
			return err
		}
		for _, top := range rows[i].Top {
			top.Heading = l.Heading
			if err := l.Encode(&top); err != nil {
				return err
			}
		}
	}
	return nil
}
