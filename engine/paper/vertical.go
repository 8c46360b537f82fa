package paper

// NewVertical returns a vertically sliced Bloom filter (Definition 2 of the paper
// at [Sliced]): slice i of one large filter is its range of bits from i m/S on,
// floor(m/S) of them. It is [NewSplit] with k1 = K. Without failures its verdicts are
// those of the unsliced filter of the same bits, S = 1, element for element. Errors
// wrap [ErrParameter].
func NewVertical(c SlicedConfig) (*Sliced, error) {
	return NewSplit(c, c.K)
}
