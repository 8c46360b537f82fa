package paper

// confirmed applies the top-down testing heuristic to a match on the leaf's way up: it
// reports whether the match is at level d or below it, or can be followed to a match
// at level d. All children of a match are tested, except the one that the way up
// came from.
func (t *Tree) confirmed(level, leaf int) bool {
	if level >= t.topDown {
		return true
	}
	matches := t.matchingChildren(level, t.ancestor(level, leaf), t.ancestor(level+1, leaf))
	for level++; level < t.topDown && len(matches) > 0; level++ {
		var next []int
		for _, number := range matches {
			next = append(next, t.matchingChildren(level, number, none)...)
		}
		matches = next
	}
	return len(matches) > 0
}

// none is no child's number.
const none = -1

// matchingChildren tests the children of a node but one, and returns the numbers of
// those that match.
func (t *Tree) matchingChildren(level, number, except int) (matches []int) {
	first := number * t.fanOut[level]
	for child := first; child < first+t.fanOut[level]; child++ {
		if child != except && t.matches(level+1, child) {
			matches = append(matches, child)
		}
	}
	return matches
}
