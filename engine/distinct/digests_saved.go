package distinct

import (
	"github.com/flowdedup/flowdedup/engine/internal/mem"
	"github.com/flowdedup/flowdedup/engine/internal/rowtable"
	"github.com/flowdedup/flowdedup/engine/secret"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"io"
)

// Snapshot writes all digests that the counter remembers. A counter that
// RestoreDigestRows makes of it goes on with the same verdicts and counts. The secret is what the
// digests were made under; the snapshot is sealed with it. The label says what the
// elements are ("flow"), in MaxLabel bytes at most; a counter can only be restored with the
// same label. Errors are those of w, or wrap ErrInvalid for a label that does not fit.
// It panics after Close.
func (r *DigestRows) Snapshot(w io.Writer, secret secret.Secret, label string) error {
	mem.CheckOpen("DigestRows.Snapshot", r.rows.Table.Arena)
	s, spilled := r.save()
	out := snapshot.NewWriter(w, snapshot.DigestRows, secret, label, s.fields())
	r.rows.Save(out, spilled)
	return out.End()
}

// RestoreDigestRows makes the counter that DigestRows.Snapshot wrote. It reads nothing
// behind the snapshot. Errors wrap ErrInvalid if it is damaged, cut short, of another
// version, kind or label or made under another key, ErrMemory if it takes more memory
// than c allows, or are those of r and of layout.NewArena. c bounds what the counter
// takes now, not what it grows to.
func RestoreDigestRows(r io.Reader, c snapshot.RestoreConfig) (*DigestRows, error) {
	var s savedExact
	in, err := snapshot.NewReader(r, snapshot.DigestRows, c, s.fields())
	if err != nil {
		return nil, err
	}
	if err := s.check(minDigestLines, rowtable.MaxLines, 0); err != nil {
		return nil, err
	}
	if err := s.rows.Allow(c); err != nil {
		return nil, err
	}
	d, err := NewDigestRows(0)
	if err != nil {
		return nil, err
	}
	if err := d.load(in, &s); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}
