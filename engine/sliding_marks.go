package engine

// marks is where a call tells of the elements that were seen before: a bit for each that was
// seen at least so lately. bits may be nil.
type marks struct {
	bits  []uint64
	least sighting
}

// sighting is how lately an element was seen.
type sighting uint8

const (
	unseen     sighting = iota // not within the window
	seenWithin                 // within the window
	seenInStep                 // in the same step
)

// clear begins a call with so many elements.
func (m marks) clear(elements int) {
	if m.bits != nil {
		clearBits(m.bits, elements)
	}
}

func (m marks) enter(place uint32, s sighting) {
	if m.bits != nil && s >= m.least {
		m.bits[place/64] |= 1 << (place % 64)
	}
}

// enter4 enters four places, unless they are not one behind the other in one word.
func (m marks) enter4(places []uint32, s sighting) bool {
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
