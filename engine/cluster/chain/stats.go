// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"math"

	"github.com/flowdedup/flowdedup/engine/cluster/slice"
	"github.com/flowdedup/flowdedup/layout"
)

// Stats returns the present statistics. The first link knows what sites have sent, and
// the last one how many of it were copies. FPR is the rate of a filter whose slices all
// have this fill.
func (l *Link) Stats() slice.Stats {
	fill := l.store.fill(l.now)
	st := slice.Stats{
		MemoryBytes: len(l.store.lines) * layout.LineSize, Fill: fill, FPR: math.Pow(fill, float64(l.places.k)),
		Tests: l.tests, Lost: l.lost, Hops: l.hops, HopBytes: l.bytes,
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
