package engine

import (
	"fmt"
	"io"
	"math"

	"github.com/flowdedup/flowdedup/layout"
)

const digestRowsFieldCount = 6

// maxDigestLines is the most lines that a snapshot may have: 128 GiB.
const maxDigestLines = 1 << 31

// Snapshot writes all digests that the counter remembers. A counter that
// RestoreDigestRows makes of it goes on with the same verdicts. The secret is what the
// digests were made under; the snapshot is sealed with it. The label says what the
// elements are ("flow"), in MaxLabel bytes at most; only who gives the same can restore
// the filter. Rows that grow do so to the end first. Errors are those of w, or wrap ErrSnapshot for a label that does not fit.
// It panics after Close.
func (r *DigestRows) Snapshot(w io.Writer, secret Secret, label string) error {
	checkOpen("DigestRows.Snapshot", r.table.arena)
	r.settle()
	spilled := r.table.spilled.words()
	lines := r.table.arena.Lines()
	out := newSnapshotWriter(w, snapshotDigestRows, secret, label, []uint64{
		uint64(len(lines)), uint64(r.first), uint64(len(spilled)), r.count, r.limit, uint64(r.position),
	})
	out.lines(lines)
	out.words(len(spilled), func(i int) uint64 { return spilled[i] })
	return out.end()
}

// RestoreDigestRows makes the counter that DigestRows.Snapshot wrote. It reads nothing
// behind the snapshot. Errors wrap ErrSnapshot if it is damaged, cut short, of another
// version, kind or label or made under another key, ErrMemory if it takes more memory
// than c allows, or are those of r and of layout.NewArena. c bounds what the counter
// takes now, not what it grows to.
func RestoreDigestRows(r io.Reader, c RestoreConfig) (*DigestRows, error) {
	in, words, err := newSnapshotReader(r, snapshotDigestRows, c, digestRowsFieldCount, digestRowsFieldCount)
	if err != nil {
		return nil, err
	}
	f := &snapshotFields{words}
	lines, first, spilled := f.next(), f.next(), f.next()
	count, limit, position := f.next(), f.next(), f.next()
	for _, n := range []uint64{lines, first} {
		if n < minDigestLines || n > maxDigestLines || n&(n-1) != 0 {
			return nil, fmt.Errorf("%w: digest rows of %d lines, must be a power of two from %d to %d", ErrSnapshot, n, minDigestLines, uint64(maxDigestLines))
		}
	}
	if first > lines || spilled > count || position > counterStep {
		return nil, fmt.Errorf("%w: parameters that do not belong together", ErrSnapshot)
	}
	// The hash table takes 32 bytes a digest at most.
	if err := c.allow(lines + spilled/2); err != nil {
		return nil, err
	}
	if lines > math.MaxInt/layout.LineSize {
		return nil, fmt.Errorf("%w: digest rows of %d lines", ErrMemory, lines)
	}
	d, err := NewDigestRows(int(lines) * layout.LineSize)
	if err != nil {
		return nil, err
	}
	if err := d.load(in, int(spilled)); err != nil {
		d.Close()
		return nil, err
	}
	d.first, d.count, d.limit, d.position = int(first), count, limit, int(position)
	return d, nil
}

// load reads lines and spilled digests.
func (r *DigestRows) load(in *snapshotReader, spilled int) error {
	if err := in.lines(r.table.arena.Lines()); err != nil {
		return err
	}
	put := func(_ int, word uint64) { r.table.spilled.testAndSet(word) }
	if err := in.words(spilled, "spilled digests", put); err != nil {
		return err
	}
	return in.checkSeal("lines")
}
