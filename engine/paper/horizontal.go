package paper

// NewHorizontal returns a horizontally sliced Bloom filter (Definition 1 of the
// paper at [Sliced]): an additional hash function H_S chooses one of S basic Bloom
// filters of floor(m/S) bits, in which the element has all its K bits. It is
// [NewSplit] with k1 = 1. A failed slice leaves its elements without any bit, so
// AtLeast = 0 reports them as duplicates, and anything above as distinct. Errors wrap
// [ErrParameter].
func NewHorizontal(c SlicedConfig) (*Sliced, error) {
	return NewSplit(c, 1)
}
