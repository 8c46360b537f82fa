// SPDX-License-Identifier: Apache-2.0

package match

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"github.com/flowdedup/flowdedup/engine/secret"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/layout"
)

// ownerCell is one cell of a line of owners.
type ownerCell struct {
	line *layout.Line
	at   uint // 0 to layout.OwnerCells - 1
}

func (c ownerCell) tag() uint32 { return uint32(c.line[c.at] >> 32) }
func (c ownerCell) end() uint32 { return uint32(c.line[c.at]) }

// place returns the word with the owner and the length, and the bit at which they begin.
func (c ownerCell) place() (word *uint64, shift uint) {
	return &c.line[layout.OwnerReport+c.at/layout.OwnerReports], c.at % layout.OwnerReports * layout.OwnerReportBits
}

// owner returns the number of the point that reported the flow, 0 for an empty cell.
func (c ownerCell) owner() uint32 {
	word, shift := c.place()
	return uint32(*word>>shift) >> layout.OwnerLengthBits & layout.OwnerMax
}

// length returns the units between the reported begin and the end.
func (c ownerCell) length() uint32 {
	word, shift := c.place()
	return expand(uint32(*word>>shift) & (1<<layout.OwnerLengthBits - 1))
}

// set fills the cell.
func (c ownerCell) set(tag, end, length, owner uint32) {
	c.line[c.at] = uint64(tag)<<32 | uint64(end)
	word, shift := c.place()
	value := uint64(owner<<layout.OwnerLengthBits | compress(length))
	*word = *word&^((1<<layout.OwnerReportBits-1)<<shift) | value<<shift
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

// expand is the inverse of compress, without the bits that it rounded off.
func expand(n uint32) uint32 {
	exponent := n >> layout.OwnerMantissaBits
	if exponent == 0 {
		return n
	}
	return (n&(mantissa-1) | mantissa) << (exponent - 1)
}

// Snapshot writes all flows for restoreOwners, under the secret of their hashes. Only the same
// label, of at most snapshot.MaxLabel bytes, restores them. Points are saved as numbers, and
// ranks not at all. Errors come from w. Snapshot panics after Close.
func (o *owners) Snapshot(w io.Writer, secret secret.Secret, label string) error {
	o.arena.CheckOpen("Owners.Snapshot")
	most, grown := o.first<<o.most, uint64(o.grown)
	out := snapshot.NewWriter(w, snapshot.Owners, secret, label, snapshot.Fields{&most, &grown})
	out.Lines(o.arena, 0, len(o.used()))
	return out.End()
}

// restoreOwners reads what owners.Snapshot wrote, and nothing behind it. Errors wrap
// snapshot.ErrInvalid or engine.ErrMemory, or come from r.
func restoreOwners(r io.Reader, c snapshot.RestoreConfig) (*owners, error) {
	var groups, grown uint64
	makeEmpty := func(c snapshot.RestoreConfig) (*owners, error) {
		if err := cmp.Or(c.Allow(groups), c.Allow(groups*ownerGroup)); err != nil {
			return nil, err
		}
		if groups < 1 || grown > maxOwnersGrown {
			return nil, fmt.Errorf("%w: %d groups, grown %d times", snapshot.ErrInvalid, groups, grown)
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
	return snapshot.Restore(r, snapshot.Owners, c, snapshot.Fields{&groups, &grown}, makeEmpty, load)
}
