// SPDX-License-Identifier: Apache-2.0

package slice

import (
	"slices"

	"github.com/flowdedup/flowdedup/engine/hubclient"
)

const (
	// learnSpan is the largest learned difference of clocks, in microseconds: ten
	// seconds. Sightings that lie farther apart are repeated packets.
	learnSpan = 10_000_000
	// learnFirst is the number of packets, each sent by both of two sites, from which the
	// difference of their clocks is first learned; learnAgain later copies correct it.
	learnFirst = 16
	learnAgain = 32
	// learnSample is the sampling interval in packets after that.
	learnSample = 8
)

// clocks learns the differences between the clocks of sites from the packets that two of
// them have sent: as the median of the differences of their times. These include the
// delay of the packets from one site to the other.
//
// Sites are nodes of trees, and the offset of a site counts from the root of its tree. A
// pair of sites in two trees joins them. A pair that is an edge of a tree corrects the
// offsets below it, as clocks drift.
type clocks struct {
	window uint64
	nodes  []siteClock
	pairs  matrix[differences] // of the lower site with the higher site
}

// siteClock is the clock of a site. Sites are numbered in the order in which they came.
type siteClock struct {
	Offset int64 // of its clock, in microseconds
	Root   int
	Parent int // itself at roots
}

// differences are the last differences of two sites: the later site's time minus the
// other's, both corrected.
type differences struct {
	Last  [learnAgain]int64
	Count int
}

func (c *clocks) add() {
	at := len(c.nodes)
	c.nodes = append(c.nodes, siteClock{Root: at, Parent: at})
	c.pairs.add()
}

// observe records that two sites have seen a packet at the given corrected times. For a
// pair within a tree, it takes a sample.
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

// settle joins the trees of two sites, or corrects the tree they are in.
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
// quarter lies elsewhere: these are repeated packets.
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

// below reports whether a site is in the tree below another, or is the other.
func (c *clocks) below(site, top int) bool {
	for site != top {
		if c.nodes[site].Parent == site {
			return false
		}
		site = c.nodes[site].Parent
	}
	return true
}
