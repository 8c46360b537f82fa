// SPDX-License-Identifier: Apache-2.0

package hold

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/engine/window"
)

// markRun notes what a Hold says about the packets of a stream.
type markRun struct {
	t     *testing.T
	all   []sighted
	later []uint32
	kept  []bool
}

// mark takes the place of traits.Marker.Mark.
func (r *markRun) mark(b *capture.Batch, digests []digest.Digest, drop []uint64, later []uint32, next []*capture.Batch) (*capture.Batch, []uint64) {
	first := len(r.kept)
	following := []*capture.Batch{b}
	following = append(following, next...)
	for i := range b.Frames {
		n := first + i
		if digests[i] != r.all[n].digest {
			r.t.Fatalf("packet %d has the digest of another", n)
		}
		r.kept = append(r.kept, !capture.IsSet(drop, i))
		r.later = append(r.later, later[i])
		if later[i] > 0 && numberAt(r.t, following, i+int(later[i])) != n+int(later[i]) {
			r.t.Fatalf("packet %d leads to another than packet %d", n, n+int(later[i]))
		}
	}
	return b, drop
}

// numberAt returns the number of packet i of some batches, which its data has.
func numberAt(t *testing.T, batches []*capture.Batch, i int) int {
	for _, b := range batches {
		if i < len(b.Frames) {
			return int(binary.BigEndian.Uint32(b.Data(i)[numberIn:]))
		}
		i -= len(b.Frames)
	}
	t.Fatal("a packet is not among those that wait")
	return 0
}

// check checks that every first sighting that is not kept leads to an equal packet, which is
// kept or leads to a kept packet.
func (r *markRun) check(drop []bool) {
	r.t.Helper()
	led := 0
	for n := range r.all {
		if r.kept[n] || drop[n] && r.later[n] == 0 {
			continue
		}
		if r.later[n] == 0 {
			r.t.Fatalf("packet %d is not kept, and it is not said what is", n)
		}
		led++
		at := n
		for !r.kept[at] && r.later[at] > 0 {
			at += int(r.later[at])
		}
		if !r.kept[at] || r.all[at].digest != r.all[n].digest {
			r.t.Fatalf("packet %d leads to packet %d, which is another or not kept", n, at)
		}
	}
	if led == 0 {
		r.t.Error("no packet was exchanged")
	}
}

// TestMark checks the comments on copies that come before the kept packet, for any size of
// batches.
func TestMark(t *testing.T) {
	for seed := range uint64(8) {
		ranks := seed%2 == 1
		g := traffic{rng: rand.New(rand.NewPCG(seed, 9)), conversations: 30, size: 200, points: 4, loss: 0.1, ranks: ranks, delay: 300 * time.Microsecond}
		if seed > 5 { // hardly ever does more than a packet wait
			g.delay = time.Microsecond
		}
		all := g.stream(4000)
		filter := window.ExactConfig{Window: window.Window{Duration: time.Millisecond}}
		drop := copies(t, all, filter)
		var first *markRun
		for _, next := range []func() int{func() int { return 1 }, func() int { return g.rng.IntN(500) }, func() int { return len(all) }} {
			r := &markRun{t: t, all: all}
			cfg, of := Config{For: time.Millisecond, Intact: seed == 4 || seed == 5}, Stream{Window: filter.Window.Duration, Mark: r.mark}
			if !ranks {
				cfg.Flow = true
			}
			(&heldRun{t: t, hold: testHold(t, cfg, of), all: all, drop: drop}).run(ranks, next)
			r.check(drop)
			if first == nil {
				first = r
			}
			if !slices.Equal(r.later, first.later) || !slices.Equal(r.kept, first.kept) {
				t.Errorf("seed %d: marks depend on the size of batches", seed)
			}
		}
	}
}
