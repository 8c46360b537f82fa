// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/pipeline"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// modelHub is a hub of the plainest kind: the first site that sends a digest keeps it. It
// answers after a while of its own choice, and loses some answers.
type modelHub struct {
	mu     sync.Mutex
	rng    *rand.Rand
	firsts map[uint64]string
	lossy  int // of a thousand messages
	delay  time.Duration
	posts  sync.WaitGroup
}

// atHub is the way of a site to the hub.
type atHub struct {
	hub    *modelHub
	client *hubclient.Client
}

func (a *atHub) Connected() bool { return true }

func (a *atHub) Send(subject, reply string, msg []byte) error {
	to, ok := hubclient.ParseSubject(subject)
	if !ok {
		return nil // a report
	}
	var q hubclient.Request
	if err := q.Decode(msg); err != nil {
		return err
	}
	h := a.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.rng.IntN(1000) < h.lossy {
		return nil
	}
	r := hubclient.Reply{N: uint32(len(q.Digests)), Seq: q.Seq, Copies: make([]byte, (len(q.Digests)+7)/8)}
	for i, d := range q.Digests {
		if first, ok := h.firsts[d]; !ok {
			h.firsts[d] = to.Site
		} else if first != to.Site {
			r.Copies[i/8] |= 1 << (i % 8)
		}
	}
	if h.rng.IntN(1000) < h.lossy {
		return nil
	}
	h.posts.Add(1)
	time.AfterFunc(time.Duration(h.rng.Int64N(int64(h.delay))), func() {
		defer h.posts.Done()
		a.client.Receive(reply, r.Append(nil), false)
	})
	return nil
}

// numbered is a stream of packets of these numbers, with their numbers in them, each of
// them twice, in small batches and large.
type numbered struct {
	capture.Source
	rng   *rand.Rand
	next  uint32
	count uint32
	batch int // packets, at most
	table capture.Batch
	asked func() // each Next calls it; nil for nothing
}

func (s *numbered) Next(b *capture.Batch) error {
	if s.asked != nil {
		s.asked()
	}
	if s.next == s.count {
		return io.EOF
	}
	b.Reset()
	if s.table.Interfaces == nil {
		s.table.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
	}
	b.Interfaces, b.Sections = s.table.Interfaces, s.table.Sections
	for range 1 + s.rng.IntN(s.batch) {
		if s.next == s.count {
			break
		}
		for range 2 {
			m := mirrored{}
			m.frame(b, mirroredPacket{conversation: 1, number: s.next}, 10, false, 0)
		}
		s.next++
	}
	return nil
}

func (s *numbered) Close() error { return nil }

// keptNumbers counts the packets that are written, by their numbers.
type keptNumbers struct {
	t      *testing.T
	counts []int
	last   uint32
}

func (k *keptNumbers) Write(b *capture.Batch, drop []uint64) error {
	return eachKept(b, drop, func(i int) {
		number := binary.BigEndian.Uint32(b.Data(i)[payloadAt+4:])
		if number < k.last {
			k.t.Errorf("packet %d is written after packet %d", number, k.last)
		}
		k.last = number
		k.counts[number]++
	})
}

// TestHub has several sites take the same packets through their filters and a hub. Each packet
// must stay at a site at least, in order, and only there if all answers came.
func TestHub(t *testing.T) {
	const packets = 4000
	for seed, c := range []struct {
		lossy   int
		delay   time.Duration
		wait    time.Duration
		block   bool
		workers int
		batch   int
	}{
		{0, time.Millisecond, time.Minute, true, 1, 300},
		{0, time.Millisecond, time.Minute, true, 3, 40},
		{0, 20 * time.Millisecond, time.Minute, true, 2, 2000},
		{50, time.Millisecond, 50 * time.Millisecond, true, 2, 300},
		{0, 10 * time.Millisecond, 5 * time.Millisecond, false, 1, 100},
		{200, time.Millisecond, 20 * time.Millisecond, false, 2, 500},
		{1000, time.Millisecond, 5 * time.Millisecond, false, 1, 300},
	} {
		hub := &modelHub{rng: rand.New(rand.NewPCG(uint64(seed), 7)), firsts: map[uint64]string{}, lossy: c.lossy, delay: c.delay}
		names := []string{"a", "b", "c"}
		outs := make([]*keptNumbers, len(names))
		removed := make([]uint64, len(names))
		stats := make([]hubclient.ClientStats, len(names))
		var sites sync.WaitGroup
		for k, name := range names {
			outs[k] = &keptNumbers{t: t, counts: make([]int, packets)}
			sites.Go(func() {
				src := &numbered{rng: rand.New(rand.NewPCG(uint64(seed), uint64(k))), count: packets, batch: c.batch}
				removed[k], stats[k] = throughHub(t, hub, name, src, outs[k].Write, hubclient.ClientConfig{Wait: c.wait, Block: c.block}, c.workers)
			})
		}
		sites.Wait()
		hub.posts.Wait()
		stays, unchecked := 0, uint64(0)
		for i := range packets {
			n := 0
			for _, out := range outs {
				n += out.counts[i]
			}
			if stays += n; n == 0 {
				t.Fatalf("case %d: packet %d is lost", seed, i)
			}
		}
		for k, s := range stats {
			unchecked += s.Unchecked
			if s.Asked != packets || s.Copies != removed[k] {
				t.Errorf("case %d, site %d: %+v, %d removed", seed, k, s, removed[k])
			}
		}
		if more := uint64(stays - packets); more > unchecked || c.wait == time.Minute && unchecked != 0 {
			t.Errorf("case %d: %d packets stay too often, %d are unchecked", seed, more, unchecked)
		}
	}
}

// throughHub takes packets through a filter and the hub.
func throughHub(t *testing.T, hub *modelHub, site string, src capture.Source, write func(*capture.Batch, []uint64) error, cfg hubclient.ClientConfig, workers int) (removed uint64, s hubclient.ClientStats) {
	at := &atHub{hub: hub}
	cfg.Token = hubclient.Token{Namespace: "main", Filter: "packets", Site: site, Slices: 8}
	hub.mu.Lock()
	at.client = hubclient.NewClient(cfg, at, "run")
	hub.mu.Unlock()
	defer at.client.Close()
	d, err := dedup.New(dedup.Config{
		Hub: at.client, Secret: engine.Secret{1},
		Observers: []dedup.Observer{{Elsewhere: func(b *capture.Batch, copies []uint64) {
			removed += uint64(len(b.Frames)) - capture.CountKept(copies, 0, len(b.Frames))
		}}},
	})
	if err != nil {
		t.Error(err)
		return
	}
	defer d.Close()
	var waited atomic.Bool // a worker may still read when a run has failed
	stream, _ := src.(*numbered)
	if stream != nil {
		stream.asked = func() {
			if d.Waits() {
				waited.Store(true)
			}
		}
	}
	p := pipeline.New(src)
	defer p.Close()
	if err = p.Run(context.Background(), workers, d.Tasks(writeFunc(write))); err != nil && !errors.Is(err, errFull) {
		t.Error(err)
	}
	if stream != nil && !waited.Load() || err == nil && d.Waits() {
		t.Errorf("no packet has waited, or still waits: %v", d.Waits())
	}
	if n := d.Stats().Hub; n.Copies != removed || n.Unchecked != at.client.Stats().Unchecked || sum(n.ByProtocol) != removed {
		t.Errorf("%d copies, counted %+v", removed, n)
	}
	before := d.Counts()
	if d.Continue(before); !reflect.DeepEqual(d.Counts(), before) {
		t.Errorf("%+v, going on with %+v", d.Counts(), before)
	}
	return removed, at.client.Stats()
}

func sum(all []uint64) (n uint64) {
	for _, number := range all {
		n += number
	}
	return n
}

// errFull is what writes fail with.
var errFull = errors.New("full")

// TestHubWriteFails ends a run where nothing can be written any more.
func TestHubWriteFails(t *testing.T) {
	hub := &modelHub{rng: rand.New(rand.NewPCG(1, 7)), firsts: map[uint64]string{}, delay: time.Millisecond}
	src := &numbered{rng: rand.New(rand.NewPCG(1, 1)), count: 5000, batch: 100}
	calls := 0
	throughHub(t, hub, "a", src, func(*capture.Batch, []uint64) error {
		if calls++; calls == 10 {
			return errFull
		}
		return nil
	}, hubclient.ClientConfig{Wait: time.Second, Block: true}, 2)
	hub.posts.Wait()
	if calls != 10 {
		t.Errorf("%d writes", calls)
	}
}
