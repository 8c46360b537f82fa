package paper

// NewHVDiced returns an h-v diced Bloom filter (section 3.3 of the paper at
// [Sliced]): S horizontal slices, each of which is sliced vertically into inner
// ones, S'. Slice number i S' + j is part j of horizontal slice i. Errors wrap
// [ErrParameter].
func NewHVDiced(c SlicedConfig, inner int) (*Sliced, error) {
	return c.newSliced(inner, func(size uint64) arrangement {
		return func(addresses []bitAddress, pos []uint64) {
			outer := pos[0] / size / uint64(inner)
			for i, p := range pos {
				part := p / size % uint64(inner)
				addresses[i] = bitAddress{slice: int(outer*uint64(inner) + part), offset: p % size}
			}
		}
	})
}

// NewVHDiced returns a v-h diced Bloom filter (section 3.3 of the paper at
// [Sliced]): S vertical slices, each of which is sliced horizontally into inner
// ones, S'. Slice number i S' + j is part j of vertical slice i. Errors wrap
// [ErrParameter].
//
// Reading taken: each vertical slice chooses one of its parts for an element by a
// hash function of its own. One choice for all vertical slices would make the
// filter an h-v diced one with S and S' exchanged.
func NewVHDiced(c SlicedConfig, inner int) (*Sliced, error) {
	return c.newSliced(inner, func(size uint64) arrangement {
		outer := size * uint64(inner)
		return func(addresses []bitAddress, pos []uint64) {
			for i, p := range pos {
				chosen := pos[firstWithin(pos, p/outer, outer)] / size
				addresses[i] = bitAddress{slice: int(chosen), offset: p % size}
			}
		}
	})
}

// firstWithin returns the first of the positions that lies in the given slice
// of size bits; there is one. Its part of that slice is the choice for all.
func firstWithin(pos []uint64, slice, size uint64) int {
	i := 0
	for pos[i]/size != slice {
		i++
	}
	return i
}
