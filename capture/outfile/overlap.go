// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"regexp"
	"regexp/syntax"
)

// Overlap reports whether a text can match both expressions, which must have no assertions but ^ at
// the start and $ at the end.
func Overlap(a, b *regexp.Regexp) bool {
	x, y := program(a), program(b)
	if x == nil || y == nil {
		return true // in doubt
	}
	type state struct{ a, b uint32 }
	seen, todo := map[state]bool{}, []state{{uint32(x.Start), uint32(y.Start)}}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[s] {
			continue
		}
		seen[s] = true
		p, q := &x.Inst[s.a], &y.Inst[s.b]
		switch {
		case !consumes(p) && p.Op != syntax.InstMatch:
			for _, next := range after(p) {
				todo = append(todo, state{next, s.b})
			}
		case !consumes(q) && q.Op != syntax.InstMatch:
			for _, next := range after(q) {
				todo = append(todo, state{s.a, next})
			}
		case p.Op == syntax.InstMatch && q.Op == syntax.InstMatch:
			return true
		case consumes(p) && consumes(q) && (anyStart(p, q) || anyStart(q, p)):
			todo = append(todo, state{p.Out, q.Out})
		}
	}
	return false
}

// program returns the instructions of an expression, or nil if package syntax does not take it.
func program(r *regexp.Regexp) *syntax.Prog {
	tree, err := syntax.Parse(r.String(), syntax.Perl)
	if err != nil {
		return nil
	}
	p, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil
	}
	return p
}

// consumes reports whether an instruction takes a character.
func consumes(i *syntax.Inst) bool {
	switch i.Op {
	case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return true
	}
	return false
}

// after returns the instructions that follow an instruction without a character.
func after(i *syntax.Inst) []uint32 {
	switch i.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		return []uint32{i.Out, i.Arg}
	case syntax.InstFail:
		return nil
	}
	return []uint32{i.Out}
}

// anyStart reports whether q takes the first character of any range of p. Two instructions that take
// the same character take the first of a range of either.
func anyStart(p, q *syntax.Inst) bool {
	if p.Op == syntax.InstRuneAny || p.Op == syntax.InstRuneAnyNotNL {
		return true
	}
	for i := 0; i < len(p.Rune); i += 2 {
		if q.MatchRune(p.Rune[i]) {
			return true
		}
	}
	return false
}
