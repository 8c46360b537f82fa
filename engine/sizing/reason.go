package sizing

import "fmt"

// reason says in a line why the first candidate is recommended, or what comes
// nearest where none is.
func (r *request) reason(all []Candidate) string {
	c := &all[0]
	if !c.Meets {
		return r.nearest(all)
	}
	rivals := meeting(all[1:])
	misses := rate(c.FNR)
	switch {
	case len(all) == 1:
		return fmt.Sprintf("%s, FPR %.2g", misses, c.FPR)
	case len(rivals) == 0 || rivals[0].Method.yardstick:
		return fmt.Sprintf("%s, and no other filter keeps a FPR of %.2g", misses, r.FPR)
	case c.FNR <= r.FNR && rivals[0].FNR <= r.FNR:
		if c.FNR > 0 {
			misses += ", which is as good as none"
		}
		return misses + ", and " + r.cheaper(c, &rivals[0])
	case rivals[0].FNR <= closeEnough*c.FNR:
		return fmt.Sprintf("%s, as few misses as with any method that keeps a FPR of %.2g, and %s", misses, r.FPR, r.cheaper(c, &rivals[0]))
	case c.FNR == 0:
		return fmt.Sprintf("no misses at a FPR of %.2g or less (%s, the next, has %s)", r.FPR, rivals[0].Method.Name, rate(rivals[0].FNR))
	}
	return fmt.Sprintf("%s, the fewest misses of the methods that keep a FPR of %.2g (%s, the next, has %s)",
		misses, r.FPR, rivals[0].Method.Name, rate(rivals[0].FNR))
}

// cheaper says what decides between two that miss equally much.
func (r *request) cheaper(c, next *Candidate) string {
	switch {
	case c.Lines < next.Lines:
		return fmt.Sprintf("%s for each element (%s, the next, touches %.3g)", lines(c.Lines), next.Method.Name, next.Lines)
	case r.memory(c) < r.memory(next):
		return fmt.Sprintf("less memory than %s, the next, would need", next.Method.Name)
	}
	return fmt.Sprintf("a lower FPR than %s, the next", next.Method.Name)
}

func lines(n float64) string {
	if n == 1 {
		return "one cache line"
	}
	return fmt.Sprintf("%.3g cache lines", n)
}

// rate writes a rate for people.
func rate(p float64) string {
	if p == 0 {
		return "no misses"
	}
	return fmt.Sprintf("FNR %.2g", p)
}

func meeting(all []Candidate) []Candidate {
	n := 0
	for n < len(all) && all[n].Meets {
		n++
	}
	return all[:n]
}

// nearest says what would do.
func (r *request) nearest(all []Candidate) string {
	least := (*Candidate)(nil)
	for i := range all {
		if c := &all[i]; c.NeededBits > 0 && !c.Method.yardstick && (least == nil || c.NeededBits < least.NeededBits) {
			least = c
		}
	}
	if least != nil {
		return fmt.Sprintf("no method meets the request; the least memory that does is %d bits (%s)", least.NeededBits, least.Method.Title)
	}
	c := &all[0]
	if c.MemoryBits == 0 {
		return "no method meets the request: " + c.Why
	}
	return fmt.Sprintf("no method meets the request; nearest is %s with FPR %.2g, FNR %.2g", c.Method.Title, c.FPR, c.FNR)
}
