// SPDX-License-Identifier: Apache-2.0

package countfile

import (
	"context"
	"fmt"
	"math"

	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/distinct"
)

// Part is a sensor's share of a window, key and family. A sensor may have several.
type Part struct {
	Sensor int // from 0
	Series *Series
}

// Merged is the union of several sensors.
type Merged struct {
	engine.Counts // of the union
	Packets       uint64
	// Sensors has the counts of each sensor, Only the number of elements that no other
	// sensor has, and Both the number that two have: Both[a][b] with a < b. They are nil
	// unless asked for.
	Sensors, Only []distinct.Estimate
	Both          [][]distinct.Estimate
}

// The methods of Merged.
const (
	methodSets   = "merged-sets"
	methodSketch = "merged-sketch"
)

// union unites the parts of the given number of sensors.
type union struct {
	ctx     context.Context
	parts   []Part
	kind    distinct.Contents
	overlap bool
	yield   func(word uint64) bool // gets all words of sets if it is not nil

	words    uint64 // in the sets together
	sketched []bool // by sensor: it has a sketch
	any      bool   // any sensor has a sketch
	all      distinct.Sketch
	own      []distinct.Sketch // sketch of each sensor, where overlaps need them
	held     []uint64          // words of sets by sensor
	only     []uint64
	both     [][]uint64
}

// Merge unites the parts of the given number of sensors, at least one, of one window, key
// and family. With overlap it compares the sensors. It takes 128 KiB for each part, and
// 16 KiB for each sensor where any sensor has a sketch. Bounds of differences of sketches are
// the extremes of the bounds of both, so they are wide. Errors wrap ErrInvalid, or come
// from reading and ctx.
func Merge(ctx context.Context, parts []Part, sensors int, overlap bool) (Merged, error) {
	u, err := unite(ctx, parts, sensors, overlap)
	if err != nil {
		return Merged{}, err
	}
	return u.merged(), nil
}

// unite goes through all parts. sensors may be more than the parts have, or 0.
func unite(ctx context.Context, parts []Part, sensors int, overlap bool) (*union, error) {
	for _, p := range parts {
		sensors = max(sensors, p.Sensor+1)
	}
	u := &union{ctx: ctx, parts: parts, overlap: overlap, sketched: make([]bool, sensors)}
	for _, p := range parts {
		s := p.Series
		if s.Bytes == 0 {
			continue // an empty set has words of any width
		}
		if u.kind.Width != 0 && s.width != u.kind.Width {
			return nil, s.file.invalid(s.offset, "words of %d bits, where others have %d", s.width, u.kind.Width)
		}
		u.kind.Width = s.width
		u.sketched[p.Sensor] = u.sketched[p.Sensor] || p.Series.sketch
		u.any = u.any || p.Series.sketch
	}
	if overlap {
		u.held, u.only, u.both = make([]uint64, sensors), make([]uint64, sensors), make([][]uint64, sensors)
		for i := range u.both {
			u.both[i] = make([]uint64, sensors)
		}
		if u.any {
			u.own = make([]distinct.Sketch, sensors)
		}
	}
	if err := u.sketches(); err != nil {
		return nil, err
	}
	return u, u.sets()
}

// sketches merges the sketches.
func (u *union) sketches() error {
	for _, p := range u.parts {
		if !p.Series.sketch {
			continue
		}
		one, err := p.Series.readSketch()
		if err != nil {
			return err
		}
		u.all.Merge(one)
		if u.own != nil {
			u.own[p.Sensor].Merge(one)
		}
	}
	return nil
}

func (s *Series) readSketch() (*distinct.Sketch, error) {
	content, err := s.file.content(nil, s.offset)
	if err != nil {
		return nil, err
	}
	one := new(distinct.Sketch)
	if err := one.Restore(content); err != nil {
		return nil, s.file.invalid(s.offset, "%v", err)
	}
	return one, nil
}

// sets goes through the words of all sets, each once.
func (u *union) sets() error {
	var cursors []*cursor
	for _, p := range u.parts {
		if p.Series.sketch || p.Series.count == 0 {
			continue
		}
		c := newCursor(p.Sensor, p.Series)
		if err := c.next(u.ctx); err != nil {
			return err
		}
		cursors = append(cursors, c)
	}
	if len(cursors) == 0 {
		return nil
	}
	t := newTournament(cursors)
	least := cursors[0].series.least()
	last := make([]uint64, len(u.sketched)) // the word of each sensor, by its number
	var holders []int
	for {
		key := cursors[t.winner].key
		if key == exhausted {
			return nil
		}
		u.words++
		holders = holders[:0]
		for cursors[t.winner].key == key {
			c := cursors[t.winner]
			if last[c.sensor] != u.words {
				last[c.sensor] = u.words
				holders = append(holders, c.sensor)
			}
			if err := c.next(u.ctx); err != nil {
				return err
			}
			t.replay()
		}
		if u.any || u.overlap {
			u.note(key+least, holders)
		}
		if u.yield != nil && !u.yield(key+least) {
			return nil
		}
	}
}

// note records a word in all results except the number of words.
func (u *union) note(word uint64, holders []int) {
	var hash [1]uint64
	if u.any {
		hash[0] = u.kind.Hash(word)
		u.all.Add(nil, hash[:])
	}
	if !u.overlap {
		return
	}
	if len(holders) == 1 {
		u.only[holders[0]]++
	}
	for i, a := range holders {
		u.held[a]++
		if u.own != nil {
			u.own[a].Add(nil, hash[:])
		}
		for _, b := range holders[:i] {
			u.both[min(a, b)][max(a, b)]++
		}
	}
}

// merged returns the result.
func (u *union) merged() (m Merged) {
	e := distinct.Exactly(u.words)
	m.Method = methodSets
	if u.any {
		e, m.Method = u.all.Estimate().AtLeast(u.words), methodSketch
	}
	m.Distinct, m.Low, m.High = e.Distinct, e.Low, e.High
	for _, p := range u.parts {
		m.Packets = distinct.Sum(m.Packets, p.Series.Packets)
		m.MemoryBytes += int(p.Series.Bytes)
	}
	if u.kind.Width == 64 && !u.any {
		m.FPR = math.Ldexp(float64(u.words), -64)
	}
	if u.overlap {
		u.compare(&m, e)
	}
	return m
}

// compare computes the overlaps of the sensors, given the union of all.
func (u *union) compare(m *Merged, all distinct.Estimate) {
	n := len(u.sketched)
	m.Sensors, m.Only, m.Both = make([]distinct.Estimate, n), make([]distinct.Estimate, n), make([][]distinct.Estimate, n)
	for a := range n {
		m.Sensors[a] = distinct.Exactly(u.held[a])
		if u.sketched[a] {
			m.Sensors[a] = u.own[a].Estimate().AtLeast(u.held[a])
		}
	}
	for a := range n {
		m.Only[a], m.Both[a] = distinct.Exactly(u.only[a]), make([]distinct.Estimate, n)
		if u.any {
			m.Only[a] = all.Minus(u.others(a)).Within(m.Sensors[a])
		}
		for b := a + 1; b < n; b++ {
			m.Both[a][b] = distinct.Exactly(u.both[a][b])
			if u.sketched[a] || u.sketched[b] {
				pair := u.own[a]
				pair.Merge(&u.own[b])
				both := m.Sensors[a].Plus(m.Sensors[b]).Minus(pair.Estimate())
				m.Both[a][b] = both.Within(m.Sensors[a]).Within(m.Sensors[b])
			}
		}
	}
}

// others estimates the union of all sensors but one.
func (u *union) others(one int) distinct.Estimate {
	var s distinct.Sketch
	for i := range u.own {
		if i != one {
			s.Merge(&u.own[i])
		}
	}
	return s.Estimate()
}

const (
	// OfSetting is the name of the setting that lists the keys that are counted.
	OfSetting = "of"
	// KeySetting is the name of the setting whose value distinguishes secret keys.
	KeySetting = "key"
	// ZoneSetting is the name of the setting with the time zone in which windows begin.
	ZoneSetting = "tz"
)

// Differ returns the reason why windows of two files cannot be merged, or nil.
func Differ(a, b *File) error {
	for i := range max(len(a.Settings), len(b.Settings)) {
		if i >= len(a.Settings) || i >= len(b.Settings) || a.Settings[i].Name != b.Settings[i].Name {
			return fmt.Errorf("%s has other settings than %s: they were saved by other versions", b.Name, a.Name)
		}
		x, y := a.Settings[i], b.Settings[i]
		if x.Value != y.Value && x.Name == KeySetting {
			return fmt.Errorf("%s was saved under another --key than %s: all sensors need the same one", b.Name, a.Name)
		}
		if x.Value != y.Value {
			return fmt.Errorf("%s was saved with --%s %s, %s with --%s %s", b.Name, y.Name, y.Value, a.Name, x.Name, x.Value)
		}
	}
	return nil
}
