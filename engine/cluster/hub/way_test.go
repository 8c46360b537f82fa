// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/engine/cluster/chain"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// below restarts a hub below another one, which it reaches by the given host.
func (l *lab) below(above *lab, site, host string) {
	l.t.Helper()
	token := above.token(site)
	u, err := url.Parse(token.URL)
	if err != nil {
		l.t.Fatal(err)
	}
	token.URL = "nats://" + host + ":" + u.Port()
	l.again(func(s *Settings) { s.SetParent(token) })
}

// again restarts a hub at its address, with changed settings.
func (l *lab) again(change func(*Settings)) {
	l.t.Helper()
	l.settings.Listen = strings.TrimPrefix(l.settings.URL, "nats://")
	l.stop()
	change(&l.settings)
	l.start()
}

// verdicts asks about packets, and returns which are copies, and how many are unchecked.
func (s *sensor) verdicts(digests []uint64, times []int64) (copies []bool, unchecked int) {
	var a hubclient.Answers
	wide := make([]digest.Digest, len(digests))
	for i, d := range digests {
		wide[i][0] = d
	}
	s.client.Ask(&a, wide, times, make([]uint64, (len(digests)+63)/64))
	s.client.Wait(&a)
	for i := range digests {
		copies = append(copies, a.Copies[i/64]>>(i%64)&1 != 0)
	}
	return copies, a.Unchecked
}

// together has sensors send the same new packets at the same time, and returns at how many each
// stays. Kept and removed packets are all that were sent.
func together(t *testing.T, sensors []*sensor) (stays []int, unchecked int) {
	t.Helper()
	const packets = 2400
	digests, times := make([]uint64, packets), make([]int64, packets)
	for i := range digests {
		digests[i], times[i] = rand.Uint64(), time.Now().UnixNano()
	}
	stays = make([]int, packets)
	var mu sync.Mutex
	var group sync.WaitGroup
	for _, s := range sensors {
		group.Go(func() {
			copies, n := s.verdicts(digests, times)
			mu.Lock()
			defer mu.Unlock()
			unchecked += n
			for i, isCopy := range copies {
				if !isCopy {
					stays[i]++
				}
			}
		})
	}
	group.Wait()
	return stays, unchecked
}

// inRing reports whether a hub says that it is in a ring, or below one.
func (l *lab) inRing() bool { return strings.Contains(l.hub.parent.client.Failing(), "in a ring") }

// TestRings closes rings of hubs, last by the hub that was the root of a tree: under another name of
// its host, with a tree below, and with each kind of filter. No packet is missing at all sites, from
// the first request on, and all hubs say why. Once the ring is open again, it is a sound tree, and no
// packet is left unchecked.
func TestRings(t *testing.T) {
	vertical := func(filter string, closed bool) func(*Settings) {
		shape := vertical(2, filter)
		shape.Bytes = 48 << 19
		if closed {
			shape.AtLeast = 0
		}
		return shaped(shape)
	}
	for _, c := range []struct {
		name         string
		hubs, leaves int
		change       func(*Settings)
	}{
		{"one", 1, 0, nil}, {"two", 2, 0, nil}, {"three", 3, 0, nil}, {"one with a tree below", 1, 2, nil}, {"three with a tree below", 3, 2, nil},
		{"bloom", 2, 0, vertical(chain.Bloom, false)}, {"timers", 2, 1, vertical(chain.Timers, false)}, {"closed", 2, 1, vertical(chain.Bloom, true)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && c.hubs+c.leaves != 5 {
				t.Skip("a ring of each kind takes a minute")
			}
			change := func(s *Settings) {
				s.Slices, s.WindowUS, s.ParentWaitUS = 4, time.Minute.Microseconds(), (100 * time.Millisecond).Microseconds()
				if c.change != nil {
					c.change(s)
				}
			}
			root := newLab(t, change)
			hubs := []*lab{root}
			for i := range c.hubs - 1 + c.leaves {
				hubs = append(hubs, hubs[i].under(fmt.Sprint("below", i), change))
			}
			var sensors []*sensor
			for _, l := range hubs {
				sensors = append(sensors, l.sensor("a"), l.sensor("b"))
			}
			oneEach(t, sensors)
			root.below(hubs[c.hubs-1], "closing", "localhost")
			for range 3 {
				atLeastOne(t, sensors)
			}
			wait.Until(t, "all hubs to see the ring", func() bool {
				for _, l := range hubs {
					if !l.inRing() {
						return false
					}
				}
				return true
			})
			stays, unchecked := together(t, sensors[:1])
			if unchecked != len(stays) || stays[0] != 1 {
				t.Errorf("%d of %d unchecked, the first is kept %d times", unchecked, len(stays), stays[0])
			}
			atLeastOne(t, sensors)
			root.again(func(s *Settings) { s.Parent = "" })
			wait.Until(t, "an open ring", func() bool {
				for _, l := range hubs {
					if len(l.hub.Failures()) > 0 {
						return false
					}
				}
				return true
			})
			oneEach(t, sensors)
		})
	}
}

// atLeastOne wants packets that sensors send at the same time to stay at one or more.
func atLeastOne(t *testing.T, sensors []*sensor) {
	t.Helper()
	stays, _ := together(t, sensors)
	lost := 0
	for _, n := range stays {
		if n == 0 {
			lost++
		}
	}
	if lost > 0 {
		t.Errorf("%d of %d packets are lost", lost, len(stays))
	}
}

// oneEach wants them to stay at one, which they do once all sensors are connected, and their slices
// are asked again.
func oneEach(t *testing.T, sensors []*sensor) {
	t.Helper()
	wait.Until(t, "packets that are all checked", func() bool {
		stays, unchecked := together(t, sensors)
		for i, n := range stays {
			if n == 0 || n != 1 && unchecked == 0 {
				t.Fatalf("packet %d stays at %d of %d", i, n, len(sensors))
			}
		}
		return unchecked == 0
	})
}

// TestRingsRandom restarts hubs below others at random, as they are or at once. Whatever they ask,
// each packet stays somewhere. In the end all are in one tree.
func TestRingsRandom(t *testing.T) {
	rounds := 6
	if testing.Short() {
		rounds = 2
	}
	rng := rand.New(rand.NewPCG(54, 6))
	change := func(s *Settings) {
		s.Slices, s.WindowUS, s.ParentWaitUS = 2, time.Minute.Microseconds(), (50 * time.Millisecond).Microseconds()
	}
	hubs := []*lab{newLab(t, change)}
	for i := range 3 {
		hubs = append(hubs, hubs[0].under(fmt.Sprint("h", i+1), change))
	}
	var sensors []*sensor
	for _, l := range hubs {
		sensors = append(sensors, l.sensor("a"), l.sensor("b"))
	}
	for range rounds {
		var group sync.WaitGroup
		tokens := map[int]hubclient.Token{}
		for range 1 + rng.IntN(2) {
			i, k := rng.IntN(len(hubs)), rng.IntN(len(hubs))
			tokens[i] = hubs[k].token(fmt.Sprint("h", i))
		}
		for i, token := range tokens {
			group.Go(func() { hubs[i].again(func(s *Settings) { s.SetParent(token) }) })
		}
		group.Wait()
		for range 3 {
			atLeastOne(t, sensors)
			time.Sleep(time.Duration(rng.IntN(400)) * time.Millisecond)
		}
	}
	for i := range hubs[1:] {
		hubs[i+1].below(hubs[i/2], fmt.Sprint("h", i+1), "127.0.0.1")
	}
	hubs[0].again(func(s *Settings) { s.Parent = "" })
	oneEach(t, sensors)
}

// TestOwnParent refuses a token of the hub itself, by any address, and not the tokens of others.
func TestOwnParent(t *testing.T) {
	l, other := newLab(t, nil), newLab(t, nil)
	for _, c := range []struct {
		from *lab
		url  string
		own  bool
	}{{l, "", true}, {l, "nats://localhost:1", true}, {other, "", false}} {
		token, s := c.from.token("north"), l.settings
		if c.url != "" {
			token.URL = c.url
		}
		s.SetParent(token)
		if err := l.folder.CheckParent(&s); errors.Is(err, ErrParent) != c.own {
			t.Errorf("%s: %v", token.URL, err)
		}
	}
	if err := l.folder.CheckParent(&l.settings); err != nil {
		t.Error(err)
	}
}
