// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/count"
	"github.com/flowdedup/flowdedup/engine/distinct"
	"github.com/flowdedup/flowdedup/engine/distinct/countfile"
	"github.com/flowdedup/flowdedup/engine/distinct/windows"
)

// mergeConfig configures a merge.
type mergeConfig struct {
	Files []string // that were saved, by any number of sensors
	// Total has Rows get the union of all windows at the end.
	Total bool
	// Save, if not "", gets the unions of all windows, as a file of the sensor Sensor.
	Save, Sensor string
	// Rows gets the counts of each window, and Overlap how the sensors overlap in it: for
	// each key and family. Overlap may be nil.
	Rows    func([]count.Row) error
	Overlap func(*overlap) error
	// Progress, if not nil, is called now and then with the bytes read and the bytes of all
	// files.
	Progress func(done, total int64)
}

// overlap says how the sensors of a window overlap in one key and family.
type overlap struct {
	count.Counted
	Names []string // of the sensors
	// Distinct has the counts of each sensor, Only the counts of elements that no other sensor
	// has, and Both of elements that two have: Both[a][b] with a < b.
	Distinct, Only []distinct.Estimate
	Both           [][]distinct.Estimate
}

// errDiffer is wrapped by errors about files that do not merge.
var errDiffer = errors.New("files that do not merge")

// maxTotalParts bounds the memory of a total: 128 KiB for each part.
const maxTotalParts = 1500

// merger unites files.
type merger struct {
	cfg      *mergeConfig
	ctx      context.Context
	files    []*countfile.File
	sensors  []string
	done     int64 // bytes read
	total    int64
	reported int64 // of done, by Progress
	zone     *time.Location
}

// merge unites the windows of saved files. Memory does not depend on how many elements they
// have. Errors wrap countfile.ErrInvalid or errDiffer, or come from opening and reading files,
// from ctx, or from emitting rows.
func merge(ctx context.Context, cfg *mergeConfig) (err error) {
	m := &merger{cfg: cfg, ctx: ctx}
	for _, name := range cfg.Files {
		file, err := outfile.OpenRegular(name)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := m.add(name, file); err != nil {
			return err
		}
	}
	m.zone = m.zoneOf()
	var windows []*countfile.Joint
	m.sensors, windows = countfile.Join(m.files)
	for _, w := range windows {
		if err := m.emit("", w); err != nil {
			return err
		}
	}
	if cfg.Total && len(windows) > 0 {
		if err := m.emit(count.KindTotal, countfile.Total(windows)); err != nil {
			return err
		}
	}
	return m.save(windows)
}

// save writes the unions.
func (m *merger) save(windows []*countfile.Joint) error {
	if m.cfg.Save == "" {
		return nil
	}
	s, err := count.CreateSaved(m.ctx, m.cfg.Save, countfile.Header{Sensor: m.cfg.Sensor, Settings: m.files[0].Settings})
	if err != nil {
		return err
	}
	for _, w := range windows {
		if err := s.Joint(m.ctx, w); err != nil {
			return errors.Join(err, s.Close(false, false))
		}
	}
	return s.Close(true, true)
}

// add opens a file.
func (m *merger) add(name string, file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: not a regular file: --merge reads several places of a file at once", name)
	}
	f, err := countfile.Open(name, counting{file, m}, info.Size())
	if err != nil {
		return err
	}
	if len(m.files) > 0 {
		if err := countfile.Differ(m.files[0], f); err != nil {
			return fmt.Errorf("%w: %w", errDiffer, err)
		}
	}
	m.files = append(m.files, f)
	m.total += info.Size() * m.passes()
	return nil
}

// passes returns how often each file is read.
func (m *merger) passes() int64 {
	n := int64(1)
	if m.cfg.Total {
		n++
	}
	if m.cfg.Save != "" {
		n += 2
	}
	return n
}

// counting is a file that counts the bytes read.
type counting struct {
	io.ReaderAt
	merger *merger
}

// reportEvery is the number of bytes between two calls of Progress.
const reportEvery = 1 << 20

// ReadAt implements io.ReaderAt.
func (c counting) ReadAt(b []byte, at int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(b, at)
	m := c.merger
	if m.done += int64(n); m.cfg.Progress != nil && m.done-m.reported >= reportEvery {
		m.reported = m.done
		m.cfg.Progress(min(m.done, m.total), m.total)
	}
	return n, err
}

// zoneOf returns the time zone of the files, UTC if this machine does not know it.
func (m *merger) zoneOf() *time.Location {
	for _, s := range m.files[0].Settings {
		if zone, err := time.LoadLocation(s.Value); s.Name == countfile.ZoneSetting && err == nil {
			return zone
		}
	}
	return time.UTC
}

// emit emits the rows of a window.
func (m *merger) emit(kind string, w *countfile.Joint) error {
	sensors := m.present(w)
	var rows []count.Row
	var overlaps []*overlap
	var v4 countfile.Merged // of the key whose other family follows
	v4Key := ""
	for _, s := range w.Series {
		if kind == count.KindTotal && len(s.Parts) > maxTotalParts {
			return fmt.Errorf("--total would unite %d windows of sensors at once, at most %d: save longer windows (--every)", len(s.Parts), maxTotalParts)
		}
		one, err := countfile.Merge(m.ctx, s.Parts, len(m.sensors), m.cfg.Overlap != nil)
		if err != nil {
			return err
		}
		rows = append(rows, m.row(kind, w, s.Key, s.Family, &one, sensors))
		overlaps = append(overlaps, m.overlap(w, s.Key, s.Family, &one))
		switch s.Family {
		case "ipv4":
			v4, v4Key = one, s.Key
		case "ipv6":
			if v4Key != s.Key { // as a file from elsewhere may have it
				v4 = countfile.Merged{}
			}
			all := plus(&v4, &one)
			rows = append(rows, m.row(kind, w, s.Key, "all", &all, sensors))
			overlaps = append(overlaps, m.overlap(w, s.Key, "all", &all))
		}
	}
	if err := m.cfg.Rows(rows); err != nil || m.cfg.Overlap == nil {
		return err
	}
	for _, o := range overlaps {
		if err := m.cfg.Overlap(o); err != nil {
			return err
		}
	}
	return nil
}

// present says which sensors have a window.
func (m *merger) present(w *countfile.Joint) *count.RowSensors {
	return &count.RowSensors{Sensors: fmt.Sprintf("%d/%d", len(w.Sensors), len(m.sensors)), Missing: w.Missing(m.sensors)}
}

func (m *merger) row(kind string, w *countfile.Joint, key, family string, one *countfile.Merged, sensors *count.RowSensors) count.Row {
	row := count.RowsOf(w.Start, w.End, m.zone, []windows.Count{{Key: key, Family: family, Packets: one.Packets, Counts: one.Counts}})[0]
	row.Kind, row.RowSensors = kind, sensors
	if kind != count.KindTotal {
		row.Cut = count.CutOf(w.Span(), m.zone)
	}
	return row
}

func (m *merger) overlap(w *countfile.Joint, key, family string, one *countfile.Merged) *overlap {
	row := m.row("", w, key, family, one, nil)
	return &overlap{
		Counted: count.Counted{WindowStart: row.WindowStart, WindowEnd: row.WindowEnd, Of: key, Family: family}, Names: m.sensors,
		Distinct: one.Sensors, Only: one.Only, Both: one.Both,
	}
}

// plus adds up two families. a may be absent.
func plus(a, b *countfile.Merged) countfile.Merged {
	sum := countfile.Merged{Counts: windows.Sum(a.Counts, b.Counts), Packets: distinct.Sum(a.Packets, b.Packets)}
	add := func(a, b []distinct.Estimate) (sum []distinct.Estimate) {
		for i := range b {
			if i < len(a) {
				sum = append(sum, a[i].Plus(b[i]))
			} else {
				sum = append(sum, b[i])
			}
		}
		return sum
	}
	sum.Sensors, sum.Only = add(a.Sensors, b.Sensors), add(a.Only, b.Only)
	for i := range b.Both {
		var other []distinct.Estimate
		if i < len(a.Both) {
			other = a.Both[i]
		}
		sum.Both = append(sum.Both, add(other, b.Both[i]))
	}
	return sum
}
