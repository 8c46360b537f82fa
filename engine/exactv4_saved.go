package engine

import (
	"fmt"
	"io"

	"github.com/flowdedup/flowdedup/layout"
)

// savedExactV4 are the fields of an ExactV4 in a snapshot.
type savedExactV4 struct {
	savedExact
	maxLines uint64
	check    uint64 // of the permutation
}

func (s *savedExactV4) fields() snapshotFields {
	return append(s.savedExact.fields(), &s.maxLines, &s.check)
}

// Snapshot writes all addresses that the counter remembers. A counter that
// RestoreExactV4 makes of it goes on with the same verdicts and counts. The secret is that whose
// AESKey(KeyBijection) the counter was made with; the snapshot is sealed with it. The
// label says what the elements are ("src"), in MaxLabel bytes at most; a counter can only be
// restored with the same label. Errors are those of w, or wrap ErrSnapshot for a
// label that does not fit. It panics after Close.
func (e *ExactV4) Snapshot(w io.Writer, secret Secret, label string) error {
	checkOpen("ExactV4.Snapshot", e.rows.table.arena)
	exact, spilled := e.state()
	s := savedExactV4{exact, uint64(e.maxLines), e.permutationCheck()}
	out := newSnapshotWriter(w, snapshotExactV4, secret, label, s.fields())
	e.rows.save(out, spilled)
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
	var s savedExactV4
	in, err := newSnapshotReader(r, snapshotExactV4, c, s.fields())
	if err != nil {
		return nil, err
	}
	if err := s.savedExact.check(minExactV4Lines, layout.BitmapLines, layout.BitmapLines); err != nil {
		return nil, err
	}
	most := s.maxLines
	// A bitmap neither grows nor is thinned.
	if s.first > layout.MaxExactLines || most < minExactV4Lines || most > layout.MaxExactLines || most&(most-1) != 0 ||
		s.rows.lines == layout.BitmapLines && (s.rows.wider > 0 || s.rows.thinning) {
		return nil, errInconsistent
	}
	if err := s.rows.allowed(c); err != nil {
		return nil, err
	}
	e, err := NewExactV4(c.Secret.AESKey(KeyBijection), 0)
	if err != nil {
		return nil, err
	}
	if e.permutationCheck() != s.check {
		e.Close()
		return nil, fmt.Errorf("%w: the counter's permutation is not of this key", ErrSnapshot)
	}
	if err := e.load(in, &s.savedExact); err != nil {
		e.Close()
		return nil, err
	}
	e.maxLines = int(most)
	return e, nil
}
