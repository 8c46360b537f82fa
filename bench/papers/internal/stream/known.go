package stream

// Known remembers exactly which elements came, one bit each.
type Known []uint64

// NewKnown returns an empty set of elements below n.
func NewKnown(n int) Known { return make(Known, (n+63)/64) }

// Add reports whether the element came before, and adds it.
func (k Known) Add(element uint64) (known bool) {
	word, bit := &k[element/64], uint64(1)<<(element%64)
	known = *word&bit != 0
	*word |= bit
	return known
}
