// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"cmp"
	"slices"
	"time"
)

// Cell counts the copies that were seen first at one point and then at another.
type Cell struct {
	First string `json:"first"`
	Copy  string `json:"copy"`
	Count uint64 `json:"duplicates"`
	Delay Delays `json:"delay_ns"`
}

// SortCells orders cells by count, the largest first, then by name.
func SortCells(cells []Cell) {
	slices.SortFunc(cells, func(a, b Cell) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.First, b.First), cmp.Compare(a.Copy, b.Copy))
	})
}

const (
	// mostCells bounds the pairs of points that a matrix counts apart.
	mostCells = 64
	// longest is the longest delay that a matrix reports.
	longest = int64(10 * time.Second)
)

// matrix counts copies by the numbers of both points, for the first pairs of them. The
// zero value is ready for use. It takes 2 MiB at most.
type matrix struct {
	cells map[[2]uint32]*Histogram
}

// add counts a copy that was seen delay nanoseconds after its original.
func (m *matrix) add(first, copied uint32, delay uint64) {
	key := [2]uint32{first, copied}
	h := m.cells[key]
	if h == nil {
		if len(m.cells) >= mostCells {
			return
		}
		if m.cells == nil {
			m.cells = map[[2]uint32]*Histogram{}
		}
		h = NewHistogram(longest)
		m.cells[key] = h
	}
	h.Add(delay, 1)
}

// list lists the counts, the largest first. Points with equal names count as one.
func (m *matrix) list(names *Names) []Cell {
	named := map[[2]string]*Histogram{}
	for key, h := range m.cells {
		at := [2]string{names.Name(key[0]), names.Name(key[1])}
		if named[at] == nil {
			named[at] = NewHistogram(longest)
		}
		named[at].Merge(h)
	}
	all := make([]Cell, 0, len(named))
	for at, h := range named {
		all = append(all, Cell{First: at[0], Copy: at[1], Count: h.Count(), Delay: h.Delays()})
	}
	SortCells(all)
	return all
}
