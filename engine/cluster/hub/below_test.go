// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/engine/cluster/chain"
	"github.com/flowdedup/flowdedup/engine/hubclient"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// TestTopDown has the hubs of a tree confirm copies to a level: a root of two slices, two hubs of
// three below it, and four that sites ask. Each verdict equals that of engine/paper's tree.
func TestTopDown(t *testing.T) {
	count := 20_000
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
		shape.Primitive, batch, count = chain.FirstTestThenSet, 1, max(1000, count/16)
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
	sliced, err := paper.NewVertical(paper.SlicedConfig{Bits: shape.Size(), K: shape.Hashes, Slices: 2})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Sliced = paper.OnlyRoot(sliced)
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

// probe is a question to a hub below.
type probe struct {
	asker string
	seq   uint64
	n     int
}

// probes gives the questions to the hub of that name, whose place a sensor has.
func (s *sensor) probes(name string) <-chan probe {
	s.t.Helper()
	all := make(chan probe, 100)
	err := s.link.Listen(hubclient.Inbox(name)+"."+downWord+".>", func(subject string, msg []byte, _ bool) {
		var r hubclient.Request
		if err := r.Decode(msg); err != nil {
			s.t.Error(err)
		}
		all <- probe{lastWord(subject), r.Seq, len(r.Digests)}
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}

// TestTopDownMoves has a hub below answer once the slice that has asked takes no more requests, as
// it moves: the site gets the answer all the same.
func TestTopDownMoves(t *testing.T) {
	shape := vertical(1, chain.Bloom)
	shape.Layout, shape.Primitive, shape.Bytes = chain.Horizontal, chain.TestAndSet, 1<<20
	root := newLab(t, func(s *Settings) {
		shaped(shape)(s)
		s.Below, s.TopDown, s.ParentWaitUS = []string{"north", "south"}, 1, time.Minute.Microseconds()
	})
	north, south := root.sensor("north"), root.sensor("south")
	asked := north.probes("north")
	digests, times := []uint64{1 << 40, 2 << 40, 3 << 40}, make([]int64, 3)
	for i := range times {
		times[i] = time.Now().UnixNano()
	}
	if n := news(north.ask(digests, times)); n != len(digests) {
		t.Fatalf("%d new", n)
	}
	answer := make(chan []bool)
	go func() { answer <- south.ask(digests, times) }()
	p, owner := <-asked, root.hub.all()[0]
	ended := make(chan error)
	go func() { ended <- root.hub.Close() }()
	wait.Until(t, "the slice to take no more requests", func() bool {
		root.hub.siteConns.mu.Lock()
		defer root.hub.siteConns.mu.Unlock()
		return owner.subs == nil
	})
	reply := hubclient.Reply{N: uint32(p.n), Seq: p.seq, Copies: []byte{0b101}}
	to := fmt.Sprintf("fd.%s.%s.1.%s.%s.north", root.settings.Namespace, root.settings.Filter, p.asker, foundWord)
	if err := north.link.Send(to, "", reply.Append(nil)); err != nil {
		t.Fatal(err)
	}
	if copies := <-answer; !slices.Equal(copies, []bool{true, false, true}) {
		t.Errorf("copies %v", copies)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if b := root.hub.below; b.unanswered.Load() != 0 || b.unconfirmed.Load() != 1 {
		t.Errorf("%+v", b.status())
	}
	root.hub = nil // for the cleanup
	root.server.Close()
}

// TestProbesCounted has a hub below whose lease has run out: it drops a probe, and answers when it is
// asked again. That counts once.
func TestProbesCounted(t *testing.T) {
	shape := vertical(1, chain.Bloom)
	shape.Primitive, shape.Bytes = chain.TestAndSet, 1<<20
	root := newLab(t, func(s *Settings) {
		shaped(shape)(s)
		s.Below, s.TopDown, s.ParentWaitUS = []string{"north", "south"}, 1, (8 * time.Second).Microseconds()
	})
	north, south := root.under("north", shaped(shape)), root.under("south", shaped(shape))
	a, b := north.sensor("a"), south.sensor("b")
	digests, times := []uint64{1 << 40, 2 << 40, 3 << 40}, make([]int64, 3)
	for i := range times {
		times[i] = time.Now().UnixNano()
	}
	a.ask(digests, times)
	h := north.hub
	h.cancel() // it renews its lease no more
	h.group.Wait()
	h.renewed.Store(-int64(leaseTime))
	answer := make(chan []bool)
	go func() { answer <- b.ask(digests, times) }()
	wait.Until(t, "a probe to be dropped", func() bool { return h.Status().Refused.NotOwner > 0 })
	h.renewed.Store(int64(time.Hour))
	if n := news(<-answer); n != 0 {
		t.Errorf("%d of %d copies are not confirmed", n, len(digests))
	}
	if st := h.Status().Tree; st.Probes != uint64(len(digests)) {
		t.Errorf("%d digests tested for the hub above, want %d", st.Probes, len(digests))
	}
}

// TestDescentsBounded has more requests wait for hubs below than may: the copies of further ones
// count as confirmed at once.
func TestDescentsBounded(t *testing.T) {
	shape := vertical(1, chain.Bloom)
	shape.Layout, shape.Primitive, shape.Bytes = chain.Horizontal, chain.TestAndSet, 1<<20
	root := newLab(t, func(s *Settings) {
		shaped(shape)(s)
		s.Below, s.TopDown, s.ParentWaitUS = []string{"north", "south"}, 1, time.Minute.Microseconds()
	})
	b := root.hub.below
	confirmed := make(chan bool, maxDescents)
	for range maxDescents {
		if b.full(1) || !b.ask(0, 1, []uint64{7}, "", func([]byte) { confirmed <- true }) {
			t.Fatal("refused too early")
		}
	}
	north, south := root.sensor("north"), root.sensor("south")
	digests, times := []uint64{1 << 40, 2 << 40}, []int64{time.Now().UnixNano(), time.Now().UnixNano()}
	north.ask(digests, times)
	if n := news(south.ask(digests, times)); n != 0 || b.unanswered.Load() != 2 || len(confirmed) > 0 {
		t.Errorf("%d new, %d without an answer, %d of the others confirmed", n, b.unanswered.Load(), len(confirmed))
	}
}

// TestTopDownSlices has hubs below with more slices than the hub that asks them: all copies are
// confirmed, and other answers than the ones that are waited for change nothing.
func TestTopDownSlices(t *testing.T) {
	of := func(slices int, change func(*Settings)) func(*Settings) {
		shape := vertical(1, chain.Bloom)
		shape.Layout, shape.H, shape.Primitive, shape.Bytes = chain.Horizontal, slices, chain.TestAndSet, 1<<20
		return func(s *Settings) {
			shaped(shape)(s)
			change(s)
		}
	}
	root := newLab(t, of(2, func(s *Settings) {
		s.Below, s.TopDown, s.ParentWaitUS = []string{"north", "south"}, 1, time.Minute.Microseconds()
	}))
	var sensors []*sensor
	for _, name := range root.settings.Below {
		sensors = append(sensors, root.under(name, of(6, func(*Settings) {})).sensor("a"))
	}
	digests, times := make([]uint64, 3000), make([]int64, 3000)
	for i := range digests {
		digests[i], times[i] = rand.Uint64(), time.Now().UnixNano()
	}
	if n := news(sensors[0].ask(digests, times)); n != len(digests) {
		t.Errorf("%d of %d are new", n, len(digests))
	}
	for id := range uint64(50) {
		for _, r := range []hubclient.Reply{{N: 1, Seq: id, Copies: []byte{0}}, {N: 1024, Seq: id, Copies: make([]byte, 128)}} {
			root.hub.below.found("elsewhere", r.Append(nil))
		}
		root.hub.below.found("north", []byte("none"))
	}
	if n := news(sensors[1].ask(digests, times)); n != 0 {
		t.Errorf("%d of %d copies are not confirmed", n, len(digests))
	}
	if b := root.hub.below; b.probed.Load() != uint64(len(digests)) || b.unconfirmed.Load() != 0 || b.unanswered.Load() != 0 {
		t.Errorf("%+v", b.status())
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
