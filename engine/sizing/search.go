package sizing

import "math"

const (
	// maxSearched is the largest memory that is looked at where the question is how
	// much is needed: 64 GiB.
	maxSearched = min(1<<39, math.MaxInt)
	// searchStep is how close the least memory is found.
	searchStep = 1.002
	// curvePoints are for each candidate.
	curvePoints = 21
)

// needed returns the least memory in which a method keeps both bounds, up to whole
// lines and 0.2 %.
func (r *request) needed(m *Method) (bits int, found bool) {
	used := 0
	enough := func(bits int) bool {
		d, err := m.model(r, bits)
		if err != nil || d.fpr > r.FPR || d.fnr > r.FNR {
			return false
		}
		used = d.bits
		return true
	}
	high := lineBits
	for !enough(high) {
		if high >= maxSearched {
			return 0, false
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
	return used, true
}

// curve evaluates a method from a 32nd of the memory to 32 times as much.
func (r *request) curve(m *Method, bits int) []Point {
	const span = 5 // powers of two on both sides
	var points []Point
	for i := range curvePoints {
		at := float64(bits) * math.Exp2(span*(2*float64(i)/(curvePoints-1)-1))
		if at < 1 || at > maxMemory {
			continue
		}
		if d, err := m.model(r, int(at)); err == nil {
			points = append(points, Point{MemoryBits: d.bits, FPR: d.fpr, FNR: d.fnr})
		}
	}
	return points
}
