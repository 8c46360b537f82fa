// SPDX-License-Identifier: Apache-2.0

package paper

import (
	"errors"
	"sync"
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
	t        *testing.T
	cluster  *cluster
	settings hub.Settings
	hub      *hub.Hub
	client   *hubclient.Client
}

// warnings gives the warnings of hubs and sites to a test, until that ends.
type warnings struct {
	mu sync.Mutex
	t  *testing.T
}

func newWarnings(t *testing.T) *warnings {
	w := &warnings{t: t}
	t.Cleanup(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.t = nil
	})
	return w
}

// Log drops the news of hubs.
func (w *warnings) Log(string) {}

func (w *warnings) Warn(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.t != nil {
		w.t.Log("warning: " + text)
	}
}

// newProduct starts a hub whose filter has the shape.
func newProduct(t *testing.T, shape chain.Shape) *product {
	t.Helper()
	c := newCluster(t)
	settings := c.settings
	settings.Shape, settings.Slices = shape, shape.Slices()
	if shape.WindowUS > 0 {
		settings.WindowUS = shape.WindowUS
	}
	return &product{t, c, settings, c.start(settings), c.client(settings, "site", hubclient.ClientConfig{Wait: time.Minute, Block: true}, nil)}
}

// cluster is a NATS server of flowdedup-hub with the keys of one folder.
type cluster struct {
	t        *testing.T
	folder   *hub.Folder
	settings hub.Settings
	server   *hub.Server
	hubs     []*hub.Hub
	log      *warnings
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	folder, settings, err := hub.MakeFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	settings.Listen = "127.0.0.1:0"
	log := newWarnings(t)
	server, err := hub.StartServer(folder, settings, nil, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	settings.URL = server.URL()
	return &cluster{t: t, folder: folder, settings: settings, server: server, log: log}
}

// start starts a hub at the server.
func (c *cluster) start(s hub.Settings) *hub.Hub {
	c.t.Helper()
	h, err := hub.Start(hub.Config{Name: s.Filter, Folder: c.folder, Settings: s, Log: c.log, Dial: c.server.Dial()})
	if err != nil {
		c.t.Fatal(err)
	}
	c.hubs = append(c.hubs, h)
	c.t.Cleanup(func() {
		if err := h.Close(); err != nil {
			c.t.Error(err)
		}
	})
	return h
}

// token makes the token of a site for the hub of some settings.
func (c *cluster) token(s hub.Settings, site string) hubclient.Token {
	c.t.Helper()
	token, err := c.folder.Join(s, site)
	err = errors.Join(err, c.server.Reload())
	for _, h := range c.hubs {
		err = errors.Join(err, h.Reload())
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return token
}

// client connects a site to a hub. wrap, if not nil, changes the connection.
func (c *cluster) client(s hub.Settings, site string, cfg hubclient.ClientConfig, wrap func(hubclient.Transport) hubclient.Transport) *hubclient.Client {
	c.t.Helper()
	cfg.Token = c.token(s, site)
	link, unreached, err := natslink.Dial(cfg.Token, func(err error) { c.log.Warn(err.Error()) })
	if err = errors.Join(unreached, err); err != nil {
		c.t.Fatal(err)
	}
	to := hubclient.Transport(link)
	if wrap != nil {
		to = wrap(link)
	}
	client := hubclient.NewClient(cfg, to, "run")
	if err := link.Listen(client.Inbox(), client.Receive); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		client.Close()
		link.Close()
	})
	return client
}

// ask returns which elements are duplicates.
func (p *product) ask(digests []digest.Digest) []bool {
	p.t.Helper()
	times := make([]int64, len(digests))
	for i := range times {
		times[i] = 1e18
	}
	seen, unchecked := askAt(p.client, digests, times)
	if unchecked > 0 {
		p.t.Fatalf("%d elements have no answer", unchecked)
	}
	return seen
}

// askAt asks about elements of some times, in nanoseconds.
func askAt(client *hubclient.Client, digests []digest.Digest, times []int64) (seen []bool, unchecked int) {
	var a hubclient.Answers
	client.Ask(&a, digests, times, make([]uint64, (len(digests)+63)/64))
	client.Wait(&a)
	seen = make([]bool, len(digests))
	for i := range seen {
		seen[i] = a.Copies[i/64]>>(i%64)&1 != 0
	}
	return seen, a.Unchecked
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
