// SPDX-License-Identifier: Apache-2.0

package match

import "github.com/flowdedup/flowdedup/layout"

const (
	// ownerGroup is how many lines may have a flow.
	ownerGroup = 16
	// maxOwnersGrown is how often a table doubles. Each time, two flows of a group are told apart
	// by a bit of the tag less: 26 of 30 are left.
	maxOwnersGrown = 4
	// leastOwnerGroups are 4 MiB, from which on a table is worth growing.
	leastOwnerGroups = 4 << 20 / layout.LineSize / ownerGroup
)

// used returns the lines that the table has grown to.
func (o *owners) used() []layout.Line {
	return o.arena.Lines()[:o.first<<o.grown*ownerGroup]
}

// grow doubles the table in its arena, from the end on: each group becomes two, which lie at twice
// its place or behind it.
func (o *owners) grow() {
	lines := o.arena.Lines()
	groups := int(o.first << o.grown)
	o.grown++
	for g := groups - 1; g >= 0; g-- {
		old := [ownerGroup]layout.Line(lines[g*ownerGroup:])
		both := lines[2*g*ownerGroup:][:2*ownerGroup]
		clear(both)
		for i := range old {
			for at := range uint(layout.OwnerCells) {
				c := ownerCell{&old[i], at}
				if c.owner() == 0 {
					break
				}
				half := c.tag() >> (ownerTagBits - o.grown) & 1 * ownerGroup
				place(both[half:][:ownerGroup], c)
			}
		}
	}
}

// place copies a cell to the first empty one of a group, in the order in which find looks for it.
func place(group []layout.Line, c ownerCell) {
	for i := range uint64(ownerGroup) {
		line := &group[c.tag()%ownerGroup^i]
		for at := range uint(layout.OwnerCells) {
			if to := (ownerCell{line, at}); to.owner() == 0 {
				to.copyFrom(c)
				return
			}
		}
	}
}
