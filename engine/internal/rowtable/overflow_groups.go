package rowtable

import "math/bits"

// Overflow are the words that found their line full, in sets for so many lines each.
type Overflow[W Word] struct {
	Sets   []OverflowSet[W]
	shift  uint // leaves the number of a word's set
	factor uint64
	dated  bool // words have dates
	Bytes  int  // that the sets' tables take
}

// newOverflow makes a number of sets, a power of two, for words of so many bits, the
// top ones of which are the number of their line.
func newOverflow[W Word](groups int, width uint, factor uint64, dated bool) Overflow[W] {
	return Overflow[W]{
		Sets: make([]OverflowSet[W], groups), shift: width + 1 - uint(bits.Len(uint(groups))), factor: factor, dated: dated,
	}
}

// test adds a word without a date, and reports whether it was there.
func (g *Overflow[W]) TestAndSet(y W) bool {
	set := &g.Sets[y>>g.shift]
	before := set.bytes()
	known := set.testAndSet(y, g.factor)
	g.Bytes += set.bytes() - before
	return known
}

// DateOf adds a word other than 0, and returns where its date is and whether the word was there.
// Words must have dates.
func (g *Overflow[W]) DateOf(y W) (date *uint16, known bool) {
	set := &g.Sets[y>>g.shift]
	before := set.bytes()
	place, known := set.insert(y, g.factor, true)
	g.Bytes += set.bytes() - before
	return &set.dates[place], known
}

// remove removes a set and returns it.
func (g *Overflow[W]) remove(group int) OverflowSet[W] {
	set := g.Sets[group]
	g.Bytes -= set.bytes()
	g.Sets[group] = OverflowSet[W]{}
	return set
}

// words returns the words of all sets, each with its date behind it if words have dates.
func (g *Overflow[W]) words() []W {
	var words []W
	for i := range g.Sets {
		for y, date := range g.Sets[i].All {
			words = append(words, y)
			if g.dated {
				words = append(words, W(date))
			}
		}
	}
	return words
}
