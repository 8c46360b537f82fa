// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/engine/cluster/chain"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// TestTopDown has the hubs of a tree confirm copies to a level: a root of two slices, two hubs of
// three below it, and four that sites ask. Each verdict equals that of engine/paper's tree.
func TestTopDown(t *testing.T) {
	count := 40_000
	if testing.Short() {
		count = 4_000
	}
	for _, dense := range []bool{true, false} {
		for level := range 3 {
			t.Run(fmt.Sprintf("dense %v, to level %d", dense, level), func(t *testing.T) { topDown(t, dense, level, count) })
		}
	}
}

func topDown(t *testing.T, dense bool, level, count int) {
	batch := 50
	shape := vertical(1, chain.Bloom)
	shape.Primitive, shape.Bytes = chain.TestAndSet, unsetBits(count)/8
	if !dense { // elements of a batch are tested before the first of them is set
		shape.Primitive, batch, count = chain.FirstTestThenSet, 1, count/8
		shape.Bytes = unsetBits(count) / 16
	}
	of := func(v, levels int, below ...string) func(*Settings) {
		s := shape
		s.V = v
		return func(all *Settings) {
			shaped(s)(all)
			all.Below, all.TopDown, all.ParentWaitUS = below, max(levels, 0), time.Minute.Microseconds()
		}
	}
	root := newLab(t, of(2, level, "middle0", "middle1"))
	var levels [3][]*lab
	levels[0] = []*lab{root}
	for i := range 2 {
		levels[1] = append(levels[1], root.under(fmt.Sprint("middle", i), of(3, level-1, "leaf0", "leaf1")))
	}
	var sensors []*sensor
	for i := range 4 {
		leaf := levels[1][i/2].under(fmt.Sprint("leaf", i%2), of(1, 0))
		levels[2] = append(levels[2], leaf)
		sensors = append(sensors, leaf.sensor("a"))
	}
	cfg := paper.TreeConfig{Bits: shape.Size(), K: shape.Hashes, FanOut: []int{2, 2}, Dense: dense, TopDown: level}
	var err error
	if cfg.Root, err = paper.NewVertical(paper.SlicedConfig{Bits: shape.Size(), K: shape.Hashes, Slices: 2}); err != nil {
		t.Fatal(err)
	}
	model, err := paper.NewTree(cfg)
	if err != nil {
		t.Fatal(err)
	}
	compareTree(t, model, shape, dense, sensors, levels, count, batch)
	b := root.hub.below
	if probed, passed := b.probed.Load(), b.unconfirmed.Load(); (probed > 0) != (level > 0) || (passed > 0) != (level > 0) || b.unanswered.Load() > 0 {
		t.Errorf("to level %d: %d probed, %d not confirmed, %d without an answer", level, probed, passed, b.unanswered.Load())
	}
}

// TestBelowSilent has a hub below that does not answer: its copies count as confirmed. A site that
// is no hub ends the confirmations.
func TestBelowSilent(t *testing.T) {
	shape := vertical(2, chain.Bloom)
	root := newLab(t, func(s *Settings) {
		shaped(shape)(s)
		s.Below, s.TopDown = []string{"north", "south"}, 1
	})
	north := root.sensor("north") // which answers no probe
	digests, times := make([]uint64, 100), make([]int64, 100)
	for i := range digests {
		digests[i], times[i] = uint64(i+1)*0x9e3779b97f4a7c15, time.Now().UnixNano()
	}
	if n := news(north.ask(digests, times)); n != len(digests) {
		t.Errorf("%d new", n)
	}
	if n := news(root.sensor("south").ask(digests, times)); n != 0 {
		t.Errorf("%d copies are new without an answer", n)
	}
	b := root.hub.below
	if b.unanswered.Load() != uint64(len(digests)) || b.unconfirmed.Load() != 0 || b.mixed.Load() {
		t.Errorf("%d without an answer, %d not confirmed", b.unanswered.Load(), b.unconfirmed.Load())
	}
	if n := news(root.sensor("sensor").ask(digests, times)); n != 0 || !b.mixed.Load() || b.probed.Load() != uint64(len(digests)) {
		t.Errorf("%d new at a site that is no hub", n)
	}
}

// TestBelowSettings wants impossible settings refused.
func TestBelowSettings(t *testing.T) {
	good := defaults()
	shaped(vertical(2, chain.Bloom))(&good)
	good.Below, good.TopDown = []string{"north"}, 2
	if err := good.CheckBelow(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Settings){
		"nobody": func(s *Settings) { s.Below = nil }, "levels": func(s *Settings) { s.TopDown = maxLevels + 1 },
		"negative": func(s *Settings) { s.TopDown = -1 }, "name": func(s *Settings) { s.Below = []string{"a b"} },
		"twice": func(s *Settings) { s.Below = []string{"a", "a"} }, "rows": func(s *Settings) { s.Shape = chain.Shape{} },
		"timers": func(s *Settings) { shaped(vertical(2, chain.Timers))(s) },
	} {
		s := good
		if change(&s); !errors.Is(s.CheckBelow(), ErrBelow) {
			t.Errorf("%s: %v", name, s.CheckBelow())
		}
	}
}
