// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/snapshot"
)

// Verified checks the copies that another filter reports, by a table of the latest elements
// (Metwally, Agrawal, El Abbadi, WWW 2005, section 5.2.1, has a cache of the elements that a
// Bloom filter reports). An element is a copy only if the filter reports it, and the table has
// it. Others stay: false positives of the filter, and copies of elements that the table has
// forgotten.
//
// The table has rows of eight fingerprints of 64 bits, from which the element leaves that was
// not seen for longest: method "lru" of shape "8x64", 8 bytes an element. An element without
// an equal element in the table is a copy with a probability of 8 * 2^-64 = 4.3e-19 at most,
// whatever the filter's rate.
//
// So the table decides how far a copy lies at most, in elements, and the filter how far in time:
// with a table that holds fewer elements than a window, the filter's memory for the rest of the
// window is of no use.
type Verified struct {
	engine.PacketFilter
	table      *Filter
	known      []uint64 // the table's verdicts on the last elements
	unverified uint64
}

// NewVerified makes a filter that verifies the copies of f, which it then owns, with a table of
// memory bytes. Errors wrap engine.ErrMemory, or come from layout.NewArena; then it has closed
// f.
func NewVerified(f engine.PacketFilter, memory int) (*Verified, error) {
	table, err := New(Config{Method: "lru", Shape: "8x64", Memory: max(1, memory)})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("table that verifies copies: %w", err), f.Close())
	}
	return &Verified{PacketFilter: f, table: table}, nil
}

// TestAndSet implements engine.PacketFilter. It allocates only if the filter does, or for more
// elements at once than before.
func (v *Verified) TestAndSet(seen []uint64, d []digest.Digest, times []int64, points []uint32) {
	v.PacketFilter.TestAndSet(seen, d, times, points)
	words := (len(d) + 63) / 64
	if len(v.known) < words {
		v.known = make([]uint64, words)
	}
	v.table.TestAndSet(v.known, d)
	for w, known := range v.known[:words] {
		v.unverified += uint64(bits.OnesCount64(seen[w] &^ known))
		seen[w] &= known
	}
}

// Unverified returns how many elements the filter reported, and the table did not have.
func (v *Verified) Unverified() uint64 { return v.unverified }

// Stats implements engine.PacketFilter: the filter's statistics, with the memory and the false
// positive rate of both.
func (v *Verified) Stats() engine.PacketStats {
	s, table := v.PacketFilter.Stats(), v.table.Stats()
	s.MemoryBytes += table.MemoryBytes
	s.PredictedFPR = min(s.PredictedFPR, table.FPRBound)
	return s
}

// GrowWhenReady calls the filter's GrowWhenReady, if it has the method.
func (v *Verified) GrowWhenReady() {
	if f, ok := v.PacketFilter.(interface{ GrowWhenReady() }); ok {
		f.GrowWhenReady()
	}
}

// Populate has the system back all memory now. It returns the error of ctx, if ctx ends
// before.
func (v *Verified) Populate(ctx context.Context) error {
	if f, ok := v.PacketFilter.(interface{ Populate(context.Context) error }); ok {
		if err := f.Populate(ctx); err != nil {
			return err
		}
	}
	return (&Packets{v.table}).Populate(ctx)
}

// Snapshot writes the contents of both, the filter's first, for the restoring function of the
// filter and then RestoreVerified. Errors are as in Filter.Snapshot, or wrap
// errors.ErrUnsupported if the filter cannot be saved.
func (v *Verified) Snapshot(w io.Writer, key engine.Secret, label string) error {
	f, ok := v.PacketFilter.(interface {
		Snapshot(w io.Writer, key engine.Secret, label string) error
	})
	if !ok {
		return fmt.Errorf("snapshot of %T: %w", v.PacketFilter, errors.ErrUnsupported)
	}
	if err := f.Snapshot(w, key, label); err != nil {
		return err
	}
	return v.table.Snapshot(w, key, label)
}

// RestoreVerified reads the table that Verified.Snapshot wrote behind the filter f, which the
// result then owns. unverified is what Unverified had returned. Errors are as in Restore; then
// it has closed f.
func RestoreVerified(f engine.PacketFilter, unverified uint64, r io.Reader, c snapshot.RestoreConfig) (*Verified, error) {
	table, err := Restore(r, c)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Verified{PacketFilter: f, table: table, unverified: unverified}, nil
}

// Close implements engine.PacketFilter.
func (v *Verified) Close() error { return errors.Join(v.PacketFilter.Close(), v.table.Close()) }
