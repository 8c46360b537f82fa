// SPDX-License-Identifier: Apache-2.0

package paper

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/bench/zipf"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// fanOut is the fan-out of the tree of Figure 12: 5 levels, 256 leaves, 341 nodes.
const (
	fanOut    = 4
	lastLevel = 4
)

// nodes asks the nodes of a tree over the wire. Node i of level l is slice (4^l-1)/3 + i.
type nodes struct {
	*producer
	dense   bool
	topDown int
}

// number returns the slice of a node.
func number(level, i int) int { return (1<<(2*level)-1)/3 + i }

// ancestor returns which node of a level is above a leaf.
func ancestor(level, leaf int) int { return leaf >> (2 * (lastLevel - level)) }

func (n *nodes) one(level, i int, op byte, d uint64) bool {
	return n.ask(number(level, i), op, []uint64{d})[0]
}

// testAndSet is Algorithm 1 or 2 with top-down testing, from a leaf.
func (n *nodes) testAndSet(leaf int, d uint64) (seen bool) {
	op := byte(opTest)
	if n.dense {
		op = opTAS
	}
	level, match := lastLevel, false
	for ; ; level-- {
		if match = n.one(level, ancestor(level, leaf), op, d); match || level == 0 {
			break
		}
	}
	if match && n.confirmed(level, leaf, d) {
		return true
	}
	if !n.dense {
		unset := level
		if match {
			unset++ // the match has the bits already
		}
		for ; unset <= lastLevel; unset++ {
			n.one(unset, ancestor(unset, leaf), opSet, d)
		}
	}
	return false
}

// confirmed tests from a match down, except the path that was climbed.
func (n *nodes) confirmed(level, leaf int, d uint64) bool {
	if level >= n.topDown {
		return true
	}
	matches := n.below([]int{ancestor(level, leaf)}, level, ancestor(level+1, leaf), d)
	for level++; level < n.topDown && len(matches) > 0; level++ {
		matches = n.below(matches, level, -1, d)
	}
	return len(matches) > 0
}

// below returns the matching children of some nodes, except one.
func (n *nodes) below(above []int, level, except int, d uint64) (matches []int) {
	for _, i := range above {
		for child := i * fanOut; child < (i+1)*fanOut; child++ {
			if child != except && n.one(level+1, child, opTest, d) {
				matches = append(matches, child)
			}
		}
	}
	return matches
}

// leaves returns the leaf of each event of a run: popular ones are anywhere.
func leaves(run int) []int {
	ranks, random := zipf.New(256, 1), rand.NewPCG(2000+uint64(run), 0)
	at := rand.New(rand.NewPCG(uint64(run), 2)).Perm(256)
	all := make([]int, events)
	for i := range all {
		all[i] = at[ranks.Draw(random.Uint64())]
	}
	return all
}

// topDown is Figure 12(c).
func (r *redone) topDown() {
	bits := webLog.bits[2]
	r.table("Figure 12(c): top-down testing to level d in a tree of 341 nodes, for 8 %: rates in %",
		"d", "sparse, false positives", "simulated", "misses", "simulated", "dense, false positives", "simulated", "misses", "simulated")
	for d := range lastLevel + 1 {
		fmt.Fprintf(&r.out, "| %d", d)
		for _, dense := range []bool{false, true} {
			wire := r.treeRates(bits, d, dense)
			simulated := simulate(r.t, func(run int) ([]float64, error) {
				tree, err := paper.NewTree(paper.TreeConfig{Bits: bits, K: hashes, FanOut: []int{fanOut, fanOut, fanOut, fanOut}, Dense: dense, TopDown: d})
				if err != nil {
					return nil, err
				}
				sc, from := newScore(webLog), leaves(run)
				for i, id := range webLog.draw(run) {
					sc.add(id, tree.TestAndSetFrom(from[i], digestOf(run, id)))
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

// treeRates returns the rates of a tree over the wire.
func (r *redone) treeRates(bits, d int, dense bool) (rates []float64) {
	r.t.Run("wire", func(t *testing.T) {
		s := startServer(t)
		startSlices(t, s, arrangement{h: number(lastLevel+1, 0), v: 1, k: hashes, bits: number(lastLevel+1, 0) * bits})
		n := &nodes{&producer{t: t, conn: dial(t, s), a: arrangement{h: 1, v: 1, k: hashes, bits: bits}}, dense, d}
		sc, from := newScore(webLog), leaves(simulations)
		for i, id := range webLog.draw(simulations) {
			sc.add(id, n.testAndSet(from[i], digestOf(simulations, id)[0]))
		}
		rates = []float64{sc.fpr(), sc.fnr()}
	})
	return rates
}
