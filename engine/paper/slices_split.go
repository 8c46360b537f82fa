package paper

import "fmt"

// NewSplit returns a Bloom filter sliced in the general way (section 3.3,
// Proposition 2 of the paper at [Sliced]): k1 hash functions each select one of S
// slices, in each of which the element has k2 = K/k1 bits. k1 has to divide K.
// Errors wrap [ErrParameter].
//
// Readings taken:
//
//   - The k1 functions may select the same slice, as those of vertical slicing do,
//     which is said to be k1 = K.
//   - All K offsets come from functions of their own ("we apply k1 k2 hash
//     functions"). With the same k2 offsets in every selected slice, elements would
//     share their bits in groups, and vertical slicing would not be that of
//     Definition 2.
func NewSplit(c SlicedConfig, k1 int) (*Sliced, error) {
	if err := requireRange("K", c.K, 1, maxHashes); err != nil {
		return nil, err
	}
	if err := requireRange("k1", k1, 1, c.K); err != nil {
		return nil, err
	}
	if c.K%k1 != 0 {
		return nil, fmt.Errorf("paper: k1 is %d, must divide K, which is %d: %w", k1, c.K, ErrParameter)
	}
	k2 := c.K / k1
	return c.newSliced(1, func(size uint64) arrangement {
		return func(addresses []bitAddress, pos []uint64) {
			for i, p := range pos {
				selected := pos[i-i%k2] / size
				addresses[i] = bitAddress{slice: int(selected), offset: p % size}
			}
		}
	})
}
