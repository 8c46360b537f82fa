package distinct

import (
	"fmt"
	"io"

	"github.com/flowdedup/flowdedup/engine/internal/mem"
	"github.com/flowdedup/flowdedup/engine/secret"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/layout"
)

// savedIPv4 are the fields of an IPv4Rows in a snapshot.
type savedIPv4 struct {
	savedExact
	maxLines uint64
	check    uint64 // of the permutation
}

func (s *savedIPv4) fields() snapshot.Fields {
	return append(s.savedExact.fields(), &s.maxLines, &s.check)
}

// Snapshot writes all addresses that the counter remembers. A counter that
// RestoreIPv4Rows makes of it goes on with the same verdicts and counts. The secret is that whose
// AESKey(Permutation) the counter was made with; the snapshot is sealed with it. The
// label says what the elements are ("src"), in MaxLabel bytes at most; a counter can only be
// restored with the same label. Errors are those of w, or wrap ErrInvalid for a
// label that does not fit. It panics after Close.
func (e *IPv4Rows) Snapshot(w io.Writer, secret secret.Secret, label string) error {
	mem.CheckOpen("ExactV4.Snapshot", e.rows.Table.Arena)
	exact, spilled := e.save()
	s := savedIPv4{exact, uint64(e.maxLines), e.permutationCheck()}
	out := snapshot.NewWriter(w, snapshot.IPv4Rows, secret, label, s.fields())
	e.rows.Save(out, spilled)
	return out.End()
}

// permutationCheck tells permutations apart: it is where two addresses go.
func (e *IPv4Rows) permutationCheck() uint64 {
	var to [2]uint32
	e.permute.Permute(to[:], []uint32{0, 1})
	return uint64(to[0])<<32 | uint64(to[1])
}

// RestoreIPv4Rows makes the counter that IPv4Rows.Snapshot wrote. It reads nothing
// behind the snapshot. Errors wrap ErrInvalid if it is damaged, cut short, of another
// version, kind or label or made under another key, ErrMemory if it takes more memory than c
// allows, or are those of r and of layout.NewArena. c bounds what the counter
// takes now, not what it grows to.
func RestoreIPv4Rows(r io.Reader, c snapshot.RestoreConfig) (*IPv4Rows, error) {
	var s savedIPv4
	in, err := snapshot.NewReader(r, snapshot.IPv4Rows, c, s.fields())
	if err != nil {
		return nil, err
	}
	if err := s.savedExact.check(minIPv4Lines, layout.BitmapLines, layout.BitmapLines); err != nil {
		return nil, err
	}
	most := s.maxLines
	// A bitmap neither grows nor is thinned.
	if s.first > layout.MaxExactLines || most < minIPv4Lines || most > layout.MaxExactLines || most&(most-1) != 0 ||
		s.rows.Lines == layout.BitmapLines && (s.rows.Wider > 0 || s.rows.Thinning) {
		return nil, snapshot.ErrInconsistent
	}
	if err := s.rows.Allow(c); err != nil {
		return nil, err
	}
	e, err := NewIPv4Rows(c.Secret.AESKey(secret.Permutation), 0)
	if err != nil {
		return nil, err
	}
	if e.permutationCheck() != s.check {
		e.Close()
		return nil, fmt.Errorf("%w: the counter's permutation is not of this key", snapshot.ErrInvalid)
	}
	if err := e.load(in, &s.savedExact); err != nil {
		e.Close()
		return nil, err
	}
	e.maxLines = int(most)
	return e, nil
}
