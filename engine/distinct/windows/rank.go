// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/distinct/top"
)

// ranking has the elements of a key in a window, with their packets and bytes: 16 bytes for IPv4 and
// hardware addresses, 48 for IPv6. Both are nil before the first element.
type ranking struct {
	four  *top.Summary[[16]byte]
	six   *top.Summary[[48]byte]
	bytes uint64 // of the packets
}

// mostRanked bounds the elements of a family that are ranked exactly without Config.Budget: 32 to 60 MiB.
const mostRanked = 1 << 18

// rank ranks the elements of a key, of packets before to, that countKey has not taken yet.
func (b *Batch) rank(r *ranking, key int, to uint32) {
	e := &b.keys[key]
	for _, s := range [...]struct {
		id      SeriesID
		from    int
		packets []uint32
	}{{Addr4, e.Addr4.at, e.Addr4.coming(to)}, {V4, e.V4.at, e.V4.coming(to)}, {V6, e.V6.at, e.V6.coming(to)}, {MAC, e.MAC.at, e.MAC.coming(to)}} {
		if len(s.packets) > 0 {
			four, six := b.Keys(key, s.id, s.from, len(s.packets))
			r.bytes += rankSeries(b, &r.four, four, s.packets)
			r.bytes += rankSeries(b, &r.six, six, s.packets)
		}
	}
}

// coming returns the packets of the elements that next returns in its coming call.
func (s *Series[E]) coming(to uint32) []uint32 {
	from, end := s.upcoming(to)
	return s.packets[from:end]
}

// rankSeries ranks the elements of packets, and returns the lengths of these.
func rankSeries[K top.Key](b *Batch, s **top.Summary[K], keys []K, packets []uint32) (sum uint64) {
	if len(keys) > 0 && *s == nil {
		*s = top.New[K](b.counter.cfg.TopBy)
		switch share := b.counter.budget.share(); {
		case share > 0:
			(*s).Limit(share)
		case b.counter.cfg.Method != methodExact:
			(*s).Limit((*s).Needs(mostRanked))
		}
	}
	for i, key := range keys {
		p := packets[i]
		second := i > 0 && packets[i-1] == p
		if b.uncounted != nil && b.uncounted[p/64]>>(p%64)&1 != 0 || second && keys[i-1] == key {
			continue
		}
		bytes := b.Bytes(p)
		(*s).Add(key, bytes)
		if !second {
			sum += bytes
		}
	}
	return sum
}

// appendBounded appends what a budget bounds.
func (r *ranking) appendBounded(all []engine.Bounded) []engine.Bounded {
	if r.four != nil {
		all = append(all, r.four)
	}
	if r.six != nil {
		all = append(all, r.six)
	}
	return all
}

// memory returns the memory of both in bytes.
func (r *ranking) memory() (bytes int) {
	for _, s := range r.appendBounded(nil) {
		bytes += s.Needs(0)
	}
	return bytes
}

// addTop adds the first n elements of each family, and the bytes of all, to a count.
func (r *ranking) addTop(c *Count, n int) {
	c.Bytes = r.bytes
	if r.four != nil {
		c.Top4 = r.four.Top(n)
	}
	if r.six != nil {
		c.Top6 = r.six.Top(n)
	}
}
