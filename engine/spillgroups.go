package engine

import (
	"math/bits"
	"slices"
)

// spillLines is how many lines share a set of words that found theirs full: few enough
// for a set to be small, and many enough for all headers of sets to stay in a cache.
const spillLines = 1024

// spillGroups are the words that found their line full: a set for each spillLines lines.
type spillGroups[W spillWord] struct {
	sets   []spillSet[W]
	shift  uint // leaves the number of a word's set
	factor uint64
	bytes  int // that the sets' tables take
}

// newSpillGroups makes the sets for rows of a power of two of lines, whose numbers are
// the top bits of words of so many bits.
func newSpillGroups[W spillWord](lines int, width uint, factor uint64) spillGroups[W] {
	groups := max(1, lines/spillLines)
	return spillGroups[W]{
		sets: make([]spillSet[W], groups), shift: width + 1 - uint(bits.Len(uint(groups))), factor: factor,
	}
}

func (g *spillGroups[W]) testAndSet(y W) bool {
	set := &g.sets[y>>g.shift]
	if 2*set.count >= len(set.table) {
		before := set.bytes()
		set.grow(g.factor)
		g.bytes += set.bytes() - before
	}
	return set.testAndSet(y, g.factor)
}

// drop forgets a set.
func (g *spillGroups[W]) drop(group int) {
	g.bytes -= g.sets[group].bytes()
	g.sets[group] = spillSet[W]{}
}

// words returns the words of all sets.
func (g *spillGroups[W]) words() []W {
	var words []W
	for i := range g.sets {
		words = slices.AppendSeq(words, g.sets[i].all)
	}
	return words
}
