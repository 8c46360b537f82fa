// SPDX-License-Identifier: Apache-2.0

package affinity

import (
	"fmt"
	"io"

	"github.com/flowdedup/flowdedup/engine/secret"
	"github.com/flowdedup/flowdedup/engine/snapshot"
)

// Snapshot writes all that is remembered of flows, for RestoreOwners, under the secret that
// their hashes were made with. The label must be given again; it has at most
// snapshot.MaxLabel bytes. Points are numbers here, and ranks are not saved. Errors are
// those of w. Snapshot panics after Close.
func (o *Owners) Snapshot(w io.Writer, secret secret.Secret, label string) error {
	o.arena.CheckOpen("Owners.Snapshot")
	lines := uint64(len(o.arena.Lines()))
	out := snapshot.NewWriter(w, snapshot.Owners, secret, label, snapshot.Fields{&lines})
	out.Lines(o.arena, 0, int(lines))
	return out.End()
}

// RestoreOwners reads what Owners.Snapshot wrote, and nothing behind it. Errors wrap
// snapshot.ErrInvalid or engine.ErrMemory, or are those of r.
func RestoreOwners(r io.Reader, c snapshot.RestoreConfig) (*Owners, error) {
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
	o, err := newOwners(int(lines))
	if err != nil {
		return nil, err
	}
	return snapshot.Load(in, o, func() error { return in.Lines(o.arena.Lines()) })
}
