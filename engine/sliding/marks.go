package sliding

import "github.com/flowdedup/flowdedup/engine/internal/bitset"

// marks is where a call tells of the elements that were seen before: a bit for each that was
// seen at least so lately. bits may be nil.
type marks struct {
	bits  []uint64
	least recency
}

// recency is how lately an element was seen.
type recency uint8

const (
	unseen     recency = iota // not within the window
	seenWithin                // within the window
	seenInStep                // in the same step
)

// clear begins a call with so many elements.
func (m marks) clear(elements int) {
	if m.bits != nil {
		bitset.Clear(m.bits, elements)
	}
}

func (m marks) mark(place uint32, s recency) {
	if m.bits != nil && s >= m.least {
		m.bits[place/64] |= 1 << (place % 64)
	}
}

// mark4 enters four places, unless they are not one behind the other in one word.
func (m marks) mark4(places []uint32, s recency) bool {
	if m.bits == nil || s < m.least {
		return true
	}
	first := places[0]
	if places[3]-first != 3 || first%64 > 60 {
		return false
	}
	m.bits[first/64] |= 0xF << (first % 64)
	return true
}
