// SPDX-License-Identifier: Apache-2.0

package windows

import "github.com/flowdedup/flowdedup/engine/distinct/top"

// ranking counts the packets and bytes of the elements of a key in a window.
type ranking struct {
	*top.Summary        // nil before the first element
	bytes        uint64 // of all packets
}

// mostRanked bounds the elements that are ranked exactly without Config.Budget, in 14 MiB.
const mostRanked = 1 << 16

// begin makes the summary for the first element.
func (r *ranking) begin(c *Counter) {
	r.Summary = top.New(c.cfg.TopBy)
	if share := c.budget.share(); share > 0 {
		r.Limit(share)
	} else if c.cfg.Method != methodExact {
		r.Limit(r.Needs(mostRanked))
	}
}

// rank ranks the elements of a key from the given numbers of each series on, which countKey has taken. It
// goes in the order of packets, which does not depend on where batches end.
func (b *Batch) rank(r *ranking, key int, at [MAC + 1]int) {
	e := &b.keys[key]
	packets := [...][]uint32{e.Addr4.packets[:e.Addr4.at], e.V4.packets[:e.V4.at], e.V6.packets[:e.V6.at], e.MAC.packets[:e.MAC.at]}
	last, lastID := ^uint32(0), uint64(0)
	for {
		next, p := Addr4, ^uint32(0)
		for s, all := range packets {
			if at[s] < len(all) && all[at[s]] < p {
				next, p = SeriesID(s), all[at[s]]
			}
		}
		if p == ^uint32(0) { // no packet has this number
			return
		}
		number := at[next]
		at[next]++
		if b.uncounted != nil && b.uncounted[p/64]>>(p%64)&1 != 0 {
			continue
		}
		if r.Summary == nil {
			r.begin(b.counter)
		}
		id, length := e.id(next, number), b.Bytes(p)
		if p != last {
			r.bytes += length
		}
		if p != last || id != lastID {
			r.Add(b.Key(key, next, number), id, length)
		}
		last, lastID = p, id
	}
}

// id returns half of the digest of an element, or its address. Of two elements of a run both are the
// same with a probability of 2^-64.
func (e *Elements) id(series SeriesID, number int) uint64 {
	switch series {
	case Addr4:
		return uint64(e.Addr4.items[number])
	case V4:
		return e.V4.items[number][0]
	case V6:
		return e.V6.items[number][0]
	}
	return e.MAC.items[number][0]
}

// taken returns how many elements of each series next has returned.
func (e *Elements) taken() [MAC + 1]int {
	return [...]int{e.Addr4.at, e.V4.at, e.V6.at, e.MAC.at}
}
