// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/engine/cluster/chain"
	"github.com/flowdedup/flowdedup/engine/hubclient"
	"github.com/flowdedup/flowdedup/engine/hubclient/natslink"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// under starts a hub below another one, as its site of that name.
func (l *lab) under(site string, change func(*Settings)) *lab {
	l.t.Helper()
	token := l.token(site)
	return newLab(l.t, func(s *Settings) {
		s.ParentWaitUS = time.Minute.Microseconds()
		if change != nil {
			change(s)
		}
		s.SetParent(token)
	})
}

// TestTreeVersion has a site of --below that is a hub of another version, or a sensor: it is
// refused, as it would not get probes. The same client is served where it needs none.
func TestTreeVersion(t *testing.T) {
	shape := vertical(1, chain.Bloom)
	l := newLab(t, func(s *Settings) {
		shaped(shape)(s)
		s.Below, s.TopDown = []string{"north"}, 1
	})
	for _, c := range []struct {
		site string
		hub  uint64
		want error
	}{{"north", 0, hubclient.ErrOther}, {"north", 1, nil}, {"berlin", 0, nil}} {
		token := l.token(c.site)
		link, unreached, err := natslink.Dial(token, func(error) {})
		if err = errors.Join(unreached, err); err != nil {
			t.Fatal(err)
		}
		client := hubclient.NewClient(hubclient.ClientConfig{Token: token, Wait: time.Minute, Hub: c.hub}, link, "run")
		if err := link.Listen(client.Inbox(), client.Receive); err != nil {
			t.Fatal(err)
		}
		if err := client.Ping(); !errors.Is(err, c.want) {
			t.Errorf("site %s, hub %v: %v, want %v", c.site, c.hub, err, c.want)
		}
		client.Close()
		link.Close()
	}
}

// TestJoinedWithoutSites has a hub join others that have not said which sites there are, as an older
// version does not: it takes no slices.
func TestJoinedWithoutSites(t *testing.T) {
	l := newLab(t, nil)
	if err := l.hub.layout.owners.Purge(t.Context(), sitesKey); err != nil {
		t.Fatal(err)
	}
	line, err := l.folder.Invite(l.settings)
	if err != nil {
		t.Fatal(err)
	}
	folder, settings, err := Accept(t.TempDir(), line)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Start(Config{Name: "second", URL: settings.NATS, Folder: folder, Settings: settings, Log: newTestLog(t), Memory: 1 << 22, Limit: 1 << 26})
	if !errors.Is(err, errNoSites) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
	if st := l.hub.Status(); st.Owned != st.Slices {
		t.Errorf("%d of %d slices left", st.Owned, st.Slices)
	}
}

// unsetBits are bits that filters of a test have, by its number of events.
func unsetBits(count int) int { return 48 * (count / 24) }

// TestTreeAgrees has a tree of seven hubs answer a stream: a root of two slices, two hubs
// of three below it, and four hubs that sites ask. Each verdict equals that of
// engine/paper's tree, including false positives, and so do accesses and hits of each
// level.
func TestTreeAgrees(t *testing.T) {
	count := 400_000
	if testing.Short() {
		count = 20_000
	}
	for _, c := range []struct {
		filter, primitive string
		dense             bool
	}{
		{chain.Bloom, chain.TestAndSet, true}, {chain.Bloom, chain.FirstTestThenSet, false},
		{chain.Timers, chain.FirstTestThenSet, false}, {chain.Timers, chain.FirstTestThenSet, true},
	} {
		t.Run(fmt.Sprintf("%s %s, dense %v", c.filter, c.primitive, c.dense), func(t *testing.T) {
			shape := vertical(1, c.filter)
			shape.Primitive, shape.Bytes = c.primitive, unsetBits(count)/8
			if c.filter == chain.Timers {
				shape.Bytes = 48 * (count / 24) // a window sees a part of them
			}
			of := func(v int) func(*Settings) {
				s := shape
				s.V = v
				return func(all *Settings) {
					shaped(s)(all)
					all.WindowUS, all.Dense = 100_000, c.dense && c.filter == chain.Timers
				}
			}
			root := newLab(t, of(2))
			var levels [3][]*lab
			levels[0] = []*lab{root}
			for i := range 2 {
				levels[1] = append(levels[1], root.under(fmt.Sprint("middle", i), of(3)))
			}
			var sensors []*sensor
			for i := range 4 {
				leaf := levels[1][i/2].under(fmt.Sprint("leaf", i), of(1))
				levels[2] = append(levels[2], leaf)
				sensors = append(sensors, leaf.sensor("a"))
			}
			sameVerdicts(t, shape, c.dense, sensors, levels, count)
		})
	}
}

// reference makes the tree of engine/paper.
func reference(t *testing.T, s chain.Shape, dense bool) *paper.Tree {
	cfg := paper.TreeConfig{Bits: s.Size(), K: s.Hashes, FanOut: []int{2, 2}, Dense: dense}
	if s.Filter == chain.Timers {
		cfg.Window = int(s.Window())
	} else {
		root, err := paper.NewVertical(paper.SlicedConfig{Bits: s.Size(), K: s.Hashes, Slices: 2})
		if err != nil {
			t.Fatal(err)
		}
		cfg.Sliced = paper.OnlyRoot(root)
	}
	tree, err := paper.NewTree(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func sameVerdicts(t *testing.T, shape chain.Shape, dense bool, sensors []*sensor, levels [3][]*lab, count int) {
	compareTree(t, reference(t, shape, dense), shape, dense, sensors, levels, count, 100)
}

// compareTree has sensors send batches, and compares each verdict, and the counts of each level,
// with those of a tree of engine/paper.
func compareTree(t *testing.T, model *paper.Tree, shape chain.Shape, dense bool, sensors []*sensor, levels [3][]*lab, count, batch int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 1))
	digests, times := make([]uint64, batch), make([]int64, batch)
	now, copies, wrong, seen := int64(1e18), 0, 0, map[uint64]bool{}
	for from := 0; from < count; from += batch {
		leaf := rng.IntN(len(sensors))
		for i := range digests {
			now += rng.Int64N(40_000)
			digests[i], times[i] = rng.Uint64N(uint64(count/3))*0x9e3779b97f4a7c15, now
			// With a window, an element that equals another one on its way up is a copy,
			// even if the other is a copy of an element which has just left the window.
			// So no such batch has equal elements.
			for shape.Filter == chain.Timers && slices.Contains(digests[:i], digests[i]) {
				digests[i] = rng.Uint64N(uint64(count/3)) * 0x9e3779b97f4a7c15
			}
		}
		for i, isCopy := range sensors[leaf].ask(digests, times) {
			element := digests[i] & (1<<hubclient.DigestBits - 1)
			unit := uint64(times[i]) / 1000 / hubclient.DeltaUnit / shape.Unit()
			if want := model.TestAndSetFromAt(leaf, digest.Digest{element, 0}, unit); isCopy != want {
				t.Fatalf("event %d: copy %v, want %v", from+i, isCopy, want)
			}
			if isCopy {
				copies++
				if !seen[element] {
					wrong++
				}
			}
			seen[element] = true
		}
	}
	t.Logf("%d events, %d copies, %d of them false", count, copies, wrong)
	if wrong == 0 {
		t.Error("no false positive: the filters are too large to tell trees apart")
	}
	for level, counts := range model.Levels() {
		if level == 0 {
			continue // the root is below no hub
		}
		var digests, hits, accesses uint64
		for _, l := range levels[level] {
			all := l.hub.Status()
			st, passed := all.Tree, uint64(0)
			if all.TopDown != nil {
				passed = all.TopDown.Unconfirmed
			}
			digests, hits, accesses = digests+st.Digests+st.Probes, hits+st.Hits, accesses+st.Accesses
			if st.Unchecked != 0 || st.Failure != "" || st.Sparse == dense || st.Asked != st.Digests-st.Hits-passed || st.TheoryBits <= 0 || st.PerDigest <= 0 {
				t.Errorf("level %d: %+v", level, st)
			}
		}
		t.Logf("level %d: %d tested, %d hits, %d accesses, want %+v", level, digests, hits, accesses, counts)
		// Elements of one request are tested here before the root has decided about the first of
		// them. So a sparse tree may ask about some that the model has set by then.
		if near := count / 100; !within(digests, counts.Tests, near) || !within(hits, counts.Hits, near) || !within(accesses, counts.Accesses(), near) {
			t.Errorf("level %d: %d tested, %d hits, %d accesses, want %+v", level, digests, hits, accesses, counts)
		}
		if dense && shape.Filter == chain.Bloom && (digests != uint64(counts.Tests) || hits != uint64(counts.Hits)) {
			t.Errorf("level %d: %d tested, %d hits, want %+v", level, digests, hits, counts)
		}
	}
}

func within(got uint64, want, near int) bool {
	return math.Abs(float64(got)-float64(want)) <= float64(near)
}

// TestTreeRace has four sites, two at each of two hubs below a root, send the same packets at the
// same time. Each stays at one of them, by rows and by the other filters.
func TestTreeRace(t *testing.T) {
	for _, c := range []struct{ filter, primitive string }{
		{"rows", ""}, {chain.Bloom, chain.TestAndSet}, {chain.Bloom, chain.FirstTestThenSet}, {chain.Timers, chain.FirstTestThenSet},
	} {
		t.Run(c.filter+" "+c.primitive, func(t *testing.T) {
			change := func(v int) func(*Settings) {
				return func(s *Settings) {
					if s.WindowUS = 60_000_000; c.filter == "rows" {
						s.Slices = 2 * v
						return
					}
					shape := vertical(v, c.filter)
					shape.Primitive, shape.Bytes, shape.WindowUS = c.primitive, 48<<19, shape.WindowUS*600
					shaped(shape)(s)
				}
			}
			root := newLab(t, change(1))
			var sensors []*sensor
			for _, region := range []string{"north", "south"} {
				l := root.under(region, change(3))
				sensors = append(sensors, l.sensor("a"), l.sensor("b"))
			}
			oneIsNew(t, rand.New(rand.NewPCG(3, 1)), sensors)
		})
	}
}

// TestParentDies stops the hub above, and starts it again. Meanwhile new elements pass,
// or do not if the filter is closed, counted as unchecked, here and by the sensors;
// afterwards copies are found again.
func TestParentDies(t *testing.T) {
	for _, closed := range []bool{false, true} {
		t.Run(fmt.Sprint("closed ", closed), func(t *testing.T) {
			shape := vertical(1, chain.Bloom)
			if closed {
				shape.AtLeast = 0
			}
			root := newLab(t, shaped(shape))
			impatient := func(s *Settings) {
				shaped(shape)(s)
				s.ParentWaitUS = (1900 * time.Millisecond).Microseconds() // the most that does not wait for a connection
			}
			north, south := root.under("north", impatient), root.under("south", impatient)
			a, b := north.sensor("a"), south.sensor("b")
			digests, times := make([]uint64, 1000), make([]int64, 1000)
			for i := range digests {
				digests[i], times[i] = rand.Uint64(), time.Now().UnixNano()
			}
			if n := news(a.ask(digests, times)); n != len(digests) {
				t.Fatalf("%d new", n)
			}
			root.settings.Listen = root.server.URL()[len("nats://"):] // where it comes back
			root.stop()
			wait.Until(t, "the hub to see it", func() bool { return len(south.hub.Failures()) > 0 || !south.hub.parent.Connected() })
			var lost hubclient.Answers
			wide := make([]digest.Digest, len(digests))
			for i := range wide {
				wide[i][0] = rand.Uint64()
			}
			b.client.Ask(&lost, wide, times, make([]uint64, len(wide)/64+1))
			b.client.Wait(&lost)
			if isCopy := lost.Copies[0]&1 != 0; lost.Unchecked != len(wide) || isCopy != closed {
				t.Errorf("%d unchecked, copy %v", lost.Unchecked, isCopy)
			}
			if st := south.hub.Status().Tree; st.Unchecked != uint64(len(wide)) || st.HitsAbove != 0 {
				t.Errorf("%+v", st)
			}
			root.start()
			wait.Until(t, "the hub above", func() bool { return south.hub.parent.Connected() && len(south.hub.Failures()) == 0 })
			if n := news(b.ask(digests, times)); n != 0 {
				t.Errorf("%d of %d are new after the hub above has come back", n, len(digests))
			}
		})
	}
}

// TestParentCut stops the server above, and has a hub that waits long enough ask meanwhile: it gets
// the answer once the server is back.
func TestParentCut(t *testing.T) {
	shape := vertical(1, chain.Bloom)
	root := newLab(t, shaped(shape))
	a, b := root.under("north", shaped(shape)).sensor("a"), root.under("south", shaped(shape))
	digests, times := make([]uint64, 100), make([]int64, 100)
	for i := range digests {
		digests[i], times[i] = rand.Uint64(), time.Now().UnixNano()
	}
	if n := news(a.ask(digests, times)); n != len(digests) {
		t.Fatalf("%d new", n)
	}
	south := b.sensor("b")
	root.settings.Listen = root.server.URL()[len("nats://"):]
	root.stop()
	wait.Until(t, "the hub to see it", func() bool { return !b.hub.parent.Connected() })
	answer := make(chan []bool)
	go func() { answer <- south.ask(digests, times) }()
	wait.Until(t, "the hub to ask", func() bool { return b.hub.Status().Tree.Asked == uint64(len(digests)) })
	root.start()
	if n := news(<-answer); n != 0 {
		t.Errorf("%d of %d copies are new", n, len(digests))
	}
}

// TestParentSettings wants filters refused that do not fit the one above.
func TestParentSettings(t *testing.T) {
	root := newLab(t, func(s *Settings) { s.Slices = 6 })
	token := root.token("north")
	for name, change := range map[string]func(*Settings){
		"slices": func(s *Settings) { s.Slices = 8 },
		"events": func(s *Settings) {
			sh := vertical(1, chain.Events)
			sh.Layout, sh.H, sh.Deliveries = chain.Horizontal, 6, 10
			s.Shape = sh
		},
		"journal": func(s *Settings) {
			sh := vertical(1, chain.Bloom)
			sh.Layout, sh.H = chain.Horizontal, 6
			s.Shape, s.Journal = sh, true
		},
		"wait": func(s *Settings) { s.ParentWaitUS = 0 }, "dense rows": func(s *Settings) { s.Dense = true },
	} {
		s := defaults()
		s.Slices, s.ParentWaitUS = 12, 1
		if !s.SetParent(token) {
			t.Error("tokens of before are valid")
		}
		if err := s.CheckParent(); err != nil {
			t.Fatal(err)
		}
		if change(&s); !errors.Is(s.CheckParent(), ErrParent) {
			t.Errorf("%s: %v", name, s.CheckParent())
		}
	}
}
