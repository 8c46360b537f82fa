package engine

import (
	"math/bits"
	"slices"
)

// spillGroups are the words that found their line full, in sets for so many lines each.
type spillGroups[W spillWord] struct {
	sets   []spillSet[W]
	shift  uint // leaves the number of a word's set
	factor uint64
	bytes  int // that the sets' tables take
}

// newSpillGroups makes a number of sets, a power of two, for words of so many bits, the
// top ones of which are the number of their line.
func newSpillGroups[W spillWord](groups int, width uint, factor uint64) spillGroups[W] {
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

// take removes a set and returns it.
func (g *spillGroups[W]) take(group int) spillSet[W] {
	set := g.sets[group]
	g.bytes -= set.bytes()
	g.sets[group] = spillSet[W]{}
	return set
}

// words returns the words of all sets.
func (g *spillGroups[W]) words() []W {
	var words []W
	for i := range g.sets {
		words = slices.AppendSeq(words, g.sets[i].all)
	}
	return words
}
