package sizing

import (
	"cmp"
	"math"
)

const (
	// maxSearched is the largest memory that is looked at where the question is how
	// much is needed: 64 GiB.
	maxSearched = min(1<<39, math.MaxInt)
	// searchStep is how close the least memory is found.
	searchStep = 1.002
	// curvePoints are for each candidate.
	curvePoints = 21
)

// mostForLines is how many times the memory of the published filter its form in lines may
// need to be planned in place of it.
const mostForLines = 2

// plannedBy returns the model to plan a method with, the least memory in which that keeps
// both bounds, and whether it is that of the filter in lines, which package engine has:
// where that keeps the bound on the FPR, and needs not much more memory.
func (r *request) plannedBy(m *Method) (chosen model, needed int, inLines bool) {
	needed = r.needed(m.model)
	if m.inLines == nil {
		return m.model, needed, false
	}
	least := r.needed(m.inLines)
	d, err := m.inLines(r, cmp.Or(r.MemoryBits, least, maxSearched))
	switch {
	case err != nil, d.fpr > r.FPR && r.Fixed == (Parameters{}):
		return m.model, needed, false
	case r.MemoryBits == 0 && needed > 0 && (least == 0 || least > mostForLines*needed):
		return m.model, needed, false
	}
	return m.inLines, least, true
}

// needed returns the least memory in which a model keeps both bounds, up to whole lines
// and 0.2 %, or 0 if none is enough.
func (r *request) needed(of model) (bits int) {
	used := 0
	enough := func(bits int) bool {
		d, err := of(r, bits)
		if err != nil || d.fpr > r.FPR || d.fnr > r.FNR {
			return false
		}
		used = d.bits
		return true
	}
	high := lineBits
	for !enough(high) {
		if high >= maxSearched {
			return 0
		}
		high = min(8*high, maxSearched)
	}
	low := high / 8
	for float64(high) > float64(low)*searchStep && high-low > lineBits {
		middle := int(math.Sqrt(float64(low)*float64(high))) / lineBits * lineBits
		middle = min(max(middle, low+lineBits), high-lineBits)
		if middle <= low || middle >= high {
			break
		}
		if enough(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return used
}

// curve evaluates a model from a 32nd of the memory to 32 times as much.
func (r *request) curve(of model, bits int) []Point {
	const span = 5 // powers of two on both sides
	var points []Point
	for i := range curvePoints {
		at := float64(bits) * math.Exp2(span*(2*float64(i)/(curvePoints-1)-1))
		if at < 1 || at > maxMemory {
			continue
		}
		if d, err := of(r, int(at)); err == nil {
			points = append(points, Point{MemoryBits: d.bits, FPR: d.fpr, FNR: d.fnr})
		}
	}
	return points
}
