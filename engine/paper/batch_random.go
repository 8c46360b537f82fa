package paper

import "math/rand/v2"

// foreseen is a filter's generator whose coming values can be looked at before
// they are drawn, so that the words they choose can be touched.
type foreseen struct {
	*rand.Rand
	source *rand.PCG
	// coming draws from copied, which is set to the state of source.
	coming *rand.Rand
	copied *rand.PCG
}

// newForeseen returns a generator with the values of [newRandom].
func newForeseen(seed uint64) foreseen {
	source, copied := newSource(seed), new(rand.PCG)
	return foreseen{Rand: rand.New(source), source: source, coming: rand.New(copied), copied: copied}
}

// ahead returns a generator of the values to come. They are still to come
// afterwards. It is good until the next call.
func (f *foreseen) ahead() *rand.Rand {
	*f.copied = *f.source
	return f.coming
}
