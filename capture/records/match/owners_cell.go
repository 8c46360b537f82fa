// SPDX-License-Identifier: Apache-2.0

package match

import (
	"fmt"
	"io"
	"math/bits"

	"github.com/flowdedup/flowdedup/engine/secret"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/layout"
)

// owned is one cell of a line of owners.
type owned struct {
	line *layout.Line
	at   uint // 0 to layout.OwnerCells - 1
}

func (c owned) tag() uint32 { return uint32(c.line[c.at] >> 32) }
func (c owned) end() uint32 { return uint32(c.line[c.at]) }

// told returns the word of the owner and the length, and where in it they begin.
func (c owned) told() (word *uint64, shift uint) {
	return &c.line[layout.OwnerTold+c.at/layout.OwnerTolds], c.at % layout.OwnerTolds * layout.OwnerToldBits
}

// owner returns the number of the point that told, 0 for an empty cell.
func (c owned) owner() uint32 {
	word, shift := c.told()
	return uint32(*word>>shift) >> layout.OwnerLengthBits & layout.OwnerMax
}

// length returns the units that were told before the end.
func (c owned) length() uint32 {
	word, shift := c.told()
	return expand(uint32(*word>>shift) & (1<<layout.OwnerLengthBits - 1))
}

// set fills the cell.
func (c owned) set(tag, end, length, owner uint32) {
	c.line[c.at] = uint64(tag)<<32 | uint64(end)
	word, shift := c.told()
	told := uint64(owner<<layout.OwnerLengthBits | compress(length))
	*word = *word&^((1<<layout.OwnerToldBits-1)<<shift) | told<<shift
}

const mantissa = 1 << layout.OwnerMantissaBits

// compress returns a length in 8 bits, rounded down: small numbers as they are, others as
// an exponent and the bits below the highest one.
func compress(n uint32) uint32 {
	if n < mantissa {
		return n
	}
	shift := uint32(bits.Len32(n)) - layout.OwnerMantissaBits - 1
	if shift >= mantissa-1 {
		return 1<<layout.OwnerLengthBits - 1
	}
	return (shift+1)<<layout.OwnerMantissaBits | n>>shift&(mantissa-1)
}

// expand is the inverse of compress, but for what it has rounded.
func expand(n uint32) uint32 {
	exponent := n >> layout.OwnerMantissaBits
	if exponent == 0 {
		return n
	}
	return (n&(mantissa-1) | mantissa) << (exponent - 1)
}

// Snapshot writes all that is remembered of flows, for restoreOwners, under the secret that
// their hashes were made with. The label must be given again; it has at most
// snapshot.MaxLabel bytes. Points are numbers here, and ranks are not saved. Errors are
// those of w. Snapshot panics after Close.
func (o *owners) Snapshot(w io.Writer, secret secret.Secret, label string) error {
	o.arena.CheckOpen("Owners.Snapshot")
	lines := uint64(len(o.arena.Lines()))
	out := snapshot.NewWriter(w, snapshot.Owners, secret, label, snapshot.Fields{&lines})
	out.Lines(o.arena, 0, int(lines))
	return out.End()
}

// restoreOwners reads what owners.Snapshot wrote, and nothing behind it. Errors wrap
// snapshot.ErrInvalid or engine.ErrMemory, or are those of r.
func restoreOwners(r io.Reader, c snapshot.RestoreConfig) (*owners, error) {
	var lines uint64
	in, err := snapshot.NewReader(r, snapshot.Owners, c, snapshot.Fields{&lines})
	if err != nil {
		return nil, err
	}
	if err := c.Allow(lines); err != nil {
		return nil, err
	}
	if lines < 2 || lines%2 != 0 {
		return nil, fmt.Errorf("%w: %d lines", snapshot.ErrInvalid, lines)
	}
	o, err := newOwnersOf(int(lines))
	if err != nil {
		return nil, err
	}
	return snapshot.Load(in, o, func() error { return in.Lines(o.arena.Lines()) })
}
