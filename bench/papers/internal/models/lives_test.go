// SPDX-License-Identifier: Apache-2.0

package models

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/sizing/sizingtest"
)

const livesOctaves = 40 // longer lives never end

// lifetimes are in elements.
var lifetimes = func() (all [livesOctaves*livesPerOctave + 1]uint64) {
	for i := range all {
		all[i] = uint64(math.Exp2(float64(i) / livesPerOctave))
	}
	return all
}()

// liveMeter counts the beginnings of lives of a sample of the elements, as [sizing.Tracker] counts
// repeats.
type liveMeter struct {
	limit     int
	shift     uint
	began     map[digest.Digest]*[len(lifetimes)]uint64 // positions
	sightings float64
	begun     [len(lifetimes)]float64
}

// add takes the next sighting of an element. Positions begin at 1.
func (m *liveMeter) add(d digest.Digest, position uint64) {
	if d[0]&(1<<m.shift-1) != 0 {
		return
	}
	weight := float64(uint64(1) << m.shift)
	m.sightings += weight
	began, found := m.began[d]
	if !found {
		began = new([len(lifetimes)]uint64)
		m.began[d] = began
	}
	for i, life := range lifetimes {
		if !found || position-began[i] > life {
			began[i] = position
			m.begun[i] += weight
		} else if life >= position {
			break // no longer life has ended
		}
	}
	for len(m.began) > m.limit && m.shift < 63 {
		m.shift++
		maps.DeleteFunc(m.began, func(d digest.Digest, _ *[len(lifetimes)]uint64) bool { return d[0]&(1<<m.shift-1) != 0 })
	}
}

// result returns the shares, nil if nothing was counted.
func (m *liveMeter) result() Lives {
	if m.sightings == 0 {
		return nil
	}
	all := slices.Clone(m.begun[:])
	for i := range all {
		all[i] /= m.sightings
	}
	return all
}

// lives measures the lives of a sample of a stream's elements.
func lives(elements []digest.Digest) Lives {
	m := liveMeter{limit: 1 << 14, began: map[digest.Digest]*[len(lifetimes)]uint64{}}
	for at, d := range elements {
		m.add(d, uint64(at)+1)
	}
	return m.result()
}

// TestLiveMeter compares the shares of lives with those that a map of each length of life gives:
// equal if all elements are counted, and close if a sample is.
func TestLiveMeter(t *testing.T) {
	s := sizingtest.NewStream(60_000, 0.3, 1<<12, 7)
	want := make(Lives, len(lifetimes))
	for i, life := range lifetimes {
		began := map[digest.Digest]uint64{}
		for at, d := range s.Elements {
			if last, found := began[d]; !found || uint64(at)-last > life {
				began[d] = uint64(at)
				want[i] += 1 / float64(len(s.Elements))
			}
		}
	}
	for _, c := range []struct {
		limit int
		off   float64
	}{{len(s.Elements), 1e-9}, {4000, 0.05}} {
		m := liveMeter{limit: c.limit, began: map[digest.Digest]*[len(lifetimes)]uint64{}}
		for at, d := range s.Elements {
			m.add(d, uint64(at)+1)
		}
		if len(m.began) > c.limit {
			t.Errorf("%d elements are counted, limit %d", len(m.began), c.limit)
		}
		got := m.result()
		for i := range want {
			if math.Abs(got[i]/want[i]-1) > c.off {
				t.Errorf("limit %d, lives of %d elements: share %.4f, want %.4f", c.limit, lifetimes[i], got[i], want[i])
			}
		}
		if err := got.check(); err != nil {
			t.Errorf("limit %d: %v", c.limit, err)
		}
	}
}
