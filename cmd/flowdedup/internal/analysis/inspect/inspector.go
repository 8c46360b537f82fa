// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/traits"
)

// DefaultWindow and DefaultMemory stand for values of 0 or less in a Config.
const (
	DefaultWindow = time.Second
	DefaultMemory = 256 << 20
)

// tagFields make the flows of an analyzer that keys them by VLAN.
const tagFields = traits.PointVLAN | traits.PointVNI

// Config says how a stream is inspected.
type Config struct {
	// Window is the largest distance of equal packets that are compared, before or after.
	Window time.Duration
	// Memory bounds the bytes that remembered packets take. Counters take at most 32 MiB more.
	Memory int
	// Key and Seed key all digests and hashes. Whoever does not know them cannot choose
	// packets that collide.
	Key  [16]byte
	Seed uint64
	// Inputs are the names of several inputs, by capture.Section.Input.
	Inputs []string
	// Tunnels are the UDP ports of tunnels; nil are the usual ports.
	Tunnels *headers.Tunnels
	// Translations says whether copies are looked for that a translation, a relay or a second line
	// makes.
	Translations bool
}

// Inspector measures a stream. Batches must be added in the order of the stream, by one goroutine at
// a time.
type Inspector struct {
	cfg     Config
	windows [windows]int64
	points  *traits.Names
	packets []uint64 // by point
	devices *traits.CapturePoints
	// wires has deviceOf by the number of a point, of interfaces with these numbers.
	wires      []uint32
	interfaces map[traits.CapturePoint]uint32

	stream streamCounts
	whole  *measure
	// prefix compares the first bytes of packets, from the first packet on that was
	// captured in part; nil before.
	prefix *measure
	firsts firsts
	trials trials
	split  *traits.SplitCounter
	sides  sides
	head   capture.Batch // the packets of a batch whose conversations are counted
	// level is levelOf the packets so far. Workers read it ahead of their turn.
	level atomic.Uint32
}

// streamCounts count the packets of a stream, however they are compared.
type streamCounts struct {
	packets, noTime, truncated, nonIP uint64
	// By the sample: packets with the flags, and with any VLAN tag.
	stacked, tunneled, tagged uint64
	// numbered counts packets whose senders number them, others all others: by the sample.
	numbered, others uint64
	unopened         headers.UnopenedCounts
	// stamped counts described packets with the time header of a switch.
	stamped, described uint64
}

// New makes an Inspector.
func New(cfg Config) *Inspector {
	if cfg.Window <= 0 {
		cfg.Window = DefaultWindow
	}
	if cfg.Memory <= 0 {
		cfg.Memory = DefaultMemory
	}
	n := &Inspector{cfg: cfg, windows: ladder(cfg.Window), points: traits.NewNames(cfg.Inputs, cfg.Tunnels), devices: traits.NewCapturePoints(nil), interfaces: map[traits.CapturePoint]uint32{}, sides: newSides()}
	n.whole = newMeasure(n, n.cfg.Memory/4*3, 0)
	n.split = traits.NewSplitCounter(traits.SightingConfig{Inner: true, Tunnels: cfg.Tunnels, Fields: tagFields, Seed: cfg.Seed}, traits.SplitCounts{}, 0)
	n.trials = newTrials(cfg.Translations)
	return n
}

// ladder returns the windows that are measured: the usual windows up to the given window, which is
// the last.
func ladder(most time.Duration) (w [windows]int64) {
	for i, usual := range [windows]time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, most} {
		w[i] = int64(min(usual, most))
	}
	return w
}

// Add measures a batch, which p has prepared. It allocates only where the stream has more
// points, kinds of copies or remembered packets than before.
func (n *Inspector) Add(p *Batch, b *capture.Batch) {
	before := n.stream.packets
	cut := n.number(p, b)
	p.drop = capture.Resize(p.drop, (len(b.Frames)+63)/64)
	clear(p.drop)
	p.verdicts = p.verdicts[:0]
	from := 0
	switch {
	case n.prefix != nil:
	case cut == len(p.seen):
		n.firsts.add(p, b)
	case !n.firsts.over:
		n.firsts.measure(n, prefixOf(p.seen[cut].bytes))
	default:
		n.whole.add(p, p.digests, p.doubts, 0, cut, true, b)
		n.prefix, from = n.whole.fork(prefixOf(p.seen[cut].bytes)), cut
	}
	n.whole.add(p, p.digests, p.doubts, from, len(p.seen), true, b)
	if n.prefix != nil {
		p.readPrefixes(b)
		n.prefix.add(p, p.prefixes, p.prefixDoubts, from, len(p.seen), false, b)
	}
	n.trials.add(n, p, b)
	if before < 1<<allBits {
		n.addConversations(p, b, before)
	}
}

// addConversations counts the conversations of a batch. before is the number of packets in
// earlier batches. It needs the verdicts of all packets, so it ends where the sample begins.
func (n *Inspector) addConversations(p *Batch, b *capture.Batch, before uint64) {
	all := len(b.Frames)
	if before+uint64(all) > 1<<allBits {
		all = int(1<<allBits - before)
	}
	n.head = *b
	n.head.Frames = b.Frames[:all]
	n.split.Add(&n.head, p.drop)
	for i := range p.origins {
		frame := int(p.frames[i])
		if o := &p.origins[i]; frame < all && o.conversation != 0 {
			n.sides.add(o.conversation, o.tags, p.seen[i].flags&backward != 0, p.drop[frame/64]>>(frame%64)&1 != 0)
		}
	}
}

// number numbers the packets of the sample and their points, and counts. It returns the
// index of the first truncated packet, else the number of packets.
func (n *Inspector) number(p *Batch, b *capture.Batch) (cut int) {
	c := &n.stream
	kept := 0
	c.stamped, c.described = c.stamped+p.stamped, c.described+uint64(len(p.seen))
	cut = len(p.seen)
	for i := range p.seen {
		number := c.packets + uint64(p.frames[i]) + 1
		level := levelOf(number)
		if p.digests[i][1]&(1<<level-1) != 0 {
			continue
		}
		p.move(kept, i)
		s, frame := &p.seen[kept], int(p.frames[kept])
		s.number, s.device = number, n.deviceOf(n.devices.NumberOf(p.origins[kept].at))
		s.point = uint16(n.points.Number(p.origins[kept].place, b, frame))
		weight := uint64(1) << level
		n.countPoint(s.point, weight)
		if s.flags&truncated != 0 {
			cut = min(cut, kept)
		}
		c.stacked += weight * count(s.flags&stacked != 0)
		c.tunneled += weight * count(s.flags&tunneled != 0)
		c.tagged += weight * count(s.vlan != 0)
		isNumbered := count(s.flags&numbered != 0)
		c.numbered += weight * isNumbered
		c.others += weight * (1 - isNumbered)
		kept++
	}
	p.keep(kept)
	c.packets += uint64(len(b.Frames))
	c.noTime, c.nonIP, c.truncated = c.noTime+p.noTime, c.nonIP+p.nonIP, c.truncated+p.truncated
	c.unopened.Add(&p.unopened)
	n.level.Store(uint32(levelOf(max(c.packets, 1))))
	return min(cut, kept)
}

// countPoint counts packets of a point. Numbers of points follow each other.
func (n *Inspector) countPoint(point uint16, weight uint64) {
	for int(point) >= len(n.packets) {
		n.packets = append(n.packets, 0)
	}
	n.packets[point] += weight
}

func count(is bool) uint64 {
	if is {
		return 1
	}
	return 0
}

// Packets returns the number of packets so far.
func (n *Inspector) Packets() uint64 { return n.stream.packets }

// Close gives the memory back. Nothing else may be called then.
func (n *Inspector) Close() error {
	err := n.whole.table.close()
	if n.prefix != nil {
		err = errors.Join(err, n.prefix.table.close())
	}
	return err
}
