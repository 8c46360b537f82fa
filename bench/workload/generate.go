// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/flowdedup/flowdedup/bench/zipf"
)

// start is the time of the first packet: ten minutes into an hour, so that calendar hours
// differ from hours since the start.
var start = time.Date(2026, 1, 5, 8, 10, 0, 0, time.UTC).UnixNano()

const (
	repeatAfter = int64(time.Second)
	repeatRange = int64(4 * time.Second)
)

// Generate writes a capture to w, in order of time, and returns its content. It writes in
// chunks of up to a mebibyte and only keeps the packets that are still to be copied or
// repeated. An error wraps ErrConfig or the error of w or c.Copies.
//
// The same configuration gives the same bytes: the random generator is seeded, and
// floating point is used only for the shares and for the weights of the flows, which are
// rounded to integers.
func Generate(w io.Writer, c Config) (Truth, error) {
	if err := c.Validate(); err != nil {
		return Truth{}, err
	}
	g := newGenerator(w, &c)
	if err := g.run(); err != nil {
		return Truth{}, fmt.Errorf("workload: after %d packets: %w", g.tally.truth.Packets, err)
	}
	return g.tally.finish(), nil
}

type generator struct {
	random  *rand.PCG
	ranks   *zipf.Sampler
	frames  *framer
	out     *writer
	again   *copyList
	later   pending
	tally   tally
	packets int64
	size    int
	gap     uint64 // mean nanoseconds between originals
	copies  uint64 // an original is copied where 32 random bits lie below
	repeats uint64 // and repeated where others do
	spread  uint64 // copies follow after 1 microsecond to this much more
	pause   int64  // before a repeat
}

func newGenerator(w io.Writer, c *Config) *generator {
	random := rand.NewPCG(c.Seed, 0)
	flows := newPopulation(c)
	originals := 1 - c.Duplicates - c.Repeats
	return &generator{
		random:  random,
		ranks:   zipf.New(c.Flows, c.Zipf),
		frames:  newFramer(flows, random),
		out:     newWriter(w, c.Format),
		again:   newCopyList(c.Copies),
		tally:   tally{current: newSeen(flows, c.Flows), whole: newSeen(flows, c.Flows)},
		packets: c.Packets,
		size:    c.Size,
		gap:     max(1, uint64(float64(c.Duration)/(float64(c.Packets)*originals))),
		copies:  uint64(c.Duplicates / originals * (1 << 32)),
		repeats: uint64(c.Repeats / originals * (1 << 32)),
		spread:  uint64(c.Window)*9/10 - uint64(time.Microsecond),
		pause:   repeatAfter + 10*int64(c.Window),
	}
}

func (g *generator) run() error {
	g.out.header()
	now := start
	for serial := uint64(0); g.tally.truth.Packets < g.packets; serial++ {
		for g.later.due(now) {
			next := g.later.take()
			g.emit(next.time, next.packet)
		}
		p := packet{serial: serial, flow: g.ranks.Draw(g.random.Uint64()), size: g.nextSize(), number: g.tally.truth.Packets}
		g.emit(now, p)
		g.schedule(now, p)
		now += int64(g.below(2*g.gap) + 1)
		if g.out.err != nil {
			return g.out.err
		}
	}
	return errors.Join(g.out.flush(), g.again.w.Flush())
}

// emit writes a packet, unless the capture is complete.
func (g *generator) emit(now int64, p packet) {
	if g.tally.truth.Packets == g.packets {
		return
	}
	if p.kind != original {
		g.again.add(g.tally.truth.Packets, p.number, p.kind)
	}
	size, fl := g.frames.build(g.out.nextFrame(), p)
	g.out.commit(now, size)
	g.tally.add(now, size, p, fl)
}

// schedule decides whether p will be copied or repeated. Shares above a half
// need more than one copy of some originals.
func (g *generator) schedule(now int64, p packet) {
	for chance := g.copies; chance > g.random.Uint64()>>32; chance -= min(chance, 1<<32) {
		p.kind = exact + relation(g.below(uint64(kinds-exact)))
		g.later.add(now+int64(time.Microsecond)+int64(g.below(g.spread)), p)
	}
	p.kind = repeat
	at := now
	for chance := g.repeats; chance > g.random.Uint64()>>32; chance -= min(chance, 1<<32) {
		at += g.pause + int64(g.below(uint64(repeatRange)))
		g.later.add(at, p)
	}
}

// below draws a number from 0 to n-1.
func (g *generator) below(n uint64) uint64 {
	high, _ := bits.Mul64(g.random.Uint64(), n)
	return high
}

// copyList lists the packets that repeat an earlier one. After a heading it writes a line
// for each, with its number, the number of its original, and its kind. Packets are
// numbered from 0 in file order.
type copyList struct {
	w    *bufio.Writer
	line []byte
}

// newCopyList returns a list that is written to w, or dropped if w is nil.
func newCopyList(w io.Writer) *copyList {
	if w == nil {
		w = io.Discard
	}
	l := &copyList{w: bufio.NewWriterSize(w, 1<<16)}
	l.w.WriteString("packet,original,kind\n") // the first error comes back from Flush
	return l
}

func (l *copyList) add(number, original int64, kind relation) {
	b := strconv.AppendInt(l.line[:0], number, 10)
	b = append(b, ',')
	b = strconv.AppendInt(b, original, 10)
	b = append(b, ',')
	b = append(b, kind.String()...)
	l.line = append(b, '\n')
	l.w.Write(l.line)
}

// pending is a heap of frames to write later, the earliest first; equal times keep the
// order in which they were added.
type pending struct {
	heap  []delayed
	added uint64
}

type delayed struct {
	time   int64
	order  uint64
	packet packet
}

func (d *delayed) before(other *delayed) bool {
	if d.time != other.time {
		return d.time < other.time
	}
	return d.order < other.order
}

// due reports whether a frame is due at or before now.
func (q *pending) due(now int64) bool {
	return len(q.heap) > 0 && q.heap[0].time <= now
}

func (q *pending) add(time int64, p packet) {
	q.heap = append(q.heap, delayed{time, q.added, p})
	q.added++
	child := len(q.heap) - 1
	for child > 0 {
		parent := (child - 1) / 2
		if !q.heap[child].before(&q.heap[parent]) {
			return
		}
		q.heap[child], q.heap[parent] = q.heap[parent], q.heap[child]
		child = parent
	}
}

// take removes and returns the earliest frame; the heap must not be empty.
func (q *pending) take() delayed {
	first := q.heap[0]
	last := len(q.heap) - 1
	q.heap[0] = q.heap[last]
	q.heap = q.heap[:last]
	parent := 0
	for {
		child := 2*parent + 1
		if child >= last {
			return first
		}
		if child+1 < last && q.heap[child+1].before(&q.heap[child]) {
			child++
		}
		if !q.heap[child].before(&q.heap[parent]) {
			return first
		}
		q.heap[child], q.heap[parent] = q.heap[parent], q.heap[child]
		parent = child
	}
}
