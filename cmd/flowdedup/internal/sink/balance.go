// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/traits"
)

// sharer is a destination that may be away for a while. Others take its share meanwhile.
type sharer interface {
	// usable reports whether packets can be sent now. If they could not, it checks anew.
	usable() bool
}

// balancer shares kept packets among outputs: all packets of a conversation go to the same output,
// which rendezvous hashing chooses (Thaler, Ravishankar: Using name-based mappings to increase hit
// rates, 1998). If an output is away, only its share moves.
type balancer struct {
	pairs   *traits.PairReader
	spread  bool // the share of a failed output goes to the others
	members []*output
	alive   []bool // of members, in this batch
}

// share is a balanced output's share of a batch.
type share struct {
	take, drop []uint64 // a bit a packet
	size       traffic
}

// balance makes the shares of a batch for the outputs that are balanced, if any are.
func (s *Set) balance(b *capture.Batch, drop []uint64) {
	if s.balancer == nil {
		return
	}
	if s.balancer.members == nil {
		for _, o := range s.outputs {
			if _, ok := o.destination.(sharer); ok && !o.removed {
				o.share = &share{}
				s.balancer.members = append(s.balancer.members, o)
			}
		}
	}
	s.balancer.assign(b, drop)
}

func (l *balancer) assign(b *capture.Batch, drop []uint64) {
	l.findAlive()
	words := (len(b.Frames) + 63) / 64
	for _, o := range l.members {
		o.share.take = append(o.share.take[:0], make([]uint64, words)...)
	}
	for i, hash := range l.pairs.Read(b) {
		if drop == nil || drop[i/64]>>(i%64)&1 == 0 {
			l.members[l.choose(hash)].share.take[i/64] |= 1 << (i % 64)
		}
	}
	for _, o := range l.members {
		o.share.drop = capture.Complement(o.share.drop, o.share.take, len(b.Frames))
		o.share.size = trafficOf(b, o.share.take)
	}
}

// findAlive notes which outputs get packets. If none can, all get their shares, and count them
// as lost.
func (l *balancer) findAlive() {
	some := false
	l.alive = l.alive[:0]
	for _, o := range l.members {
		ok := !l.spread || !o.ended() && o.destination.(sharer).usable()
		l.alive = append(l.alive, ok)
		some = some || ok
	}
	for i := range l.alive {
		l.alive[i] = l.alive[i] || !some
	}
}

// choose returns which output gets packets with a hash: the output of the highest score among
// outputs that are alive.
func (l *balancer) choose(hash uint64) (at int) {
	most := uint64(0)
	for i, alive := range l.alive {
		high, low := bits.Mul64(hash^(uint64(i)+1)*0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9)
		if score := (high ^ low) | 1; alive && score > most {
			most, at = score, i
		}
	}
	return at
}
