// SPDX-License-Identifier: Apache-2.0

package paper

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/bench/zipf"
	"github.com/flowdedup/flowdedup/engine/cluster/chain"
	"github.com/flowdedup/flowdedup/engine/hubclient"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// fanOut is the fan-out of the tree of hubs: four levels, 64 leaves, 85 hubs. Figure 12 has one
// level more.
const (
	fanOut    = 4
	lastLevel = 3
	leafHubs  = 64
)

// hubTree is hubs, each with a server of its own, and a sensor at each leaf.
type hubTree struct {
	t       *testing.T
	sensors []*hubclient.Client
}

// newHubTree starts a tree with filters of the given number of bits and top-down testing to a
// level.
func newHubTree(t *testing.T, bits, level int, dense bool) *hubTree {
	t.Helper()
	shape := chain.Shape{
		Layout: chain.Horizontal, H: 1, V: 1, Filter: chain.Bloom, Hashes: hashes, Bytes: bits / 8, Primitive: chain.TestAndSet, AtLeast: hashes,
	}
	if !dense {
		shape.Primitive = chain.FirstTestThenSet
	}
	tree, above := &hubTree{t: t}, []*cluster(nil)
	for l := range lastLevel + 1 {
		var here []*cluster
		for i := range 1 << (2 * l) {
			c := newCluster(t)
			s := &c.settings
			s.Filter, s.Shape, s.Slices = node(l, i), shape, 1
			s.ID, s.ParentWaitUS = s.Filter, time.Minute.Microseconds()
			if l > 0 {
				parent := above[i/fanOut]
				s.SetParent(parent.token(parent.settings, s.Filter))
			}
			if l < lastLevel {
				for child := i * fanOut; child < (i+1)*fanOut; child++ {
					s.Below = append(s.Below, node(l+1, child))
				}
				s.TopDown = max(level-l, 0)
			}
			c.start(*s)
			here = append(here, c)
			if l == lastLevel {
				tree.sensors = append(tree.sensors, c.client(*s, fmt.Sprint("sensor", i), hubclient.ClientConfig{Wait: time.Minute, Block: true}, nil))
			}
		}
		above = here
	}
	return tree
}

// node is the name of a hub.
func node(level, i int) string { return fmt.Sprintf("l%dn%d", level, i) }

// ask asks from a leaf.
func (tr *hubTree) ask(leaf int, digests []digest.Digest) []bool {
	tr.t.Helper()
	times := make([]int64, len(digests))
	for i := range times {
		times[i] = 1e18
	}
	seen, unchecked := askAt(tr.sensors[leaf], digests, times)
	if unchecked > 0 {
		tr.t.Fatalf("%d elements have no answer", unchecked)
	}
	return seen
}

// located is an event at a leaf.
type located struct {
	id   uint32
	leaf int
}

// locate gives the events of a run leaves. Popular ones are anywhere. In each part of the stream
// the events of a leaf follow each other, so that they go in one request.
func locate(run, count int) []located {
	ranks, random := zipf.New(leafHubs, 1), rand.NewPCG(2000+uint64(run), 0)
	at := rand.New(rand.NewPCG(uint64(run), 2)).Perm(leafHubs)
	all := make([]located, count)
	for i, id := range webLog.draw(run)[:count] {
		all[i] = located{id, at[ranks.Draw(random.Uint64())]}
	}
	const part = 4000
	for from := 0; from < count; from += part {
		slices.SortStableFunc(all[from:min(from+part, count)], func(a, b located) int { return a.leaf - b.leaf })
	}
	return all
}

// model is the same tree of engine/paper. Its nodes choose bits as hubs do, because they could be
// sliced.
func model(bits, level int, dense bool) (*paper.Tree, error) {
	none := func(int, int) *paper.Sliced { return nil }
	return paper.NewTree(paper.TreeConfig{Bits: bits, K: hashes, FanOut: []int{fanOut, fanOut, fanOut}, Dense: dense, TopDown: level, Sliced: none})
}

// treeRates returns the rates of a tree of hubs. Each verdict of a dense one must equal the model's.
// In a sparse one elements of a request are tested before the first of them is set.
func treeRates(t *testing.T, bits, level, count int, dense bool) (rates []float64) {
	t.Run("wire", func(t *testing.T) {
		tr, sc := newHubTree(t, bits, level, dense), newScore(webLog)
		m, err := model(bits, level, dense)
		if err != nil {
			t.Fatal(err)
		}
		all := locate(simulations, count)
		for from := 0; from < count; {
			to := from
			var digests []digest.Digest
			for ; to < count && all[to].leaf == all[from].leaf && len(digests) < 1000; to++ {
				digests = append(digests, digestOf(simulations, all[to].id))
			}
			for i, seen := range tr.ask(all[from].leaf, digests) {
				element := digest.Digest{digests[i][0] & (1<<hubclient.DigestBits - 1), 0}
				if want := m.TestAndSetFrom(all[from].leaf, element); dense && seen != want {
					t.Fatalf("event %d: duplicate %v, want %v", from+i, seen, want)
				}
				sc.add(all[from+i].id, seen)
			}
			from = to
		}
		rates = []float64{sc.fpr(), sc.fnr()}
	})
	return rates
}

// topDown is Figure 12(c).
func (r *redone) topDown() {
	bits := webLog.bits[2] / 8 * 8
	r.table("Figure 12(c): top-down testing to level d in a tree of 85 hubs, for 8 %: rates in %",
		"d", "sparse, false positives", "simulated", "misses", "simulated", "dense, false positives", "simulated", "misses", "simulated")
	for d := range lastLevel + 1 {
		fmt.Fprintf(&r.out, "| %d", d)
		for _, dense := range []bool{false, true} {
			wire := treeRates(r.t, bits, d, events, dense)
			if len(wire) == 0 {
				return // the test has failed
			}
			simulated := simulate(r.t, func(run int) ([]float64, error) {
				m, err := model(bits, d, dense)
				if err != nil {
					return nil, err
				}
				sc := newScore(webLog)
				for _, one := range locate(run, events) {
					sc.add(one.id, m.TestAndSetFrom(one.leaf, digestOf(run, one.id)))
				}
				return []float64{sc.fpr(), sc.fnr()}, nil
			})
			what := fmt.Sprintf("d = %d, dense %v", d, dense)
			fmt.Fprintf(&r.out, " | %s | %s", r.compare(what, wire[0], simulated[0], 200/float64(webLog.distinct)),
				r.compare(what+", misses", wire[1], simulated[1], 200/float64(events-webLog.distinct)))
		}
		fmt.Fprintln(&r.out, " |")
	}
}

// TestHubTree runs some events through the tree of Figure 12(c).
func TestHubTree(t *testing.T) {
	if testing.Short() {
		t.Skip("starts 85 hubs")
	}
	treeRates(t, 1<<13, 2, 4000, true)
}
