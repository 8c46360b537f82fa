package distinct

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/engine/distinct/countfile"
	"github.com/flowdedup/flowdedup/engine/distinct/multikey"
	"github.com/flowdedup/flowdedup/engine/distinct/sketch"
)

// MergeConfig says what a run merges.
type MergeConfig struct {
	Files []string // that were saved, by any number of sensors
	// Total has Rows get the union of all windows at the end.
	Total bool
	// Rows gets the counts of each window, and Overlap how the sensors overlap in it: for
	// each key and family. Overlap may be nil.
	Rows    func([]Row) error
	Overlap func(*Overlap) error
}

// Overlap says how the sensors of a window overlap in one key and family.
type Overlap struct {
	WindowStart, WindowEnd *string
	Of, Family             string
	Names                  []string // of the sensors
	// Distinct has the counts of each sensor, Only those of elements that no other has, and
	// Both those that two have: Both[a][b] with a < b.
	Distinct, Only []sketch.Estimate
	Both           [][]sketch.Estimate
}

// ErrDiffer is what errors about files that do not merge wrap.
var ErrDiffer = errors.New("files that do not merge")

// maxTotalParts bounds the memory of a total: 128 KiB for each part.
const maxTotalParts = 1500

// merger unites files.
type merger struct {
	cfg     *MergeConfig
	ctx     context.Context
	files   []*countfile.File
	sensors []string
	of      []int // the sensor of each file
	zone    *time.Location
}

// Merge unites the windows of saved files. Memory does not depend on how many elements
// they have. Errors wrap countfile.ErrInvalid or ErrDiffer, or are those of opening and
// reading files, of ctx, or of emitting rows.
func Merge(ctx context.Context, cfg *MergeConfig) (err error) {
	m := &merger{cfg: cfg, ctx: ctx}
	for _, name := range cfg.Files {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := m.add(name, file); err != nil {
			return err
		}
	}
	m.zone = m.zoneOf()
	windows := m.windows()
	for _, w := range windows {
		if err := m.emit("", w); err != nil {
			return err
		}
	}
	if !cfg.Total || len(windows) == 0 {
		return nil
	}
	return m.emit(KindTotal, whole(windows))
}

// add opens a file.
func (m *merger) add(name string, file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: not a file that was saved: --merge reads files in several places at once", name)
	}
	f, err := countfile.Open(name, file, info.Size())
	if err != nil {
		return err
	}
	if len(m.files) > 0 {
		if err := countfile.Differ(m.files[0], f); err != nil {
			return fmt.Errorf("%w: %w", ErrDiffer, err)
		}
	}
	at := slices.Index(m.sensors, f.Sensor)
	if at < 0 {
		at = len(m.sensors)
		m.sensors = append(m.sensors, f.Sensor)
	}
	m.files, m.of = append(m.files, f), append(m.of, at)
	return nil
}

// zoneOf returns the time zone of the files, UTC if this machine does not know it.
func (m *merger) zoneOf() *time.Location {
	for _, s := range m.files[0].Settings {
		if zone, err := time.LoadLocation(s.Value); s.Name == settingZone && err == nil {
			return zone
		}
	}
	return time.UTC
}

// mergedWindow is a window of any sensor, with the parts of all.
type mergedWindow struct {
	start, end int64
	sensors    []int // that have it, ascending
	series     []mergedSeries
}

// mergedSeries are the parts of a key and family.
type mergedSeries struct {
	key, family string
	parts       []countfile.Part
}

// windows returns all windows in the order of time, that of packets without a time last.
func (m *merger) windows() []*mergedWindow {
	known := map[[2]int64]*mergedWindow{}
	for i, f := range m.files {
		for j := range f.Windows {
			from := &f.Windows[j]
			bounds := [2]int64{from.Start, from.End}
			w := known[bounds]
			if w == nil {
				w = &mergedWindow{start: from.Start, end: from.End}
				known[bounds] = w
			}
			w.add(m.of[i], from)
		}
	}
	all := make([]*mergedWindow, 0, len(known))
	for _, w := range known {
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b *mergedWindow) int {
		// The smallest number is no time.
		return cmp.Or(cmp.Compare(uint64(a.start-1)+1<<63, uint64(b.start-1)+1<<63), cmp.Compare(a.end, b.end))
	})
	return all
}

// add adds what a sensor has.
func (w *mergedWindow) add(sensor int, from *countfile.Window) {
	if at, found := slices.BinarySearch(w.sensors, sensor); !found {
		w.sensors = slices.Insert(w.sensors, at, sensor)
	}
	for i := range from.Series {
		s := &from.Series[i]
		w.addPart(s.Key, s.Family, countfile.Part{Sensor: sensor, Series: s})
	}
}

func (w *mergedWindow) addPart(key, family string, parts ...countfile.Part) {
	at := slices.IndexFunc(w.series, func(s mergedSeries) bool { return s.key == key && s.family == family })
	if at < 0 {
		at = len(w.series)
		w.series = append(w.series, mergedSeries{key: key, family: family})
	}
	w.series[at].parts = append(w.series[at].parts, parts...)
}

// whole returns all windows as one.
func whole(windows []*mergedWindow) *mergedWindow {
	all := &mergedWindow{start: math.MinInt64, end: math.MinInt64}
	for _, w := range windows {
		if w.start != math.MinInt64 {
			if all.start == math.MinInt64 {
				all.start = w.start
			}
			all.end = max(all.end, w.end)
		}
		for _, sensor := range w.sensors {
			if at, found := slices.BinarySearch(all.sensors, sensor); !found {
				all.sensors = slices.Insert(all.sensors, at, sensor)
			}
		}
		for _, s := range w.series {
			all.addPart(s.key, s.family, s.parts...)
		}
	}
	return all
}

// emit emits the rows of a window.
func (m *merger) emit(kind string, w *mergedWindow) error {
	sensors := m.present(w)
	var rows []Row
	var overlaps []*Overlap
	var v4 countfile.Merged // of the key whose other family follows
	for _, s := range w.series {
		if kind == KindTotal && len(s.parts) > maxTotalParts {
			return fmt.Errorf("--total would unite %d windows of sensors at once, at most %d: save longer windows (--every)", len(s.parts), maxTotalParts)
		}
		one, err := countfile.Merge(m.ctx, s.parts, len(m.sensors), m.cfg.Overlap != nil)
		if err != nil {
			return err
		}
		rows = append(rows, m.row(kind, w, s.key, s.family, &one, sensors))
		overlaps = append(overlaps, m.overlap(w, s.key, s.family, &one))
		switch s.family {
		case "ipv4":
			v4 = one
		case "ipv6":
			all := plus(&v4, &one)
			rows = append(rows, m.row(kind, w, s.key, "all", &all, sensors))
			overlaps = append(overlaps, m.overlap(w, s.key, "all", &all))
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
func (m *merger) present(w *mergedWindow) *RowSensors {
	s := &RowSensors{Sensors: fmt.Sprintf("%d/%d", len(w.sensors), len(m.sensors))}
	for i, name := range m.sensors {
		if _, found := slices.BinarySearch(w.sensors, i); !found {
			s.Missing = append(s.Missing, name)
		}
	}
	return s
}

func (m *merger) row(kind string, w *mergedWindow, key, family string, one *countfile.Merged, sensors *RowSensors) Row {
	row := rowsOf(w.start, w.end, m.zone, []multikey.Count{{Key: key, Family: family, Packets: one.Packets, Counts: one.Counts}})[0]
	row.Kind, row.RowSensors = kind, sensors
	return row
}

func (m *merger) overlap(w *mergedWindow, key, family string, one *countfile.Merged) *Overlap {
	row := m.row("", w, key, family, one, nil)
	return &Overlap{
		WindowStart: row.WindowStart, WindowEnd: row.WindowEnd, Of: key, Family: family, Names: m.sensors,
		Distinct: one.Sensors, Only: one.Only, Both: one.Both,
	}
}

// plus adds up two families.
func plus(a, b *countfile.Merged) countfile.Merged {
	sum := countfile.Merged{Counts: multikey.Sum(a.Counts, b.Counts), Packets: a.Packets + b.Packets}
	add := func(a, b []sketch.Estimate) (sum []sketch.Estimate) {
		for i := range a {
			sum = append(sum, a[i].Plus(b[i]))
		}
		return sum
	}
	sum.Sensors, sum.Only = add(a.Sensors, b.Sensors), add(a.Only, b.Only)
	for i := range a.Both {
		sum.Both = append(sum.Both, add(a.Both[i], b.Both[i]))
	}
	return sum
}
