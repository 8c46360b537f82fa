// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"cmp"
	"errors"
	"io"
	"path/filepath"

	"github.com/flowdedup/flowdedup/capture"
)

// hasTables is a Source that knows sections and interfaces before its first batch.
type hasTables interface {
	tables() ([]capture.Interface, []capture.Section)
}

var (
	_ hasTables = (*reader)(nil)
	_ hasTables = (*concat)(nil)
	_ hasTables = (*merger)(nil)
)

// multiSource numbers the inputs, sections, interfaces and points of several sources
// in one sequence each.
type multiSource struct {
	sources  []capture.Source
	names    []string
	maps     []renumbering // of each source
	ifaces   []capture.Interface
	sections []capture.Section
	origins  []*uint32      // capture.Interface.Origin, by the new number of a point
	ended    []*renumbering // of sources that have ended, and that none continues
	errs     []error        // of sources that failed
	end      error          // the error of Next when all have ended
	closed   bool
}

// renumbering maps the numbers of one source to the new numbers.
type renumbering struct {
	input    int    // of its input 0
	name     string // of interfaces of pcap without a name; empty for the input's
	sections []uint32
	ifaces   []uint32
	points   map[uint32]uint32
	part     part
}

func newMultiSource(sources []capture.Source) multiSource {
	ms := multiSource{sources: sources, maps: make([]renumbering, len(sources))}
	for i, src := range sources {
		ms.maps[i] = renumbering{input: len(ms.names), points: map[uint32]uint32{}, part: part{last: capture.NoTime}}
		if names := src.Inputs(); len(names) > 0 {
			ms.names, ms.maps[i].part.name = append(ms.names, names...), names[0]
		}
	}
	// The first batch has the headers of all inputs: a writer chooses a format by these.
	for i, src := range sources {
		if t, ok := src.(hasTables); ok {
			ifaces, sections := t.tables()
			ms.extend(&ms.maps[i], ifaces, sections)
		}
	}
	return ms
}

// extend numbers new entries of a source's tables.
func (ms *multiSource) extend(m *renumbering, ifaces []capture.Interface, sections []capture.Section) {
	for _, s := range sections[min(len(m.sections), len(sections)):] {
		s.Input += m.input
		m.sections = append(m.sections, uint32(len(ms.sections)))
		ms.sections = append(ms.sections, s)
	}
	for _, f := range ifaces[min(len(m.ifaces), len(ifaces)):] {
		point, ok := m.points[f.CapturePoint]
		if !ok {
			point = uint32(len(ms.origins))
			m.points[f.CapturePoint] = point
			ms.origins = append(ms.origins, ms.describe(&m.part, f, point, sections[f.Section].Format))
		}
		f.Section, f.CapturePoint, f.Origin = m.sections[f.Section], point, ms.origins[point]
		if section := &ms.sections[f.Section]; section.Format == capture.FormatPcap && f.Name == "" {
			f.Name = cmp.Or(m.name, filepath.Base(ms.names[section.Input]))
		}
		m.ifaces = append(m.ifaces, uint32(len(ms.ifaces)))
		ms.ifaces = append(ms.ifaces, f)
	}
}

func (ms *multiSource) tables() ([]capture.Interface, []capture.Section) {
	return ms.ifaces[:len(ms.ifaces):len(ms.ifaces)], ms.sections[:len(ms.sections):len(ms.sections)]
}

// outcome returns the error of Next when all sources have ended: io.EOF if none failed.
func (ms *multiSource) outcome() error {
	if ms.end == nil {
		switch len(ms.errs) {
		case 0:
			ms.end = io.EOF
		case 1:
			ms.end = ms.errs[0]
		default:
			ms.end = errors.Join(ms.errs...)
		}
	}
	return ms.end
}

// Inputs returns the names of all inputs, source after source.
func (ms *multiSource) Inputs() []string { return ms.names }

// Offset returns the sums over all sources. The total is 0 if the size of any source is unknown.
func (ms *multiSource) Offset() (done, total int64) {
	known := true
	for _, src := range ms.sources {
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

// Size returns the sum over all sources, or 0 if the size of any source is unknown.
func (ms *multiSource) Size() int64 {
	total := int64(0)
	for _, src := range ms.sources {
		n := src.Size()
		if n == 0 {
			return 0
		}
		total += n
	}
	return total
}

// Close closes all sources.
func (ms *multiSource) Close() error {
	if ms.closed {
		return nil
	}
	ms.closed = true
	var errs []error
	for _, src := range ms.sources {
		errs = append(errs, src.Close())
	}
	return errors.Join(errs...)
}

// concat is the Source of several sources in turn.
type concat struct {
	multiSource
	current int
}

// Concat returns the packets of all sources, source by source, without copying them.
// It renumbers sections, interfaces and capture points. The tables of the first batch have the
// headers of all inputs. Sources may continue others, as with Merge.
//
// A source that fails does not stop the others. The error of the source then takes the
// place of io.EOF at the end, or errors.Join of several. The result owns the sources: its
// Close closes them.
func Concat(sources []capture.Source) capture.Source {
	return &concat{multiSource: newMultiSource(sources)}
}

// Next passes on the next batch of the current source; see Source.
func (c *concat) Next(b *capture.Batch) error {
	for c.current < len(c.sources) {
		err := c.sources[c.current].Next(b)
		if err == nil {
			c.renumber(b)
			return nil
		}
		if err != io.EOF {
			c.errs = append(c.errs, err)
		}
		c.finish(&c.maps[c.current])
		c.current++
	}
	b.Reset()
	b.Interfaces, b.Sections = c.tables()
	return c.outcome()
}

// renumber turns the current source's numbers in b into the numbers of the result.
func (c *concat) renumber(b *capture.Batch) {
	m := &c.maps[c.current]
	c.extend(m, b.Interfaces, b.Sections)
	if len(b.Frames) > 0 && !m.part.begun {
		c.begin(m, b.Frames[0].Time)
	}
	m.part.last = lastTime(b.Frames, m.part.last)
	for i := range b.Frames {
		f := &b.Frames[i]
		f.Interface = m.ifaces[f.Interface]
	}
	for i := range b.Blocks {
		k := &b.Blocks[i]
		k.Section = m.sections[k.Section]
	}
	b.Interfaces, b.Sections = c.tables()
}
