// SPDX-License-Identifier: Apache-2.0

package paper

import (
	"errors"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/cluster/chain"
	"github.com/flowdedup/flowdedup/engine/cluster/hub"
	"github.com/flowdedup/flowdedup/engine/hubclient"
	"github.com/flowdedup/flowdedup/engine/hubclient/natslink"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// product is a hub of flowdedup-hub with its server, and a site that asks it.
type product struct {
	t      *testing.T
	hub    *hub.Hub
	client *hubclient.Client
}

// quiet drops the hub's log.
type quiet struct{}

func (quiet) Log(string)  {}
func (quiet) Warn(string) {}

// newProduct starts a hub whose filter has the shape.
func newProduct(t *testing.T, shape chain.Shape) *product {
	t.Helper()
	folder, settings, err := hub.MakeFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	settings.Listen, settings.Shape, settings.Slices = "127.0.0.1:0", shape, shape.Slices()
	server, err := hub.StartServer(folder, settings, nil, quiet{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	settings.URL = server.URL()
	h, err := hub.Start(hub.Config{Name: "hub", Folder: folder, Settings: settings, Log: quiet{}, Dial: server.Dial()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	token, err := folder.Join(settings, "site")
	if err = errors.Join(err, server.Reload()); err != nil {
		t.Fatal(err)
	}
	link, unreached, err := natslink.Dial(token, func(error) {})
	if err = errors.Join(unreached, err); err != nil {
		t.Fatal(err)
	}
	client := hubclient.NewClient(hubclient.ClientConfig{Token: token, Wait: time.Minute, Block: true}, link, "run")
	if err := link.Listen(client.Inbox(), client.Receive); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		link.Close()
	})
	return &product{t, h, client}
}

// ask returns which elements are duplicates.
func (p *product) ask(digests []digest.Digest) []bool {
	p.t.Helper()
	times := make([]int64, len(digests))
	for i := range times {
		times[i] = 1e18
	}
	var a hubclient.Answers
	p.client.Ask(&a, digests, times, make([]uint64, (len(digests)+63)/64))
	p.client.Wait(&a)
	if a.Unchecked > 0 {
		p.t.Fatalf("%d elements have no answer", a.Unchecked)
	}
	seen := make([]bool, len(digests))
	for i := range seen {
		seen[i] = a.Copies[i/64]>>(i%64)&1 != 0
	}
	return seen
}

// tests returns how many elements each slice has tested.
func (p *product) tests() (all []int) {
	for _, s := range p.hub.Status().PerSlice {
		all = append(all, int(s.Digests))
	}
	return all
}

// shapeOf is the filter of the hub with the given numbers of slices and bits, in one of
// the ways.
func shapeOf(way, slices, bits int) chain.Shape {
	s := chain.Shape{
		Layout: chain.Vertical, H: 1, V: slices, Filter: chain.Bloom, Hashes: hashes, Bytes: bits / 8,
		Primitive: chain.TestAndSet, AtLeast: hashes,
	}
	if ways[way].name == "horizontal" {
		s.Layout, s.H, s.V = chain.Horizontal, slices, 1
	}
	return s
}

// one is the same filter in one process: a Bloom filter for each chain.
type one struct {
	shape  chain.Shape
	chains []*paper.Sliced
}

func newOne(t *testing.T, s chain.Shape) *one {
	t.Helper()
	o := &one{shape: s}
	for range s.Chains() {
		f, err := paper.NewVertical(paper.SlicedConfig{Bits: s.Size() * s.Links(), K: s.Hashes, Slices: s.Links()})
		if err != nil {
			t.Fatal(err)
		}
		o.chains = append(o.chains, f)
	}
	return o
}

// testAndSet passes a filter the digest as it goes over the wire: without the bits that
// choose the chain.
func (o *one) testAndSet(d uint64) bool {
	at := d >> 32 * uint64(len(o.chains)) >> 32
	return o.chains[at].TestAndSet(digest.Digest{d & (1<<hubclient.DigestBits - 1), 0})
}
