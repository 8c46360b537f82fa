package stream

// Stats describes a Filter and its work so far.
type Stats struct {
	Method string
	// Elements is how many came, and Seen how many of them were taken for seen.
	Elements, Seen uint64
	// Evicted counts fingerprints that were pushed out of their row by another one.
	// Filters of bits and cells do not know: 0.
	Evicted uint64
	// Cells is how many cells the lines have, and Occupied how many are not empty.
	Cells, Occupied uint64
	// Fill is Occupied over Cells.
	Fill float64
	// Load is how many cells were written for elements that were not seen, over
	// Cells. Memory is written over from about 1 on.
	Load float64
	// FPR estimates the probability that an element that never came is taken for
	// seen, now.
	FPR float64
	// FPRBound is what FPR never exceeds, or comes to on a long stream with methods
	// that keep no chosen rate.
	FPRBound float64
	// MemoryBytes is the size of the lines and of the kernel's tables.
	MemoryBytes int
}

// Stats returns what the filter did so far. It takes constant time: cells are counted
// as they change.
func (s *Filter) Stats() Stats {
	c := s.kernel.counts()
	cells := uint64(s.params.lines) * uint64(s.params.lineCells())
	fill := float64(c.occupied) / float64(cells)
	bound := s.params.bound()
	return Stats{
		Method:      methodTable[s.params.method].name,
		Elements:    s.elements,
		Seen:        s.seen,
		Evicted:     c.evicted,
		Cells:       cells,
		Occupied:    c.occupied,
		Fill:        fill,
		Load:        float64(s.elements-s.seen) * float64(s.params.k) / float64(cells),
		FPR:         min(bound, s.params.estimate(fill)),
		FPRBound:    bound,
		MemoryBytes: s.bytes,
	}
}
