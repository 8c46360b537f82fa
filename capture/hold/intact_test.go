// SPDX-License-Identifier: Apache-2.0

package hold

import (
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture/identity"
)

// TestIntact keeps the best of equal packets in the order of what counts, and counts why.
func TestIntact(t *testing.T) {
	const (
		none, valid, wrong, cut = identity.NoChecksum, identity.ValidChecksum, identity.WrongChecksum, identity.Truncated
	)
	type seen struct {
		integrity identity.Integrity
		point     uint64 // 1 is home
		rank      uint8
	}
	for _, c := range []struct {
		name            string
		all             []seen
		kept            int
		whole, checksum uint64
		first           bool // not Flow
	}{
		{name: "all valid", all: []seen{{valid, 1, 0}, {valid, 2, 0}}, kept: 0},
		{name: "sent unfilled", all: []seen{{wrong, 1, 0}, {valid, 2, 0}}, kept: 1, checksum: 1},
		{name: "sent unfilled, first", all: []seen{{wrong, 1, 0}, {valid, 2, 0}, {valid, 1, 0}}, kept: 1, checksum: 1, first: true},
		{name: "sent unfilled, home", all: []seen{{wrong, 1, 0}, {valid, 2, 0}, {valid, 1, 0}}, kept: 2, checksum: 1},
		{name: "none is as good as valid", all: []seen{{none, 1, 0}, {valid, 2, 0}}, kept: 0},
		{name: "none before wrong", all: []seen{{wrong, 1, 0}, {none, 2, 0}}, kept: 1, checksum: 1},
		{name: "whole before valid", all: []seen{{cut, 1, 0}, {wrong, 2, 0}, {cut, 1, 0}}, kept: 1, whole: 1},
		{name: "whole, then valid", all: []seen{{cut, 1, 0}, {wrong, 2, 0}, {valid, 2, 0}, {cut, 1, 0}}, kept: 2, whole: 1, checksum: 1},
		{name: "all wrong", all: []seen{{wrong, 2, 0}, {wrong, 2, 0}, {wrong, 1, 0}}, kept: 2},
		{name: "fit before rank", all: []seen{{cut, 2, 1}, {valid, 1, 3}, {cut, 2, 0}, {valid, 1, 1}}, kept: 3},
		{name: "fit before rank, whole or not", all: []seen{{valid, 1, 3}, {cut, 2, 0}, {wrong, 2, 0}}, kept: 0},
		{name: "rank before whole", all: []seen{{wrong, 1, 3}, {cut, 2, 0}, {cut, 2, 1}}, kept: 1},
		{name: "valid first, better later", all: []seen{{valid, 2, 0}, {wrong, 1, 0}, {valid, 1, 0}}, kept: 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			// The first packet makes a home.
			all, drop := []sighted{{digest: digest.Digest{1, 1}, conversation: 7, point: 1, time: 1e9, size: 9}}, []bool{false}
			for i, s := range c.all {
				all = append(all, sighted{digest: digest.Digest{2, 2}, conversation: 7, point: s.point, time: 1e9 + int64(i), size: i, rank: s.rank, integrity: s.integrity})
				drop = append(drop, i > 0)
			}
			want := make([]bool, len(all))
			want[0], want[1+c.kept] = true, true
			for _, step := range []int{1, 2, len(all)} {
				cfg := Config{Flow: true, For: time.Millisecond, Intact: true}
				if c.first {
					cfg.Flow = false
				}
				h := testHold(t, cfg, Stream{})
				got := (&heldRun{t: t, hold: h, all: all, drop: drop}).run(true, func() int { return step })
				if s := h.Stats(); !slices.Equal(got, want) || s.Whole != c.whole || s.Checksum != c.checksum {
					t.Errorf("batches of %d: kept %v, want %v; %+v", step, got, want, s)
				}
			}
		})
	}
}
