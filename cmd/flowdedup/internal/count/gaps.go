// SPDX-License-Identifier: Apache-2.0

package count

import (
	"math"
	"sync"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/engine/distinct/countfile"
	"github.com/flowdedup/flowdedup/engine/distinct/windows"
)

// rowMaker makes the rows of a run, including windows without packets.
type rowMaker struct {
	cfg    *Config
	last   []Row // of the last window; nil for none
	spare  []Row // memory for a later window
	stamp  show.Timestamps
	end    int64 // of that window
	latest int64 // end of the latest window so far
	gaps   int   // windows without packets so far

	isOpen       func(t int64) bool         // a window that holds t is open
	skip         func(start, end int64)     // packets of such windows are late from now on
	seen         func() (first, last int64) // of the packets so far
	began, ended int64                      // of the run where that is known, else math.MinInt64
	ending       bool                       // the run is over: windows that close now may be cut
	closed       sync.Map                   // start of a window that waits for save: countfile.Span
}

// MaxGaps is how many windows without packets have rows. A clock that was wrong by years
// would give more than anyone reads.
const MaxGaps = 100_000

// window emits the rows of a window. Before them it emits rows of windows without packets
// since the latest one. Windows in between that are still open have their rows later.
func (r *rowMaker) window(start, end int64, counts []windows.Count) error {
	span := r.span(start, end)
	rows := r.rows(start, end, CutOf(span, r.cfg.zone()), counts)
	r.cfg.rank(rows, counts)
	if r.cfg.Save != nil {
		r.closed.Store(start, span)
	}
	if !r.cfg.Gaps || start == math.MinInt64 {
		r.spare = rows
		return r.cfg.Rows(rows)
	}
	for r.last != nil && r.gaps < MaxGaps {
		from, to := r.next()
		if to >= end {
			break
		}
		if r.isOpen(from) {
			r.latest = to
			continue
		}
		r.gaps++
		r.skip(from, to)
		if err := r.emit(to, r.empty(from, to)); err != nil {
			return err
		}
	}
	return r.emit(end, rows)
}

// rows returns the rows of the counts of a window, in the memory of earlier ones.
func (r *rowMaker) rows(start, end int64, cut Cut, counts []windows.Count) []Row {
	of := Row{Zone: r.cfg.zone(), Start: start, End: end, Counted: Counted{WindowStart: r.stamp.Of(start), WindowEnd: r.stamp.Of(end)}, Cut: cut}
	rows := appendRows(r.spare[:0], &of, counts)
	r.spare = nil
	return rows
}

// save passes on a window that window has had, in the background.
func (r *rowMaker) save(start, end int64, all []windows.SavedSeries) error {
	span, ok := r.closed.LoadAndDelete(start)
	if !ok {
		span = countfile.Whole(start, end)
	}
	return r.cfg.Save(span.(countfile.Span), all)
}

// span returns the part of a window that the run saw.
func (r *rowMaker) span(start, end int64) countfile.Span {
	if start == math.MinInt64 || r.cfg.Calendar.Every <= 0 && r.cfg.Slide == 0 {
		return countfile.Whole(start, end) // a window without a time, or the window of all packets
	}
	first, last := r.seen()
	if r.began != math.MinInt64 {
		first = min(first, r.began)
	}
	if last = max(last, r.ended); !r.ending {
		last = math.MaxInt64
	}
	return SeenOf(start, end, first, last)
}

// total emits the rows of the whole input.
func (r *rowMaker) total(start, end int64, counts []windows.Count) error {
	rows := RowsOf(start, end, r.cfg.zone(), counts)
	for i := range rows {
		rows[i].Kind = KindTotal
	}
	r.cfg.rank(rows, counts)
	return r.cfg.Rows(rows)
}

func (r *rowMaker) emit(end int64, rows []Row) error {
	if r.last == nil || end > r.latest {
		r.latest = end
	}
	r.spare, r.last, r.end = r.last, rows, end
	return r.cfg.Rows(rows)
}

// next returns the bounds of the window after the latest one.
func (r *rowMaker) next() (start, end int64) {
	if r.cfg.Slide > 0 {
		end = r.latest + int64(r.cfg.Slide)
		return end - int64(r.cfg.Window), end
	}
	windows := r.cfg.Calendar
	return windows.Window(r.latest)
}

// empty returns the rows of a window without packets. All of the window before are gone,
// if its row is the last one.
func (r *rowMaker) empty(start, end int64) []Row {
	counts := make([]windows.Count, len(r.last))
	for i := range r.last {
		counts[i].Key, counts[i].Family, counts[i].Method = r.last[i].Of, r.last[i].Family, "exact"
	}
	rows := r.rows(start, end, Cut{}, counts)
	for i := range rows {
		if last := &r.last[i]; r.cfg.Changes && start == r.end {
			rows[i].RowChanges = &RowChanges{Gone: last.Distinct, GoneLow: last.Low, GoneHigh: last.High}
		}
	}
	return rows
}
