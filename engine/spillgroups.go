package engine

import "math/bits"

// spillGroups are the words that found their line full, in sets for so many lines each.
type spillGroups[W spillWord] struct {
	sets   []spillSet[W]
	shift  uint // leaves the number of a word's set
	factor uint64
	dated  bool // words have dates
	bytes  int  // that the sets' tables take
}

// newSpillGroups makes a number of sets, a power of two, for words of so many bits, the
// top ones of which are the number of their line.
func newSpillGroups[W spillWord](groups int, width uint, factor uint64, dated bool) spillGroups[W] {
	return spillGroups[W]{
		sets: make([]spillSet[W], groups), shift: width + 1 - uint(bits.Len(uint(groups))), factor: factor, dated: dated,
	}
}

// testAndSet adds a word without a date, and reports whether it was there.
func (g *spillGroups[W]) testAndSet(y W) bool {
	set := &g.sets[y>>g.shift]
	before := set.bytes()
	known := set.testAndSet(y, g.factor)
	g.bytes += set.bytes() - before
	return known
}

// dateOf adds a word other than 0, and returns where its date is and whether the word was there.
// Words must have dates.
func (g *spillGroups[W]) dateOf(y W) (date *uint16, known bool) {
	set := &g.sets[y>>g.shift]
	before := set.bytes()
	place, known := set.enter(y, g.factor, true)
	g.bytes += set.bytes() - before
	return &set.dates[place], known
}

// take removes a set and returns it.
func (g *spillGroups[W]) take(group int) spillSet[W] {
	set := g.sets[group]
	g.bytes -= set.bytes()
	g.sets[group] = spillSet[W]{}
	return set
}

// words returns the words of all sets, each with its date behind it if words have dates.
func (g *spillGroups[W]) words() []W {
	var words []W
	for i := range g.sets {
		for y, date := range g.sets[i].all {
			words = append(words, y)
			if g.dated {
				words = append(words, W(date))
			}
		}
	}
	return words
}
