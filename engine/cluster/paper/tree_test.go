// SPDX-License-Identifier: Apache-2.0

package paper

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/engine/paper"
)

const treeSites = 3

// tree is a root at a hub's server, and a leaf at the server of each site. The sites'
// servers are leaf nodes of NATS: requests and answers at a site stay there.
type tree struct {
	t     *testing.T
	hub   *server.Server
	root  *slice
	leafs []*slice
	sites []*producer
}

// newTree starts four servers. Each of its filters has the given number of bits.
func newTree(t *testing.T, size int) *tree {
	t.Helper()
	tr := &tree{t: t}
	options := &server.Options{DontListen: true, LeafNode: server.LeafNodeOpts{Host: "127.0.0.1", Port: server.RANDOM_PORT}}
	tr.hub = startWith(t, options)
	// Slice 0 is the root, and slice 1 the leaf of each site.
	tr.root = tr.slice(dial(t, tr.hub), 0, size)
	for range treeSites {
		site := startWith(t, &server.Options{DontListen: true, LeafNode: server.LeafNodeOpts{
			ReconnectInterval: 50 * time.Millisecond,
			Remotes: []*server.RemoteLeafOpts{{
				URLs: []*url.URL{{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", options.LeafNode.Port)}},
				// The leaf's subject is the site's own.
				DenyExports: []string{subject(1)}, DenyImports: []string{subject(1)},
			}},
		}})
		tr.leafs = append(tr.leafs, tr.slice(dial(t, site), 1, size))
		tr.sites = append(tr.sites, &producer{t: t, conn: dial(t, site), a: arrangement{h: 1, v: 1, k: 4, bits: size}})
	}
	for _, p := range tr.sites { // until they reach the root
		wait.Until(t, "a site to reach the root", func() bool { return p.ask(0, opTest, nil) != nil })
	}
	for _, s := range append(tr.leafs, tr.root) {
		s.tests.Store(0)
	}
	return tr
}

func (tr *tree) slice(c *nats.Conn, number, size int) *slice {
	tr.t.Helper()
	s := &slice{conn: c, bits: make([]uint64, size/64+1)}
	var err error
	if s.sub, err = c.Subscribe(subject(number), s.handle); err == nil {
		err = c.Flush()
	}
	if err != nil {
		tr.t.Fatal(err)
	}
	return s
}

// ask asks the root (0) or the site's leaf (1) about elements. It returns nil if it cannot be
// reached.
func (p *producer) ask(number int, op byte, digests []uint64) []bool {
	m := &message{op: op, route: []int{number}, bits: [][]elementBit{nil}}
	for i, d := range digests {
		for _, at := range p.a.addresses(d) {
			m.bits[0] = append(m.bits[0], elementBit{uint16(i), at.offset})
		}
	}
	return p.request(m, len(digests))
}

// dense is Algorithm 1: the leaf tests and sets; if it misses an element, the root does
// so. Without the root it passes.
func (p *producer) dense(digest uint64) (seen bool) {
	if p.ask(1, opTAS, []uint64{digest})[0] {
		return true
	}
	root := p.ask(0, opTAS, []uint64{digest})
	return root != nil && root[0]
}

// sparse is Algorithm 2: the leaf tests; if it misses an element, the root tests and sets
// it, and decides; the leaf remembers new elements.
func (p *producer) sparse(digest uint64) (seen bool) {
	if p.ask(1, opTest, []uint64{digest})[0] {
		return true
	}
	root := p.ask(0, opTAS, []uint64{digest})
	if root != nil && root[0] {
		return true
	}
	p.ask(1, opSet, []uint64{digest})
	return false
}

// TestTree has dense and sparse trees over leaf nodes give the verdicts of one filter,
// element for element (Propositions 3 and 4), with the accesses of each level that
// engine/paper counts (Figure 12). Elements that leaves decide cause no traffic to the
// hub.
func TestTree(t *testing.T) {
	const size, count = 1 << 20, 1500 // no false positives
	for _, dense := range []bool{true, false} {
		tr := newTree(t, size)
		model, err := paper.NewTree(paper.TreeConfig{Bits: size, K: 4, FanOut: []int{treeSites}, Dense: dense})
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(4, 1))
		known := map[uint64]bool{}
		for range count {
			site, d := rng.IntN(treeSites), mix(rng.Uint64N(500)+1)
			p := tr.sites[site]
			seen := false
			if dense {
				seen = p.dense(d)
			} else {
				seen = p.sparse(d)
			}
			if seen != known[d] || seen != model.TestAndSetFrom(site, digest.Digest{d, mix(d)}) {
				t.Fatalf("dense %v: element %x of site %d: seen %v, want %v, of %d", dense, d, site, seen, known[d], len(known))
			}
			known[d] = true
		}
		levels := model.Levels()
		leafs := 0
		for _, s := range tr.leafs {
			leafs += int(s.tests.Load())
		}
		// The root sets as it tests, in a sparse tree too: it decides.
		if root := int(tr.root.tests.Load()); root != levels[0].Tests || leafs != levels[1].Accesses() {
			t.Errorf("dense %v: %d accesses of the root, %d of leafs, want %+v", dense, root, leafs, levels)
		}
		t.Logf("dense %v: %d elements, %d accesses of leafs, %d of the root", dense, count, leafs, tr.root.tests.Load())
		links, err := tr.hub.Leafz(nil)
		if err != nil {
			t.Fatal(err)
		}
		crossed := int64(0)
		for _, link := range links.Leafs {
			crossed += link.InMsgs
		}
		if most := int64(levels[0].Tests) + 1000; crossed > most || crossed < int64(levels[0].Tests) {
			t.Errorf("%d messages crossed to the hub, want about %d", crossed, levels[0].Tests)
		}
		tr.cut()
	}
}

// cut stops the hub: sites find their own duplicates, and pass all else.
func (tr *tree) cut() {
	tr.t.Helper()
	p := *tr.sites[0]
	p.wait = 200 * time.Millisecond
	own := ^uint64(1)
	p.dense(own)
	tr.hub.Shutdown()
	tr.hub.WaitForShutdown()
	wait.Until(tr.t, "the site to see the cut", func() bool { return p.ask(0, opTest, nil) == nil })
	if !p.dense(own) || p.dense(own-1) || !p.dense(own-1) {
		tr.t.Error("a site that is cut off does not find its own duplicates")
	}
}
