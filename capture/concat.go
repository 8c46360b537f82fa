package capture

import "io"

// concat is the Source of several one after another.
type concat struct {
	joined
	current int
}

// Concat returns the packets of all sources, one source after another, without
// copying them. Sections, interfaces and points are numbered through; what the
// headers of all inputs say is in the tables from the first batch on.
//
// A source that fails does not stop the others. In place of io.EOF the end
// is then the error of the source that failed, or errors.Join of several. The
// sources belong to the result, whose Close closes them.
func Concat(sources []Source) Source {
	return &concat{joined: newJoined(sources)}
}

// Next passes on the next batch of the current source; see Source.
func (c *concat) Next(b *Batch) error {
	for c.current < len(c.sources) {
		err := c.sources[c.current].Next(b)
		if err == nil {
			c.renumber(b)
			return nil
		}
		if err != io.EOF {
			c.errs = append(c.errs, err)
		}
		c.current++
	}
	b.Reset()
	b.Interfaces, b.Sections = c.tables()
	return c.outcome()
}

// renumber turns the current source's numbers in b into those of all.
func (c *concat) renumber(b *Batch) {
	c.learn(c.current, b.Interfaces, b.Sections)
	m := &c.maps[c.current]
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
