// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"math"

	"github.com/flowdedup/flowdedup/engine/cluster/slice"
	"github.com/flowdedup/flowdedup/layout"
)

// Stats returns the present statistics. The first link counts the digests that sites have
// sent, and the last link the copies among them. FPR is the rate of a filter whose slices
// are all like this one.
func (l *Link) Stats() slice.Stats {
	holds, k := l.holds(), l.places.k
	fpr := holds[k]
	if l.last > 0 { // where each bit may be in a filter of its own
		fpr = math.Pow(holds[1], float64(k))
	}
	filters := len(l.older) + 1
	st := slice.Stats{
		MemoryBytes: filters * len(l.store.lines) * layout.LineSize, Fill: holds[1], FPR: fpr, Holds: holds,
		Tests: l.tests, Lost: l.lost, Hops: l.hops, HopBytes: l.bytes,
	}
	if l.shape.Grow != "" {
		st.Filters = filters
	}
	for i := range l.sites {
		st.Sites = append(st.Sites, l.sites[i].SiteStats)
	}
	return st
}

// EachSite calls f with each site's totals. It is cheaper than Stats.
func (l *Link) EachSite(f func(name string, digests, copies uint64)) {
	for i := range l.sites {
		f(l.sites[i].Name, l.sites[i].Digests, l.sites[i].Copies)
	}
}
