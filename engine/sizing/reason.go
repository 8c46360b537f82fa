package sizing

import "fmt"

// reason explains in one line why the first candidate is recommended, or what comes
// nearest if none is.
func (r *request) reason(all []Candidate) string {
	c := &all[0]
	if !c.Meets {
		return r.nearest(all)
	}
	rivals, who := meeting(all[1:]), "method"
	if c.Method.Engine != "" {
		rivals, who = inEngine(rivals), "method of package engine"
	}
	return r.merit(c, rivals, who) + r.otherwise(c, meeting(all[1:]))
}

// merit says why a candidate is better than others of its sort.
func (r *request) merit(c *Candidate, rivals []Candidate, who string) string {
	misses := rate(c.FNR)
	switch {
	case r.Method != "":
		return fmt.Sprintf("%s, FPR %.2g", misses, c.FPR)
	case len(rivals) == 0 || rivals[0].Method.yardstick:
		return fmt.Sprintf("%s, and no other %s keeps a FPR of %.2g", misses, who, r.FPR)
	case c.FNR <= r.FNR && rivals[0].FNR <= r.FNR:
		if c.FNR > 0 {
			misses += ", which is as good as none"
		}
		return misses + ", and " + r.cheaper(c, &rivals[0])
	case rivals[0].FNR <= closeEnough*c.FNR:
		return fmt.Sprintf("%s, as few misses as with any %s that keeps a FPR of %.2g, and %s", misses, who, r.FPR, r.cheaper(c, &rivals[0]))
	case c.FNR == 0:
		return fmt.Sprintf("no misses at a FPR of %.2g or less (%s, the next, has %s)", r.FPR, rivals[0].Method.Name, rate(rivals[0].FNR))
	}
	return fmt.Sprintf("%s, the fewest misses of any %s that keeps a FPR of %.2g (%s, the next, has %s)",
		misses, who, r.FPR, rivals[0].Method.Name, rate(rivals[0].FNR))
}

// otherwise names the best method that the engine does not have, if it is better.
func (r *request) otherwise(c *Candidate, rivals []Candidate) string {
	for i := range rivals {
		other := &rivals[i]
		if other.Method.Engine == "" && r.better(other, c) {
			what := rate(other.FNR)
			if c.FNR <= r.FNR {
				what = fmt.Sprintf("%.3g MiB", float64(r.memory(other))/8/(1<<20))
			}
			why := "only as a model or reference"
			if other.InLines {
				why = "it is there to be measured"
			}
			return fmt.Sprintf("; %s would do with %s, but %s", other.Method.Name, what, why)
		}
	}
	return ""
}

// inEngine returns the leading candidates that package engine has.
func inEngine(all []Candidate) []Candidate {
	n := 0
	for n < len(all) && all[n].Method.Engine != "" && !all[n].Method.yardstick {
		n++
	}
	return all[:n]
}

// cheaper says what decides between two candidates with equal misses.
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

// nearest says what would be enough, or what comes closest.
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
