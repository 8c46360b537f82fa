package engine

import "math/bits"

// spillLines is how many lines share a set of words that found theirs full: those lines
// and their set move to wider rows together.
const spillLines = 128

// spillGroups are the words that found their line full: a set for each spillLines
// lines, nil before the first word.
type spillGroups[W spillWord] struct {
	sets   []*spillSet[W]
	shift  uint // leaves the number of a word's set
	factor uint64
	bytes  int // that the sets' tables take
}

// newSpillGroups makes the sets for rows of a power of two of lines, whose numbers are
// the top bits of words of so many bits.
func newSpillGroups[W spillWord](lines int, width uint, factor uint64) spillGroups[W] {
	groups := max(1, lines/spillLines)
	return spillGroups[W]{
		sets: make([]*spillSet[W], groups), shift: width + 1 - uint(bits.Len(uint(groups))), factor: factor,
	}
}

func (g *spillGroups[W]) testAndSet(y W) bool {
	set := &g.sets[y>>g.shift]
	if *set == nil {
		*set = &spillSet[W]{factor: g.factor}
	}
	before := (*set).bytes()
	known := (*set).testAndSet(y)
	g.bytes += (*set).bytes() - before
	return known
}

// take removes a set. It is nil if there was none.
func (g *spillGroups[W]) take(group int) *spillSet[W] {
	set := g.sets[group]
	g.sets[group] = nil
	if set != nil {
		g.bytes -= set.bytes()
	}
	return set
}

// words returns the words of all sets.
func (g *spillGroups[W]) words() []W {
	var words []W
	for _, set := range g.sets {
		if set != nil {
			words = set.appendTo(words)
		}
	}
	return words
}
