// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture/keys"
	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/count"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/distinct/windows"
)

// distinct says which keys of records are counted, and in which windows.
type distinct struct {
	Keys     []keys.Config // none for no counts; not keys.MACs
	Calendar calendar.Calendar
	Budget   int // bytes of all windows together
	// Rows gets the counts of each window when it closes.
	Rows func([]count.Row) error
}

// countedAtOnce is how many records are counted at a time.
const countedAtOnce = 1 << 8

const (
	// maxTouched is how many windows a record counts in at most: in the latest.
	maxTouched = 128
	// maxOpen is how many windows are open at most: an hour and more of minutes.
	maxOpen = 128
	// maxAhead is how far a record may end after it came. Senders choose the times of their
	// records, so a window that begins later is not opened.
	maxAhead = time.Minute
	// leastBudget is the least memory of a window, windowCost its overhead: records that wait
	// to be counted, and their digests.
	leastBudget = 128 << 10
	windowCost  = 128 << 10
	// fewOpen windows are open in any case.
	fewOpen = 4
)

// keyCounts are the distinct keys of windows. A record that spans windows counts in each that
// it touches. Records come after their time, so several windows are open.
type keyCounts struct {
	cfg    *distinct
	secret engine.Secret
	v4, v6 *digest.AES
	live   bool          // records come now
	open   []*window     // by time
	closed int64         // windows before this are closed
	grace  time.Duration // as of the last advance
	late   uint64        // records of windows that were closed, or could not be opened
	// untimed are the records in no window, for want of a time.
	untimed uint64
	// patient says that a file has records of an archive that was sent again, in any order: windows
	// close only for others.
	patient bool
	// first and last are when the first and the latest record came; ending says that windows
	// close since the run ends.
	first, last int64
	ending      bool
}

type window struct {
	start, end int64
	budget     int
	counter    *windows.Counter
	batch      *windows.Batch
	// Records that wait to be counted.
	records []records.Record
	times   []int64
	copies  []uint64 // bits of records that are copies
}

func newCounts(cfg *distinct, s engine.Secret) *keyCounts {
	return &keyCounts{cfg: cfg, secret: s, grace: time.Hour, first: math.MaxInt64, last: math.MinInt64, v4: digest.NewAES(s.AESKey(engine.UseIPv4)), v6: digest.NewAES(s.AESKey(engine.UseIPv6))}
}

// add counts a record that lasts from start to end. A copy adds its keys, and no record.
func (c *keyCounts) add(r *records.Record, start, end int64, isCopy bool) error {
	if r.Unmatched {
		return nil
	}
	from, to := c.cfg.Calendar.Window(end)
	came := arrival(r)
	if err := c.follow(came, calendar.Since(to, from)); err != nil {
		return err
	}
	if behind := calendar.Since(came, end); !c.live && (behind > int64(c.grace) || behind < 0 && !records.IsTime(came)) {
		if !c.patient {
			c.patient, c.closed = true, 0
		}
		came = end
	}
	if calendar.Since(from, came) > int64(maxAhead) {
		c.late++
		return nil
	}
	for range maxTouched {
		late := from < c.closed || calendar.Since(came, to) > int64(c.grace)
		if late || from > came && !c.mayOpenAhead(from, came) {
			c.late++
			return nil
		}
		w, err := c.window(from, to)
		if w == nil || err != nil {
			c.late++
			return err
		}
		c.first, c.last = min(c.first, came), max(c.last, came)
		if err := c.put(w, r, max(start, from), isCopy); err != nil {
			return err
		}
		if start >= from {
			return nil
		}
		from, to = c.cfg.Calendar.Window(from - 1)
	}
	return nil
}

// follow begins anew if this host's clock was set back: otherwise no new record would lie in an
// open window. Closed windows may open again. every is the length of a window.
func (c *keyCounts) follow(came, every int64) error {
	if !c.live || calendar.Since(c.closed, came) <= calendar.Shift(every, int64(maxAhead)) {
		return nil
	}
	err := c.closeAll()
	c.closed, c.first, c.last = 0, came, came
	return err
}

// arrival returns when a record came, or its end where that is not known: see match.Moment.
func arrival(r *records.Record) int64 {
	if r.Received != 0 && r.Exported != 0 {
		return r.Received
	}
	return cmp.Or(max(r.Start, r.End), r.Received)
}

// mayOpenAhead reports whether the window that begins at from, after a record came, is open or may
// be opened: one in four windows may be ahead. Else a sender that chooses its times would close
// windows of all other senders, and open empty windows for them.
func (c *keyCounts) mayOpenAhead(from, came int64) bool {
	ahead := 0
	for _, w := range c.open {
		if w.start == from {
			return true
		}
		if w.start > came {
			ahead++
		}
	}
	return ahead < c.mostOpen()/4
}

// window returns the window from start to end, and opens it if need be. If too many are open, it
// closes the first for a later window, and returns nil for an earlier window.
func (c *keyCounts) window(start, end int64) (*window, error) {
	at, found := slices.BinarySearchFunc(c.open, start, func(w *window, start int64) int { return cmp.Compare(w.start, start) })
	if found {
		return c.open[at], nil
	}
	if len(c.open) >= c.mostOpen() {
		if at == 0 {
			return nil, nil
		}
		if err := c.close(); err != nil {
			return nil, err
		}
		at--
	}
	w := c.newWindow(start, end)
	c.open = slices.Insert(c.open, at, w)
	return w, nil
}

func (c *keyCounts) newWindow(start, end int64) *window {
	w := &window{start: start, end: end, budget: c.budget(), copies: make([]uint64, countedAtOnce/64)}
	cfg := &windows.Config{Method: "auto", FPR: 1e-9, Budget: w.budget, Secret: c.secret, Emit: func(_, _ int64, all []windows.Count) error {
		rows := count.RowsOf(w.start, w.end, c.cfg.zone(), all)
		cut := c.cut(w)
		for i := range rows {
			rows[i].Cut = cut
		}
		return c.cfg.Rows(rows)
	}}
	for _, key := range c.cfg.Keys {
		perRecord := 2 // both ends of it
		if key.Kind == keys.Biflow {
			perRecord = 1
		}
		cfg.Keys = append(cfg.Keys, windows.Key{Name: key.Kind.String(), PerPacket: perRecord})
	}
	w.counter = windows.New(cfg)
	w.batch = w.counter.NewBatch()
	return w
}

// budget returns the memory for a new window: half of what is free in the first half of the budget.
// The second half is for windows that get the least.
func (c *keyCounts) budget() int {
	left := c.cfg.Budget / 2
	for _, w := range c.open {
		left -= w.budget + windowCost
	}
	return max(left/2-windowCost, leastBudget)
}

// mostOpen returns how many windows may be open: as many as half of the budget holds of the
// smallest.
func (c *keyCounts) mostOpen() int {
	return min(max(c.cfg.Budget/(2*(leastBudget+windowCost)), fewOpen), maxOpen)
}

// bytes returns the memory that the open windows may take.
func (c *keyCounts) bytes() int {
	all := 0
	for _, w := range c.open {
		all += w.budget + windowCost
	}
	return all
}

func (d *distinct) zone() *time.Location {
	if d.Calendar.Location == nil {
		return time.UTC
	}
	return d.Calendar.Location
}

// put keeps a record until countedAtOnce are there, then counts them.
func (c *keyCounts) put(w *window, r *records.Record, at int64, isCopy bool) error {
	if n := len(w.times); isCopy {
		w.copies[n/64] |= 1 << (n % 64)
	}
	w.records, w.times = append(w.records, *r), append(w.times, at)
	if len(w.times) < countedAtOnce {
		return nil
	}
	return c.count(w)
}

// count counts the waiting records.
func (c *keyCounts) count(w *window) error {
	w.batch.Reset(w.times)
	for n := range w.records {
		r, number := &w.records[n], [1]uint32{uint32(n)}
		for i := range c.cfg.Keys {
			c.ends(w.batch.Elements(i), &c.cfg.Keys[i], r, number[:])
		}
	}
	err := w.counter.Count(w.batch, w.copies)
	w.records, w.times = w.records[:0], w.times[:0]
	clear(w.copies)
	return err
}

// advance closes the windows that ended long enough ago.
func (c *keyCounts) advance(now int64, grace time.Duration) error {
	c.grace = grace
	for len(c.open) > 0 && !c.patient && calendar.Since(now, c.open[0].end) > int64(grace) {
		if err := c.close(); err != nil {
			return err
		}
	}
	return nil
}

// close closes the first window.
func (c *keyCounts) close() error {
	w := c.open[0]
	c.open, c.closed = c.open[1:], w.end
	return errors.Join(c.count(w), w.counter.Close())
}

// end closes all windows at the end of the run.
func (c *keyCounts) end() error {
	c.ending = true
	return c.closeAll()
}

// cut says whether the run saw a window whole: records came from its start to its end.
func (c *keyCounts) cut(w *window) count.Cut {
	last := int64(math.MaxInt64)
	if c.ending {
		last = c.last
	}
	return count.CutOf(count.SeenOf(w.start, w.end, c.first, last), c.cfg.zone())
}

func (c *keyCounts) closeAll() error {
	var errs []error
	for len(c.open) > 0 {
		errs = append(errs, c.close())
	}
	return errors.Join(errs...)
}
