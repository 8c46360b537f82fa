// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"fmt"
	"math"
	"strings"
)

// Units format the numbers of a text.
type Units struct {
	Size     func(bits int) string
	FPR, FNR func(rate float64) string
}

// Reason explains the choice in one line, or names the nearest method if none meets the
// request.
func (a *Answer) Reason(u Units) string {
	e := explanation{a.Request, u}
	c := &a.Candidates[0]
	if !c.Meets {
		return e.nearest(a.Candidates)
	}
	return e.merit(c, comparable(c, a.Candidates[1:])) + edge(c)
}

// manyMisses is the share of misses that is worth a warning.
const manyMisses = 0.01

// Warning returns the drawback of the recommended method, or nothing.
func (a *Answer) Warning(u Units) string {
	c := a.Recommended
	if c == nil || c.FNR <= max(manyMisses, a.Question.FNR) {
		return ""
	}
	text := fmt.Sprintf("%s misses %s of the repeats", c.Method.Name, u.FNR(c.FNR))
	if c.NeededBits > 0 && c.NeededBits > c.Bits {
		text += fmt.Sprintf("; %s would do", u.Size(c.NeededBits))
	} else {
		text += ", and more memory does not help"
	}
	return text
}

// explanation writes about candidates.
type explanation struct {
	*Request
	Units
}

// comparable returns the candidates that are comparable with c, in their order. Methods for
// measurements are comparable only with each other.
func comparable(c *Candidate, all []Candidate) []*Candidate {
	var rivals []*Candidate
	for i := range all {
		if other := &all[i]; other.Meets && other.Method.rank <= min(c.Method.rank, measured) {
			rivals = append(rivals, other)
		}
	}
	return rivals
}

// merit returns the reason why a candidate is better than its rivals.
func (e explanation) merit(c *Candidate, rivals []*Candidate) string {
	misses := e.missing(c.FNR)
	who := "recommended method of a command"
	if c.Method.rank == measured {
		who = "method of a command"
	}
	switch {
	case len(rivals) == 0:
		return fmt.Sprintf("%s, and no other %s has this FPR", misses, who)
	case c.FNR <= e.Question.FNR && rivals[0].FNR <= e.Question.FNR:
		if c.FNR > 0 {
			misses += ", which is practically none"
		}
		return misses + ", and " + e.cheaper(c, rivals[0])
	case rivals[0].FNR <= closeEnough*c.FNR:
		return fmt.Sprintf("%s, as few as any %s with this FPR has, and %s", misses, who, e.cheaper(c, rivals[0]))
	case c.FNR == 0:
		return fmt.Sprintf("no misses (%s, the next, has %s)", rivals[0].Method.Name, e.missing(rivals[0].FNR))
	}
	return fmt.Sprintf("%s, the fewest misses of any %s with this FPR (%s, the next, has %s)",
		misses, who, rivals[0].Method.Name, e.missing(rivals[0].FNR))
}

// edge returns by how much windows may be too long.
func edge(c *Candidate) string {
	if c.Edge == 0 {
		return ""
	}
	return fmt.Sprintf("; its windows may be %.1f %% too long", 100*c.Edge)
}

// cheaper returns the criterion that decides between two candidates with equal misses.
func (e explanation) cheaper(c, next *Candidate) string {
	ours, theirs := e.order(c, 0), e.order(next, 0)
	switch {
	case ours[byLines] < theirs[byLines]:
		return fmt.Sprintf("%s for each element (%s, the next, touches %.3g)", lines(c.Lines), next.Method.Name, next.Lines)
	case ours[byEdge] < theirs[byEdge]:
		return fmt.Sprintf("sharper edges of the window than %s, the next", next.Method.Name)
	case ours[byMemory] < theirs[byMemory]:
		return fmt.Sprintf("less memory than %s, the next, would need", next.Method.Name)
	}
	return fmt.Sprintf("a lower FPR than %s, the next", next.Method.Name)
}

func lines(n float64) string {
	if math.Round(4*n) == 4 {
		return "one cache line"
	}
	return fmt.Sprintf("%.3g cache lines", n)
}

// missing writes a FNR.
func (e explanation) missing(p float64) string {
	if p == 0 {
		return "no misses"
	}
	return "FNR " + e.FNR(p)
}

// nearest returns the sufficient memory, or the closest candidate.
func (e explanation) nearest(all []Candidate) string {
	least := (*Candidate)(nil)
	for i := range all {
		c := &all[i]
		if c.NeededBits > 0 && c.Method.rank != yardstick && (least == nil || c.NeededBits < least.NeededBits) {
			least = c
		}
	}
	if least != nil {
		return fmt.Sprintf("no method meets the request; the least memory that does is %s (%s)", e.Size(least.NeededBits), least.Method.Name)
	}
	c := &all[0]
	if c.Bits == 0 {
		return "no method meets the request: " + strings.TrimSpace(c.Method.Name+" "+c.Why)
	}
	return fmt.Sprintf("no method meets the request; nearest is %s with FPR %s, FNR %s", c.Method.Name, e.FPR(c.FPR), e.FNR(c.FNR))
}
