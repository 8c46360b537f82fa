// SPDX-License-Identifier: Apache-2.0

package match

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"

	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/layout"
)

// ownerCell is a cell of a line of owners.
type ownerCell struct {
	line *layout.Line
	at   uint // 0 to layout.OwnerCells - 1
}

const ownerTagBits = 64 - layout.OwnerTagShift

// tagOf returns the tag of a flow.
func tagOf(flow uint64) uint64 { return flow & (1<<ownerTagBits - 1) }

func (c ownerCell) tag() uint64 { return c.line[c.at] >> layout.OwnerTagShift }

// end returns the end of the reported time: of the times with its low bits, the nearest to near.
func (c ownerCell) end(near uint32) uint32 {
	const unknown = 32 - layout.OwnerLowestShift
	return near + uint32(int32((uint32(c.line[c.at])-near)<<unknown)>>unknown)
}

// place returns the word in which the report begins, and the bit.
func (c ownerCell) place() (word, shift uint) {
	bit := c.at * layout.OwnerReportBits
	return layout.OwnerReport + bit/64, bit % 64
}

// report returns the report with the bits above it.
func (c ownerCell) report() uint64 {
	word, shift := c.place()
	upper := c.line[word] >> shift
	if word+1 < uint(len(c.line)) {
		upper |= c.line[word+1] << (64 - shift)
	}
	return upper<<layout.OwnerLowestBits | c.line[c.at]>>layout.OwnerLowestShift&(1<<layout.OwnerLowestBits-1)
}

// owner returns the number of the point that reported the flow, 0 for an empty cell.
func (c ownerCell) owner() uint32 {
	return uint32(c.report()>>(3*layout.OwnerDistanceBits)) & layout.OwnerMax
}

// reported returns the reported time, whose end is nearest to near.
func (c ownerCell) reported(near uint32) reported {
	report, end := c.report(), c.end(near)
	return reported{
		begin: c.begin(end), end: end,
		left: atDistance(end, report>>layout.OwnerDistanceBits),
		back: atDistance(end, report),
	}
}

// begin returns the begin of the reported time that ends at end.
func (c ownerCell) begin(end uint32) uint32 {
	return atDistance(end, c.report()>>(2*layout.OwnerDistanceBits))
}

// set fills the cell.
func (c ownerCell) set(flow uint64, owner uint32, r reported) {
	report := uint64(owner)<<(3*layout.OwnerDistanceBits) | distanceTo(r.end, r.begin, 0)<<(2*layout.OwnerDistanceBits) |
		distanceTo(r.end, r.left, 1)<<layout.OwnerDistanceBits | distanceTo(r.end, r.back, 0)
	c.line[c.at] = tagOf(flow)<<layout.OwnerTagShift | report&(1<<layout.OwnerLowestBits-1)<<layout.OwnerLowestShift |
		uint64(r.end&(1<<layout.OwnerLowestShift-1))
	c.setUpper(report >> layout.OwnerLowestBits)
}

// setUpper sets the upper bits of the report.
func (c ownerCell) setUpper(upper uint64) {
	const mask = uint64(1<<layout.OwnerReportBits - 1)
	word, shift := c.place()
	c.line[word] = c.line[word]&^(mask<<shift) | upper<<shift
	if word+1 < uint(len(c.line)) {
		c.line[word+1] = c.line[word+1]&^(mask>>(64-shift)) | upper>>(64-shift)
	}
}

// copyFrom copies the content of another cell.
func (c ownerCell) copyFrom(other ownerCell) {
	c.line[c.at] = other.line[other.at]
	c.setUpper(other.report() >> layout.OwnerLowestBits & (1<<layout.OwnerReportBits - 1))
}

const (
	mantissa = 1 << layout.OwnerMantissaBits
	// mostDistance is the code of the longest distance.
	mostDistance = 1<<layout.OwnerDistanceBits - 1
)

// distanceTo returns the code of the distance from a time to end. It is exact for times on its
// grid, so that a time which is coded again as end moves on stays the same until the grid
// grows. Times are rounded down, or to the nearest if half is 1 and not 0.
func distanceTo(end, t, half uint32) uint64 {
	shift := max(bits.Len32(end-t)-layout.OwnerMantissaBits-1, 0)
	for ; shift < mostDistance>>layout.OwnerMantissaBits; shift++ {
		n := (end>>shift - (t+half<<shift>>1)>>shift) & (math.MaxUint32 >> shift)
		if n < 2*mantissa { // rounded up it may be mantissa-1, which is 2*mantissa-1 of the finer grid
			return uint64(shift)<<layout.OwnerMantissaBits + uint64(n)
		}
	}
	return mostDistance
}

// atDistance returns the time of a code, with any bits above it.
func atDistance(end uint32, code uint64) uint32 {
	n := uint32(code & mostDistance)
	if n < mantissa {
		return end - n
	}
	shift := n>>layout.OwnerMantissaBits - 1
	return (end>>shift - (n&(mantissa-1) | mantissa)) << shift
}

// snapshot writes all flows for restoreOwners, under the secret of their hashes. Only the same
// label, of at most snapshot.MaxLabel bytes, restores them. Points are saved as numbers, and
// ranks not at all. Errors come from w. snapshot panics after Close.
func (o *owners) snapshot(w io.Writer, secret engine.Secret, label string) error {
	o.arena.CheckOpen("Owners.Snapshot")
	most, grown, cells := o.first<<o.most, uint64(o.grown), uint64(layout.OwnerCells)
	out := snapshot.NewWriter(w, snapshot.Owners, secret, label, snapshot.Fields{&most, &grown, &cells})
	out.Lines(o.arena, 0, len(o.used()))
	return out.End()
}

// restoreOwners reads what owners.snapshot wrote, and nothing behind it. Errors wrap
// snapshot.ErrInvalid or engine.ErrMemory, or come from r.
func restoreOwners(r io.Reader, c snapshot.RestoreConfig) (*owners, error) {
	var groups, grown, cells uint64
	makeEmpty := func(c snapshot.RestoreConfig) (*owners, error) {
		if err := cmp.Or(c.Allow(groups), c.Allow(groups*ownerGroup)); err != nil {
			return nil, err
		}
		if groups < 1 || grown > maxOwnersGrown || cells != layout.OwnerCells {
			return nil, fmt.Errorf("%w: %d groups of %d cells, grown %d times", snapshot.ErrInvalid, groups, cells, grown)
		}
		o, err := newOwnersOf(int(groups))
		if err == nil && (o.first<<o.most != groups || uint(grown) > o.most) {
			err = errors.Join(fmt.Errorf("%w: %d groups, grown %d times", snapshot.ErrInvalid, groups, grown), o.Close())
		}
		return o, err
	}
	load := func(o *owners, in *snapshot.Reader) error {
		o.grown = uint(grown)
		return in.Lines(o.used())
	}
	return snapshot.Restore(r, snapshot.Owners, c, snapshot.Fields{&groups, &grown, &cells}, makeEmpty, load)
}

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

// place copies a cell to the first empty cell of a group, in the order in which find looks for it.
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
