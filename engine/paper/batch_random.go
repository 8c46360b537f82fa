package paper

import "math/rand/v2"

// lookahead is a filter's generator whose coming values can be looked at before
// they are drawn, so that the words they choose can be touched.
type lookahead struct {
	*rand.Rand
	source *rand.PCG
	// peeked draws from peekedSource, which is set to the state of source.
	peeked       *rand.Rand
	peekedSource *rand.PCG
}

// newLookahead returns a generator with the values of [newRandom].
func newLookahead(seed uint64) lookahead {
	source, peekedSource := newSource(seed), new(rand.PCG)
	return lookahead{Rand: rand.New(source), source: source, peeked: rand.New(peekedSource), peekedSource: peekedSource}
}

// peek returns a generator of the values to come. They are still to come
// afterwards. It is good until the next call.
func (f *lookahead) peek() *rand.Rand {
	*f.peekedSource = *f.source
	return f.peeked
}
