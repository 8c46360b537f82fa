// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/hold"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/engine/hubclient"
	"github.com/flowdedup/flowdedup/engine/window"
)

// expired gives packets a time to live of 0: all of a stream, or the first of each two.
type expired struct {
	numbered
	all bool
}

func (s *expired) Next(b *capture.Batch) error {
	if err := s.numbered.Next(b); err != nil {
		return err
	}
	for i := range b.Frames {
		if s.all || i%2 == 0 {
			b.Data(i)[ipAt+8] = 0
		}
	}
	return nil
}

// TestHubUnfit keeps right packets that another site has sent in a form that no receiver takes.
func TestHubUnfit(t *testing.T) {
	const packets = 500
	hub := &modelHub{rng: rand.New(rand.NewPCG(1, 7)), firsts: map[uint64]string{}, delay: time.Millisecond}
	run := func(site string, src capture.Source) (counts []int) {
		out := &keptNumbers{t: t, counts: make([]int, packets)}
		throughHub(t, hub, site, src, out.Write, hubclient.ClientConfig{Wait: time.Minute, Block: true}, 2)
		return out.counts
	}
	stream := numbered{rng: rand.New(rand.NewPCG(1, 8)), count: packets, batch: 90}
	for i, want := range []int{1, 1, 0, 0} {
		right := stream
		src := capture.Source(&right)
		if i%2 == 0 {
			src = &expired{numbered: stream, all: true}
		}
		for number, n := range run(string(rune('a'+i)), src) {
			if n != want {
				t.Fatalf("site %d: packet %d stays %d times, want %d", i, number, n, want)
			}
		}
	}
}

// TestPairsFlood keeps right packets behind as many forms of them, in bounded memory.
func TestPairsFlood(t *testing.T) {
	const packets = 300_000
	filter, err := window.NewTimed(window.TimedConfig{Window: window.Window{Duration: window.Default}, Memory: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	d := detector(t, dedup.Config{Filter: filter})
	src := &expired{numbered: numbered{rng: rand.New(rand.NewPCG(1, 9)), count: packets, batch: 300}}
	var b capture.Batch
	var before, after runtime.MemStats
	for n := uint32(0); src.next < packets; n++ {
		if err := src.Next(&b); err != nil {
			t.Fatal(err)
		}
		drop := d.Copies(&b)
		for i := range b.Frames {
			if drop[i/64]>>(i%64)&1 != 0 {
				t.Fatalf("packet %d of a batch is a copy", i)
			}
		}
		if n == 20 {
			runtime.GC()
			runtime.ReadMemStats(&before)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if more := int64(after.HeapAlloc) - int64(before.HeapAlloc); more > 1<<20 {
		t.Errorf("%d bytes more", more)
	}
}

// TestPairsEnd goes on where the search for copies of an unfit packet ends while others wait.
func TestPairsEnd(t *testing.T) {
	d, m := detector(t, dedup.Config{Hold: hold.Config{Flow: true}}), &mirrored{}
	p, w := d.NewBatchDetector(), keptTimes{}
	var b capture.Batch
	const batches, pairs = 1100, 32 // more than pairIdle packets
	for n := range uint32(batches) {
		b.Reset()
		b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
		m.frame(&b, mirroredPacket{1, 100 * n}, 10, false, 0)
		if n == 0 {
			b.Data(0)[ipAt+8] = 0
		}
		m.frame(&b, mirroredPacket{1, 100*n + 1}, 20, false, 0) // waits for a copy from home
		for i := range uint32(pairs) {
			m.frame(&b, mirroredPacket{1, 100*n + 2 + i}, 10, false, 0)
			m.frame(&b, mirroredPacket{1, 100*n + 2 + i}, 10, false, 1)
		}
		p.Prepare(&b)
		p.Judge(&b)
		if err := p.Write(&b, &w); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Finish(&w); err != nil || len(w.times) != batches*(2+pairs) {
		t.Errorf("%d packets stay: %v", len(w.times), err)
	}
}

// TestPairsOfChecksums compares right packets (r) with packets of wrong checksums (w), each some microseconds
// after the one before: in one word of a batch, at the borders of a window and of the time that packets
// wait, and where sorts have no meaning.
func TestPairsOfChecksums(t *testing.T) {
	held := dedup.Config{Hold: hold.Config{For: 500 * time.Microsecond}}
	hundred := dedup.Config{Window: window.Window{Packets: 100}}
	for _, c := range []struct {
		sorts string
		each  time.Duration
		cfg   dedup.Config
		drop  []int
	}{
		{"rr", 1000, dedup.Config{}, []int{1}}, {"rw", 1000, dedup.Config{}, []int{1}}, {"rw", 1001, dedup.Config{}, nil},
		{"ww", 1000, dedup.Config{}, []int{1}}, {"wr", 1000, dedup.Config{}, nil}, {"wr", 0, dedup.Config{}, nil},
		{"rwrwwr", 0, dedup.Config{}, []int{1, 2, 3, 4, 5}}, {"wrwrw", 0, dedup.Config{}, []int{2, 3, 4}},
		{strings.Repeat("rw", 40), 0, dedup.Config{}, marked(nil, []uint64{0xaaaaaaaaaaaaaaaa, 0xaaaa}, 0, 80)},
		{"rrw", 900, dedup.Config{}, []int{1}}, // a removed packet begins no window
		{"wr", 500, held, []int{1}}, {"wr", 501, held, nil}, {"rw", 0, hundred, nil}, {"rr", 0, hundred, []int{1}}, {"wr", 0, dedup.Config{Across: true}, []int{1}},
	} {
		c.cfg.Identity, c.cfg.Checksums = identity.Config{Ignore: identity.IgnoreAlso(identity.L4Checksum)}, true
		var b capture.Batch
		for i, sort := range c.sorts {
			number := uint32(i / 2 * (len(c.sorts) / 64)) // of 64 packets and more, two are equal each
			at := b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
			(&mirrored{}).frame(&b, mirroredPacket{1, number}, 10, false, time.Duration(i)*c.each*time.Microsecond)
			if b.Frames[i].Interface = at; sort == 'w' {
				b.Data(i)[ipAt+27] = 1
			}
		}
		if got := marked(nil, detector(t, c.cfg).Copies(&b), 0, len(b.Frames)); !slices.Equal(got, c.drop) {
			t.Errorf("%s each %dus, %+v: copies %v, want %v", c.sorts, c.each, c.cfg, got, c.drop)
		}
	}
}
