// SPDX-License-Identifier: Apache-2.0

package slice

import (
	"slices"

	"github.com/flowdedup/flowdedup/engine/hubclient"
)

const (
	// learnSpan is how far clocks may be apart, in microseconds: ten seconds. What lies
	// farther apart are packets that repeat.
	learnSpan = 10_000_000
	// learnFirst is how many packets that two sites have both sent tell how far their
	// clocks are apart; learnAgain as many correct that.
	learnFirst = 16
	learnAgain = 32
	// learnSample is how many packets one is taken of, then.
	learnSample = 8
)

// clocks learns how far the clocks of sites are apart, from the packets that two of them
// have sent: by the median of the differences of their times. These include the way of the
// packets from one site to the other.
//
// Sites are nodes of trees, and the offset of a site counts from the root of its tree. A
// pair of sites in two trees joins them. A pair that is an edge of a tree corrects the
// offsets below it, as clocks drift.
type clocks struct {
	window uint64
	nodes  []siteClock
	pairs  matrix[differences] // of the lower site with the higher one
}

// siteClock is that of a site. Sites are numbered in the order in which they came.
type siteClock struct {
	Offset int64 // of its clock, in microseconds
	Root   int
	Parent int // itself at roots
}

// differences are the last ones of two sites: the later site's time minus that of the
// other, both corrected.
type differences struct {
	Last  [learnAgain]int64
	Count int
}

func (c *clocks) add() {
	at := len(c.nodes)
	c.nodes = append(c.nodes, siteClock{Root: at, Parent: at})
	c.pairs.add()
}

// observe notes that two sites have seen a packet at such corrected times. Of a pair that
// is in a tree, a sample is enough.
func (c *clocks) observe(digest uint64, a, b int, atA, atB int64) {
	joined := c.nodes[a].Root == c.nodes[b].Root
	if joined && digest%learnSample != 0 || distance(atA, atB) > learnSpan {
		return
	}
	if a > b {
		a, b, atA, atB = b, a, atB, atA
	}
	if joined && c.nodes[a].Parent != b && c.nodes[b].Parent != a {
		return
	}
	p := c.pairs.at(a, b)
	p.Last[p.Count%learnAgain] = atB - atA
	p.Count++
	wanted := learnFirst
	if joined {
		wanted = learnAgain
	}
	if p.Count%wanted == 0 {
		c.settle(a, b, p, joined)
	}
}

// settle joins the trees of two sites, or corrects the one they are in.
func (c *clocks) settle(a, b int, p *differences, joined bool) {
	median, ok := p.median(c.window)
	if !ok {
		return
	}
	if distance(median, 0) <= max(c.window/4, hubclient.DeltaUnit) {
		median = 0 // the window has room for that
	}
	if joined && median == 0 {
		return
	}
	if joined && c.nodes[a].Parent == b {
		a, b, median = b, a, -median
	}
	if !joined {
		c.reroot(b)
		c.nodes[b].Parent = a
	}
	root := c.nodes[a].Root
	for i := range c.nodes {
		if c.below(i, b) {
			c.nodes[i].Offset += median
			c.nodes[i].Root = root
		}
	}
	if median != 0 {
		c.pairs.reset() // differences of corrected times begin again
	}
}

// median returns the middle of the last differences. It reports false where more than a
// quarter lies elsewhere: those are packets that repeat.
func (p *differences) median(window uint64) (int64, bool) {
	sorted := p.Last
	all := sorted[:min(p.Count, learnAgain)]
	slices.Sort(all)
	middle, near := all[len(all)/2], 0
	for _, d := range all {
		if distance(d, middle) <= window {
			near++
		}
	}
	return middle, 4*near >= 3*len(all)
}

// reroot makes a site the root of its tree: the edges on its way up turn round.
func (c *clocks) reroot(site int) {
	for child, at := site, site; ; {
		parent := c.nodes[at].Parent
		c.nodes[at].Parent = child
		if parent == at {
			return
		}
		child, at = at, parent
	}
}

// below reports whether a site is in the tree below another, or is that one.
func (c *clocks) below(site, top int) bool {
	for site != top {
		if c.nodes[site].Parent == site {
			return false
		}
		site = c.nodes[site].Parent
	}
	return true
}
