package engine

import (
	"fmt"
	"io"

	"github.com/flowdedup/flowdedup/layout"
)

const exactV4FieldCount = 8

// Snapshot writes all addresses that the counter remembers. A counter that
// RestoreExactV4 makes of it goes on with the same verdicts. The secret is that whose
// AESKey(KeyBijection) the counter was made with; the snapshot is sealed with it. The
// label says what the elements are ("src"), in MaxLabel bytes at most; only who gives
// the same can restore the filter. Rows that grow do so to the end first. Errors are those of w, or wrap ErrSnapshot for a
// label that does not fit. It panics after Close.
func (e *ExactV4) Snapshot(w io.Writer, secret Secret, label string) error {
	checkOpen("ExactV4.Snapshot", e.table.arena)
	e.settle()
	spilled := e.table.spilled.words()
	lines := e.table.arena.Lines()
	out := newSnapshotWriter(w, snapshotExactV4, secret, label, []uint64{
		uint64(len(lines)), uint64(e.first), uint64(e.maxLines), uint64(len(spilled)),
		e.count, e.limit, uint64(e.position), e.permutationCheck(),
	})
	out.lines(lines)
	out.words(len(spilled), func(i int) uint64 { return uint64(spilled[i]) })
	return out.end()
}

// permutationCheck tells permutations apart: it is where two addresses go.
func (e *ExactV4) permutationCheck() uint64 {
	var to [2]uint32
	e.permute.Permute(to[:], []uint32{0, 1})
	return uint64(to[0])<<32 | uint64(to[1])
}

// RestoreExactV4 makes the counter that ExactV4.Snapshot wrote. It reads nothing
// behind the snapshot. Errors wrap ErrSnapshot if it is damaged, cut short, of another
// version, kind or label or made under another key, ErrMemory if it takes more memory than c
// allows, or are those of r and of layout.NewArena. c bounds what the counter
// takes now, not what it grows to.
func RestoreExactV4(r io.Reader, c RestoreConfig) (*ExactV4, error) {
	in, words, err := newSnapshotReader(r, snapshotExactV4, c, exactV4FieldCount, exactV4FieldCount)
	if err != nil {
		return nil, err
	}
	f := &snapshotFields{words}
	lines, first, most, spilled := f.next(), f.next(), f.next(), f.next()
	count, limit, position, check := f.next(), f.next(), f.next(), f.next()
	for _, n := range []uint64{lines, first, most} {
		if n < minExactV4Lines || n > layout.ExactBitLines || n&(n-1) != 0 {
			return nil, fmt.Errorf("%w: exact rows of %d lines, must be a power of two from %d to %d", ErrSnapshot, n, minExactV4Lines, layout.ExactBitLines)
		}
	}
	if first > min(lines, layout.MaxExactLines) || most > layout.MaxExactLines || spilled > count || position > counterStep {
		return nil, fmt.Errorf("%w: parameters that do not belong together", ErrSnapshot)
	}
	// The hash table takes 16 bytes an address at most.
	if err := c.allow(lines + spilled/4); err != nil {
		return nil, err
	}
	e, err := NewExactV4(c.Secret.AESKey(KeyBijection), int(first)*layout.LineSize)
	if err != nil {
		return nil, err
	}
	err = e.load(in, int(lines), int(spilled), check)
	if err != nil {
		e.Close()
		return nil, err
	}
	e.maxLines, e.count, e.limit, e.position = int(most), count, limit, int(position)
	return e, nil
}

// load reads lines and spilled words.
func (e *ExactV4) load(in *snapshotReader, lines, spilled int, check uint64) error {
	if e.permutationCheck() != check {
		return fmt.Errorf("%w: the counter's permutation is not of this key", ErrSnapshot)
	}
	if lines != len(e.table.arena.Lines()) {
		table, err := e.newTable(lines)
		if err != nil {
			return err
		}
		e.table.arena.Close()
		e.use(table)
	}
	if err := in.lines(e.table.arena.Lines()); err != nil {
		return err
	}
	put := func(_ int, word uint64) { e.table.spilled.testAndSet(uint32(word)) }
	if err := in.words(spilled, "spilled addresses", put); err != nil {
		return err
	}
	return in.checkSeal("lines")
}
