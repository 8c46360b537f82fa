// SPDX-License-Identifier: Apache-2.0

package hold

import (
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// alone returns n packets of a single point, of several conversations. Every third is a copy.
func alone(n int, time int64) (all []sighted, drop []bool) {
	for i := range n {
		p := sighted{digest: digest.Digest{3, uint64(i)}, conversation: hashOf(i % 7), point: 1, time: time + int64(i)*1000, size: i % 50}
		if i%3 == 2 {
			p.digest = all[i-1].digest
		}
		all, drop = append(all, p), append(drop, i%3 == 2)
	}
	return all, drop
}

// TestAlone writes each batch in its own write, as it is and without a copy, where all
// packets come from a single point, live and offline.
func TestAlone(t *testing.T) {
	for name, cfg := range map[string]Config{
		"offline": {Flow: true, For: time.Second},
		"live":    {Flow: true, For: time.Second, Clock: func() time.Duration { return 0 }, Wait: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			all, drop := alone(10_000, 1e9)
			r := &heldRun{t: t, hold: testHold(t, cfg, Stream{}), all: all, drop: drop}
			x := r.hold.NewBatch(nil)
			var b capture.Batch
			for from := 0; from < len(all); from += 100 {
				r.batch(&b, from, from+100)
				r.apply(x, &b, from, from+100, false)
				if err := x.Write(&b, func(got *capture.Batch, drop []uint64) error {
					if got != &b {
						t.Error("a batch was copied")
					}
					return r.write(got, drop)
				}); err != nil {
					t.Fatal(err)
				}
				if r.n != from+100 || r.hold.Waits() {
					t.Fatalf("%d packets written, want %d", r.n, from+100)
				}
			}
			if err := r.hold.Finish(r.write); err != nil {
				t.Fatal(err)
			}
			if s := r.hold.Stats(); s != (Stats{}) {
				t.Errorf("%+v", s)
			}
			if !slices.Equal(r.keep, invert(drop)) {
				t.Error("others than the first are kept")
			}
		})
	}
}

// TestLoneInPart has a single home found while a batch is prepared: its first part has points, the rest
// bits. A packet from elsewhere in the first part gives way to its copy from home.
func TestLoneInPart(t *testing.T) {
	const packets, part, away = 70, 64, 10
	h := testHold(t, Config{Flow: true, For: time.Second}, Stream{})
	x, g, b := h.NewBatch(nil), identity.New(identity.Config{}), &capture.Batch{}
	b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
	v := Verdicts{Drop: make([]uint64, 2), Fixed: make([]uint64, 2), Times: make([]int64, packets)}
	v.Copies = v.Drop
	for i := range packets {
		b.Append(capture.Frame{}, slices.Concat(make([]byte, 12), []byte{0x81, 0, 0, 1, 8, 0}, (&sighted{}).data(i)))
		v.Digests = append(v.Digests, digest.Digest{1, uint64(i) << 32})
	}
	b.Data(away)[15], v.Digests[away+1] = 2, v.Digests[away]
	capture.SetBit(v.Drop, away+1)
	x.home = []uint64{^uint64(0), ^uint64(0)} // of an earlier batch
	x.Reset(packets)
	x.Prepare(b, g.FromFrames(make([]headers.Protocol, part), b, 0), 0, part)
	h.homes.lone = loneHome{point: x.seen.Point[0], count: loneAfter}
	h.lone.Store(&x.seen.Point[0])
	x.Prepare(b, g.FromFrames(make([]headers.Protocol, packets-part), b, part), part, packets)
	if x.Judge(b, v); len(x.unread) != 1 || x.own.drop[0] != 1<<away {
		t.Errorf("%v unread, dropped %b, want packet %d in place of its copy", x.unread, x.own.drop, away)
	}
}

// TestLetsGo writes what comes before the first packet that waits at once, in words of
// 64 packets, and the rest when it is settled.
func TestLetsGo(t *testing.T) {
	all, drop := alone(300, 1e9)
	all[200].point, all[200].conversation = 2, all[0].conversation // a first sighting from elsewhere
	all[200].digest = digest.Digest{4, 4}
	drop[200], drop[201] = false, false
	all[201].digest = digest.Digest{4, 5}
	now := time.Duration(0)
	r := &heldRun{t: t, all: all, drop: drop, hold: testHold(t, Config{
		Flow: true, For: time.Millisecond, Clock: func() time.Duration { return now }, Wait: 10 * time.Millisecond,
	}, Stream{})}
	x := r.hold.NewBatch(nil)
	var b capture.Batch
	for _, step := range []struct {
		at                time.Duration
		from, to, written int
	}{{0, 0, 300, 192}, {9 * time.Millisecond, 300, 300, 192}, {10 * time.Millisecond, 300, 300, 300}} {
		now = step.at
		r.batch(&b, step.from, step.to)
		r.apply(x, &b, step.from, step.to, false)
		if err := x.Write(&b, r.write); err != nil {
			t.Fatal(err)
		}
		if r.n != step.written || r.hold.Waits() != (step.written < len(all)) {
			t.Errorf("after %v: %d packets written, want %d; others wait: %v", step.at, r.n, step.written, r.hold.Waits())
		}
	}
	if !slices.Equal(r.keep, invert(drop)) {
		t.Error("others than the first are kept")
	}
}

// TestInPlace copies packets that wait out of memory that their source needs back, and
// nothing else of it.
func TestInPlace(t *testing.T) {
	all, drop := pair(3, 1e9, time.Microsecond)
	all = all[:len(all)-1] // the last waits until the end
	r := &heldRun{t: t, all: all, drop: drop[:len(all)], hold: testHold(t, Config{Flow: true, For: time.Millisecond}, Stream{})}
	x := r.hold.NewBatch(nil)
	var b capture.Batch
	r.batch(&b, 0, len(all))
	b.Blocks = nil
	for i := range b.Frames {
		b.Frames[i].Record, b.Frames[i].RecordLen = 0, 0
	}
	b.Buf = append(b.Buf, make([]byte, 1<<20)...) // the rest of a ring
	lent := b.Buf
	r.apply(x, &b, 0, len(all), false)
	if err := x.Write(&b, r.write); err != nil {
		t.Fatal(err)
	}
	if &b.Buf[0] != &lent[0] || len(b.Buf) != len(lent) {
		t.Error("the source does not get its memory back")
	}
	clear(lent)
	if err := r.hold.Finish(func(b *capture.Batch, drop []uint64) error {
		if len(b.Buf) > 1000 {
			t.Errorf("%d bytes were copied", len(b.Buf))
		}
		return r.write(b, drop)
	}); err != nil {
		t.Fatal(err)
	}
	if want := []bool{true, false, true, false, true, true}; !slices.Equal(r.keep, want) {
		t.Errorf("kept %v, want %v", r.keep, want)
	}
}

// TestBlocksInParts writes the blocks of a batch once and in their places, where it
// leaves in parts.
func TestBlocksInParts(t *testing.T) {
	var k held
	k.batch.Frames = make([]capture.Frame, 200)
	for _, before := range []uint32{0, 63, 64, 64, 128, 199, 200} {
		k.batch.Blocks = append(k.batch.Blocks, capture.Block{Before: before})
	}
	k.drop = []uint64{1, 2, 4, 8}
	var got []uint32
	for _, part := range [][2]int{{0, 64}, {64, 128}, {128, 200}} {
		b, drop := k.part(part[0], part[1])
		for _, block := range b.Blocks {
			got = append(got, block.Before+uint32(part[0]))
		}
		if len(b.Frames) != part[1]-part[0] || drop[0] != k.drop[part[0]/64] {
			t.Errorf("%v: %d frames, drop %v", part, len(b.Frames), drop)
		}
	}
	if want := []uint32{0, 63, 64, 64, 128, 199, 200}; !slices.Equal(got, want) {
		t.Errorf("blocks before %v, want %v", got, want)
	}
}

// TestLoneHomeEnds looks for how long the first point is the home of conversations that are not
// remembered: for a minute, before and after the sighting at another point.
func TestLoneHomeEnds(t *testing.T) {
	const begun = int64(1700000000e9)
	for _, c := range []struct {
		since, now int64
		home       uint32
	}{
		{begun, begun + int64(silence) - 1, 3}, {begun, begun + int64(silence), 9},
		{begun, begun - int64(silence) + 1, 3}, {begun, begun - int64(silence), 9},
		{calendar.NoTime, begun, 9},
	} {
		l := loneHome{point: 3, over: true, since: c.since}
		if got := l.homeOf(9, c.now); got != c.home {
			t.Errorf("%d ns after the sighting: home %d, want %d", c.now-c.since, got, c.home)
		}
	}
}
