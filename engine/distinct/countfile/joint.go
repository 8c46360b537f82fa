// SPDX-License-Identifier: Apache-2.0

package countfile

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/flowdedup/flowdedup/engine/distinct"
)

// Joint is a window with the parts of all sensors.
type Joint struct {
	Start, End int64
	Sensors    []int // sensors that have it, ascending
	Series     []JointSeries

	seen []Span // by Sensors: from the first to the last of a sensor's parts
}

// Span returns the part of the window that all sensors counted which have it. If a sensor
// ends before another sensor begins, the part ends before it begins.
func (j *Joint) Span() Span {
	s := Whole(j.Start, j.End)
	for _, one := range j.seen {
		s.SeenFrom, s.SeenTo = max(s.SeenFrom, one.SeenFrom), min(s.SeenTo, one.SeenTo)
	}
	return s
}

// JointSeries are the parts of a key and family.
type JointSeries struct {
	Key, Family string
	Parts       []Part
}

// Join puts windows of the same bounds together. It returns the names of the sensors, in
// the order of files, and the windows in the order of time, with the window of packets
// without a time last.
func Join(files []*File) (sensors []string, windows []*Joint) {
	known := map[[2]int64]*Joint{}
	for _, f := range files {
		sensor := slices.Index(sensors, f.Sensor)
		if sensor < 0 {
			sensor = len(sensors)
			sensors = append(sensors, f.Sensor)
		}
		for i := range f.Windows {
			from := &f.Windows[i]
			bounds := [2]int64{from.Start, from.End}
			j := known[bounds]
			if j == nil {
				j = &Joint{Start: from.Start, End: from.End}
				known[bounds] = j
				windows = append(windows, j)
			}
			j.add(sensor, from)
		}
	}
	slices.SortFunc(windows, func(a, b *Joint) int {
		// The smallest number is no time.
		return cmp.Or(cmp.Compare(uint64(a.Start-1)+1<<63, uint64(b.Start-1)+1<<63), cmp.Compare(a.End, b.End))
	})
	return sensors, windows
}

// Total returns all windows as one.
func Total(windows []*Joint) *Joint {
	all := &Joint{Start: math.MinInt64, End: math.MinInt64}
	for _, j := range windows {
		if j.Start != math.MinInt64 {
			if all.Start == math.MinInt64 {
				all.Start = j.Start
			}
			all.End = max(all.End, j.End)
		}
		for i, sensor := range j.Sensors {
			all.addSensor(sensor, &j.seen[i])
		}
		for _, s := range j.Series {
			all.addParts(s.Key, s.Family, s.Parts...)
		}
	}
	return all
}

// add adds a sensor's part.
func (j *Joint) add(sensor int, from *Window) {
	j.addSensor(sensor, &from.Span)
	for i := range from.Series {
		s := &from.Series[i]
		j.addParts(s.Key, s.Family, Part{Sensor: sensor, Series: s})
	}
}

func (j *Joint) addSensor(sensor int, part *Span) {
	at, found := slices.BinarySearch(j.Sensors, sensor)
	if !found {
		j.Sensors, j.seen = slices.Insert(j.Sensors, at, sensor), slices.Insert(j.seen, at, *part)
		return
	}
	all := &j.seen[at]
	all.SeenFrom, all.SeenTo = min(all.SeenFrom, part.SeenFrom), max(all.SeenTo, part.SeenTo)
}

func (j *Joint) addParts(key, family string, parts ...Part) {
	at := slices.IndexFunc(j.Series, func(s JointSeries) bool { return s.Key == key && s.Family == family })
	if at < 0 {
		at = len(j.Series)
		j.Series = append(j.Series, JointSeries{Key: key, Family: family})
	}
	j.Series[at].Parts = append(j.Series[at].Parts, parts...)
}

// Missing returns which of the sensors do not have the window.
func (j *Joint) Missing(sensors []string) (missing []string) {
	for i, name := range sensors {
		if _, found := slices.BinarySearch(j.Sensors, i); !found {
			missing = append(missing, name)
		}
	}
	return missing
}

// Joint writes a window: the union of the sensors' parts. It reads their files twice. It
// returns errors of Merge and of writing.
func (w *Writer) Joint(ctx context.Context, j *Joint) error {
	if err := w.Window(j.Span()); err != nil {
		return err
	}
	for i := range j.Series {
		if err := w.union(ctx, &j.Series[i]); err != nil {
			return err
		}
	}
	return nil
}

// union writes the union of the parts of a series.
func (w *Writer) union(ctx context.Context, s *JointSeries) error {
	first, err := unite(ctx, s.Parts, 0, false)
	if err != nil {
		return err
	}
	packets := uint64(0)
	for _, p := range s.Parts {
		packets = distinct.Sum(packets, p.Series.Packets)
	}
	c := distinct.Contents{Width: cmp.Or(first.kind.Width, s.Parts[0].Series.width)}
	if first.any {
		c.Sketch = &first.all
		return w.Series(s.Key, s.Family, packets, c)
	}
	c.Count = first.words
	c.Words = func(yield func(uint64) bool) {
		again := union{ctx: ctx, parts: s.Parts, yield: yield, sketched: first.sketched}
		err = again.sets()
	}
	return errors.Join(w.Series(s.Key, s.Family, packets, c), err)
}

// Span is a window and the part of it that was counted, in nanoseconds since 1970 UTC.
type Span struct {
	Start, End       int64 // the end excluded
	SeenFrom, SeenTo int64 // Start and End of a window that was counted whole
}

// Whole returns the span of a window that was counted whole.
func Whole(start, end int64) Span { return Span{start, end, start, end} }

// Cut says which part of the window was not counted: its "start", its "end", "both", or "" for
// none.
func (s *Span) Cut() string {
	start, end := s.SeenFrom > s.Start, s.SeenTo < s.End
	switch {
	case start && end:
		return "both"
	case start:
		return "start"
	case end:
		return "end"
	}
	return ""
}

// record returns the content of the window's record, which names an end of the counted part
// only where the window is cut.
func (s *Span) record() *windowRecord {
	r := &windowRecord{Start: s.Start, End: s.End}
	if s.SeenFrom > s.Start {
		r.SeenFrom = &s.SeenFrom
	}
	if s.SeenTo < s.End {
		r.SeenTo = &s.SeenTo
	}
	return r
}

// span is the inverse of record.
func (r *windowRecord) span() Span {
	return Span{r.Start, r.End, *cmp.Or(r.SeenFrom, &r.Start), *cmp.Or(r.SeenTo, &r.End)}
}
