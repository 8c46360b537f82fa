// SPDX-License-Identifier: Apache-2.0

package counts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/distinct"
	"github.com/flowdedup/flowdedup/engine/distinct/countfile"
	"github.com/flowdedup/flowdedup/engine/distinct/windows"
)

// Row is the union of a window, key and family over all sites, as a row of flowdedup
// distinct --merge --json is.
type Row struct {
	WindowStart *time.Time `json:"window_start"` // nil for packets without a time
	WindowEnd   *time.Time `json:"window_end"`
	Of          string     `json:"of"`
	Family      string     `json:"family"`
	Distinct    uint64     `json:"distinct"`
	Low         uint64     `json:"low"`
	High        uint64     `json:"high"`
	Packets     uint64     `json:"packets_in"` // sum over sites
	Method      string     `json:"method"`
	MemoryBytes int        `json:"memory_bytes"`
	FPR         float64    `json:"predicted_fpr"`
	Sensors     string     `json:"sensors"` // sites that have the window, out of the sites that send counts: "3/4"
	Missing     []string   `json:"missing,omitempty"`
	// Cut is "start", "end" or "both" if a site counted a part of the window, from
	// SeenFrom or to SeenTo.
	Cut      string     `json:"cut,omitempty"`
	SeenFrom *time.Time `json:"seen_from,omitempty"`
	SeenTo   *time.Time `json:"seen_to,omitempty"`
}

// union is the saved result of a union, and the files that it includes.
type union struct {
	Files []string `json:"files"`
	Rows  []Row    `json:"rows"`
}

func (s *Store) wakeUp() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// work makes unions, until the context ends.
func (s *Store) work(ctx context.Context) {
	defer close(s.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-s.wake:
		}
		var wait time.Duration
		for {
			w, files, until := s.due(time.Now())
			if w == nil {
				wait = until
				break
			}
			if err := s.unite(ctx, w, files); ctx.Err() != nil {
				return
			} else if err != nil {
				s.later(w, err)
			}
		}
		timer.Reset(wait)
	}
}

// due returns the newest window whose union is to be made, and its files, or how long until
// one is.
func (s *Store) due(now time.Time) (due *window, files []file, until time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	until = time.Hour
	if s.expire(now); len(s.uploads) > 0 {
		until = s.cfg.Expire
	}
	for _, w := range slices.Backward(s.windows) {
		if w.changed.IsZero() {
			continue
		}
		if left := s.cfg.Settle - now.Sub(w.changed); left > 0 {
			until = min(until, left)
			continue
		}
		return w, slices.Clone(w.files), 0
	}
	return nil, nil, until
}

// later has the union of a window made again after a while, and warns of what went wrong: not at
// each time, as a site may send damaged files without end.
func (s *Store) later(w *window, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.warnOften(fmt.Sprintf("counts of the window %s: %v", w.folder, err))
	w.changed = time.Now()
}

// unite makes the union of a window. A file that turns out to be damaged is removed: then
// the union is due again.
func (s *Store) unite(ctx context.Context, w *window, files []file) (err error) {
	var opened []*countfile.File
	for _, f := range files {
		one, from, err := s.open(w, f.name)
		if err != nil {
			return errors.Join(err, s.discard(w, f.name))
		}
		defer from.Close()
		one.Name = f.name
		opened = append(opened, one)
	}
	_, joints := countfile.Join(opened)
	rows := []Row{}
	for _, j := range joints {
		of, err := rowsOf(ctx, j, zoneOf(opened[0]))
		if errors.Is(err, countfile.ErrInvalid) {
			return errors.Join(err, s.discardDamaged(ctx, w, files))
		} else if err != nil {
			return err
		}
		rows = append(rows, of...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(w.files, files) {
		return nil // it is due again
	}
	w.rows, w.changed = rows, time.Time{}
	if slices.Contains(s.windows, w) {
		s.saveUnion(w)
	}
	return nil
}

// saveUnion saves the union of a window, so that the next Open need not make it again.
// The next Open repeats a union that could not be saved, or only in part.
func (s *Store) saveUnion(w *window) {
	text, err := json.Marshal(union{w.names(), w.rows})
	if err == nil {
		err = os.WriteFile(s.path(w, unionFile), text, 0o600)
	}
	if err != nil {
		s.warnOften(fmt.Sprintf("counts of the window %s: %v", w.folder, err))
	}
}

// discard removes a file that cannot be used.
func (s *Store) discard(w *window, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(w.files, func(f file) bool { return f.name == name })
	if at < 0 || !slices.Contains(s.windows, w) {
		return nil // the window was removed meanwhile
	}
	w.bytes -= w.files[at].bytes
	s.bytes -= w.files[at].bytes
	w.files = slices.Delete(w.files, at, at+1)
	w.changed = time.Now()
	return os.Remove(s.path(w, name))
}

// discardDamaged removes those files that are damaged.
func (s *Store) discardDamaged(ctx context.Context, w *window, files []file) error {
	var errs []error
	for _, f := range files {
		one, from, err := s.open(w, f.name)
		if err == nil {
			_, joints := countfile.Join([]*countfile.File{one})
			for _, j := range joints {
				_, broken := rowsOf(ctx, j, time.UTC)
				err = errors.Join(err, broken)
			}
			errs = append(errs, from.Close())
		}
		if errors.Is(err, countfile.ErrInvalid) {
			errs = append(errs, s.discard(w, f.name))
		}
	}
	return errors.Join(errs...)
}

// rowsOf returns the rows of a window.
func rowsOf(ctx context.Context, j *countfile.Joint, zone *time.Location) (rows []Row, err error) {
	var v4 countfile.Merged
	v4Key := ""
	for _, s := range j.Series {
		m, err := countfile.Merge(ctx, s.Parts, 0, false)
		if err != nil {
			return nil, err
		}
		rows = append(rows, rowOf(j, zone, s.Key, s.Family, m.Counts, m.Packets))
		switch s.Family {
		case "ipv4":
			v4, v4Key = m, s.Key
		case "ipv6":
			if v4Key != s.Key {
				v4 = countfile.Merged{}
			}
			rows = append(rows, rowOf(j, zone, s.Key, "all", windows.Sum(v4.Counts, m.Counts), distinct.Sum(v4.Packets, m.Packets)))
		}
	}
	return rows, nil
}

func rowOf(j *countfile.Joint, zone *time.Location, key, family string, c engine.Counts, packets uint64) Row {
	r := Row{
		Of: key, Family: family, Distinct: c.Distinct, Low: c.Low, High: c.High, Packets: packets, Method: c.Method,
		MemoryBytes: c.MemoryBytes, FPR: c.FPR,
	}
	if j.Start != math.MinInt64 {
		start, end := time.Unix(0, j.Start).In(zone), time.Unix(0, j.End).In(zone)
		r.WindowStart, r.WindowEnd = &start, &end
	}
	s := j.Span()
	if r.Cut = s.Cut(); s.SeenFrom > s.Start {
		from := time.Unix(0, s.SeenFrom).In(zone)
		r.SeenFrom = &from
	}
	if s.SeenTo < s.End {
		to := time.Unix(0, s.SeenTo).In(zone)
		r.SeenTo = &to
	}
	return r
}

// zoneOf returns the time zone that a file was saved in, UTC if this machine does not know
// it.
func zoneOf(f *countfile.File) *time.Location {
	for _, one := range f.Settings {
		if zone, err := time.LoadLocation(one.Value); one.Name == countfile.ZoneSetting && err == nil {
			return zone
		}
	}
	return time.UTC
}

// Rows returns the unions of the latest windows, the oldest first. known are the sites
// that could have counts: a known site that has counts in any window, but none in this window,
// is missing.
func (s *Store) Rows(windows int, known []string) []Row {
	rows := []Row{}
	s.mu.Lock()
	defer s.mu.Unlock()
	counting := map[string]bool{}
	for _, w := range s.windows {
		for _, f := range w.files {
			counting[f.site] = slices.Contains(known, f.site)
		}
	}
	for _, w := range s.windows[max(0, len(s.windows)-windows):] {
		present := map[string]bool{}
		for _, f := range w.files {
			present[f.site] = true
		}
		var missing []string
		for site, wanted := range counting {
			if wanted && !present[site] {
				missing = append(missing, site)
			}
		}
		slices.Sort(missing)
		for _, r := range w.rows {
			r.Sensors, r.Missing = fmt.Sprintf("%d/%d", len(present), len(present)+len(missing)), missing
			rows = append(rows, r)
		}
	}
	return rows
}

// Totals are the counts of a store itself.
type Totals struct {
	Windows int    `json:"windows"`
	Files   int    `json:"files"`
	Bytes   int64  `json:"bytes"`
	Refused uint64 `json:"refused"` // requests
	Evicted uint64 `json:"evicted"` // files that made room for others
	Coming  int    `json:"coming"`  // uploads under way
	Pending int    `json:"pending"` // windows whose union is due
}

// Totals returns them.
func (s *Store) Totals() (t Totals) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.Windows, t.Bytes, t.Refused = len(s.windows), s.bytes, s.refused
	t.Evicted, t.Coming = s.evicted.files, len(s.uploads)
	for _, w := range s.windows {
		t.Files += len(w.files)
		if !w.changed.IsZero() {
			t.Pending++
		}
	}
	return t
}

// ErrNone says that there are no counts.
var ErrNone = errors.New("there are no counts")

// Save writes the unions of all windows of some files as one file of counts, under the
// given sensor name. Errors wrap ErrNone, countfile.ErrInvalid, or are of reading and
// writing.
func Save(ctx context.Context, to io.Writer, sensor string, paths []string) (windows int, err error) {
	if len(paths) == 0 {
		return 0, ErrNone
	}
	var files []*countfile.File
	for _, path := range paths {
		f, from, err := openFile(path)
		if err != nil {
			return 0, err
		}
		defer from.Close()
		f.Name = path
		if len(files) > 0 {
			if err := countfile.Differ(files[0], f); err != nil {
				return 0, err
			}
		}
		files = append(files, f)
	}
	_, joints := countfile.Join(files)
	w := countfile.NewWriter(to, countfile.Header{Sensor: sensor, Settings: files[0].Settings})
	for _, j := range joints {
		if err := w.Joint(ctx, j); err != nil {
			return 0, err
		}
	}
	_, err = w.Close()
	return len(joints), err
}
