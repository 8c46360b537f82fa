package capture

import (
	"errors"
	"io"
	"path/filepath"
)

// tabler is a Source that knows sections and interfaces before it has been read.
type tabler interface {
	tables() ([]Interface, []Section)
}

var (
	_ tabler = (*reader)(nil)
	_ tabler = (*concat)(nil)
	_ tabler = (*merger)(nil)
)

// joined numbers the inputs, sections, interfaces and points of several sources
// in one sequence each.
type joined struct {
	sources  []Source
	names    []string
	maps     []numbering // of each source
	ifaces   []Interface
	sections []Section
	points   uint32
	errs     []error // of sources that failed
	end      error   // what Next returns when all have ended
	closed   bool
}

// numbering holds the numbers that those of one source became.
type numbering struct {
	input    int // of its input 0
	sections []uint32
	ifaces   []uint32
	points   map[uint32]uint32
}

func newJoined(sources []Source) joined {
	j := joined{sources: sources, maps: make([]numbering, len(sources))}
	for i, src := range sources {
		j.maps[i] = numbering{input: len(j.names), points: map[uint32]uint32{}}
		j.names = append(j.names, src.Inputs()...)
	}
	// All that headers tell is known from the first batch on, so that a writer
	// can choose a format for all inputs.
	for i, src := range sources {
		if t, ok := src.(tabler); ok {
			ifaces, sections := t.tables()
			j.learn(i, ifaces, sections)
		}
	}
	return j
}

// learn numbers what is new in the tables of source i.
func (j *joined) learn(i int, ifaces []Interface, sections []Section) {
	m := &j.maps[i]
	for _, s := range sections[min(len(m.sections), len(sections)):] {
		s.Input += m.input
		m.sections = append(m.sections, uint32(len(j.sections)))
		j.sections = append(j.sections, s)
	}
	for _, f := range ifaces[min(len(m.ifaces), len(ifaces)):] {
		point, ok := m.points[f.Point]
		if !ok {
			point = j.points
			j.points++
			m.points[f.Point] = point
		}
		f.Section, f.Point = m.sections[f.Section], point
		if section := &j.sections[f.Section]; section.Format == FormatPcap && f.Name == "" {
			f.Name = filepath.Base(j.names[section.Input])
		}
		m.ifaces = append(m.ifaces, uint32(len(j.ifaces)))
		j.ifaces = append(j.ifaces, f)
	}
}

func (j *joined) tables() ([]Interface, []Section) {
	return j.ifaces[:len(j.ifaces):len(j.ifaces)], j.sections[:len(j.sections):len(j.sections)]
}

// outcome is what Next returns once all sources have ended: io.EOF if none of
// them failed.
func (j *joined) outcome() error {
	if j.end == nil {
		switch len(j.errs) {
		case 0:
			j.end = io.EOF
		case 1:
			j.end = j.errs[0]
		default:
			j.end = errors.Join(j.errs...)
		}
	}
	return j.end
}

// Inputs returns the names of all inputs, source after source.
func (j *joined) Inputs() []string { return j.names }

// Offset returns the sums over all sources. The total is 0 if one is unknown.
func (j *joined) Offset() (done, total int64) {
	known := true
	for _, src := range j.sources {
		d, t := src.Offset()
		done += d
		total += t
		known = known && t > 0
	}
	if !known {
		total = 0
	}
	return done, total
}

// Size returns the sum over all sources, or 0 if one is unknown.
func (j *joined) Size() int64 {
	total := int64(0)
	for _, src := range j.sources {
		n := src.Size()
		if n == 0 {
			return 0
		}
		total += n
	}
	return total
}

// Close closes all sources.
func (j *joined) Close() error {
	if j.closed {
		return nil
	}
	j.closed = true
	var errs []error
	for _, src := range j.sources {
		errs = append(errs, src.Close())
	}
	return errors.Join(errs...)
}
