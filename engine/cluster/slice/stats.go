// SPDX-License-Identifier: Apache-2.0

package slice

import (
	"math"

	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// pair counts the copies of a site's packets that another site has sent.
type pair struct {
	Copies uint64
	Delays [delayBits]uint64 // by the length of the delay in microseconds, in bits
}

// delayBits is enough for windows of a day.
const delayBits = 38

// Stats describe a slice. Counts begin when the slice was made, and continue through
// saving and restoring.
type Stats struct {
	Sites       []SiteStats `json:"sites"`
	Pairs       []PairStats `json:"pairs"`
	MemoryBytes int         `json:"memory_bytes"`
	Fill        float64     `json:"fill"` // share of the cells with elements of the window
	// FPR is the probability that a packet is taken for a copy though no other site has
	// sent it.
	FPR         float64 `json:"fpr"`
	Evicted     uint64  `json:"evicted"`      // digests that made room for others
	EvictedLive uint64  `json:"evicted_live"` // of them, within the window: copies may be missed
	// The remaining fields describe slices of package chain. Tests are elements that were
	// tested, Hops the messages to other slices, and HopBytes their length. Lost means
	// that the slice does not answer, since it has lost its state.
	Tests    uint64 `json:"tests,omitempty"`
	Hops     uint64 `json:"hops,omitempty"`
	HopBytes uint64 `json:"hop_bytes,omitempty"`
	Lost     bool   `json:"lost,omitempty"`
	// Holds has, for each number of an element's bits that may lie in the slice, the
	// probability that all of them are set although the element is new. Filters is the
	// number of filters of a slice of dynamic size.
	Holds   []float64 `json:"holds,omitempty"`
	Filters int       `json:"filters,omitempty"`
}

// SiteStats describe a site's requests.
type SiteStats struct {
	Name     string `json:"site"`
	Requests uint64 `json:"requests"`
	Digests  uint64 `json:"digests"`
	Copies   uint64 `json:"copies"`
	Replayed uint64 `json:"replayed"` // repeated requests
	// OffsetUS is how much its clock is ahead of the clock of site Of, in microseconds.
	OffsetUS int64  `json:"offset_us"`
	Of       string `json:"offset_of"`
}

// PairStats describe the copies of a site's packets that another site has sent.
type PairStats struct {
	First  string            `json:"first"`
	Copy   string            `json:"copy"`
	Copies uint64            `json:"copies"`
	Delays [delayBits]uint64 `json:"delays"` // by the bits of the delay in microseconds
}

// Stats returns the present statistics. It reads a sample of the lines.
func (s *Slice) Stats() Stats {
	st := Stats{
		MemoryBytes: len(s.rows.all()) * lineBytes, Evicted: s.evicted, EvictedLive: s.evictedLive,
		Fill: s.rows.live(s.latest, s.window),
	}
	for i, one := range s.sites {
		n := s.clocks.nodes[i]
		st.Sites = append(st.Sites, SiteStats{
			Name: one.Name, Requests: one.Requests, Digests: one.Digests, Copies: one.Copies, Replayed: one.Replayed,
			OffsetUS: n.Offset - s.clocks.nodes[n.Root].Offset, Of: s.sites[n.Root].Name,
		})
	}
	for a, row := range s.pairs.rows {
		for b, p := range row {
			if p != nil {
				st.Pairs = append(st.Pairs, PairStats{First: s.sites[a].Name, Copy: s.sites[b].Name, Copies: p.Copies, Delays: p.Delays})
			}
		}
	}
	// A digest matches any remembered digest that equals it. All digests of a slice
	// share the highest of 64 bits, and mostly these lie above the compared bits.
	free := min(hubclient.DigestBits, 64-math.Log2(float64(s.cfg.Slices))) - math.Log2(float64(len(s.rows.all())))
	st.FPR = cells * st.Fill * math.Exp2(-free)
	return st
}

// Add adds the copies of the same pair in another slice.
func (p *PairStats) Add(o PairStats) {
	p.Copies += o.Copies
	for i, n := range o.Delays {
		p.Delays[i] += n
	}
}

// Delay returns the time in microseconds that a share of the copies came within, up to a
// factor of 2.
func (p *PairStats) Delay(share float64) int64 {
	sum, want := uint64(0), share*float64(p.Copies)
	for i, n := range p.Delays {
		if sum += n; n > 0 && float64(sum) >= want {
			return int64(1)<<i - 1
		}
	}
	return 0
}

// EachSite calls f with each site's totals. It is cheaper than Stats.
func (s *Slice) EachSite(f func(name string, digests, copies uint64)) {
	for i := range s.sites {
		f(s.sites[i].Name, s.sites[i].Digests, s.sites[i].Copies)
	}
}

// matrix has a T for each pair of sites that at was called with.
type matrix[T any] struct {
	rows [][]*T
}

// add makes room for one more site.
func (m *matrix[T]) add() {
	n := len(m.rows) + 1
	m.rows = append(m.rows, nil)
	for i := range m.rows {
		m.rows[i] = append(m.rows[i], make([]*T, n-len(m.rows[i]))...)
	}
}

// at returns the T of two sites.
func (m *matrix[T]) at(a, b int) *T {
	p := m.rows[a][b]
	if p == nil {
		p = new(T)
		m.rows[a][b] = p
	}
	return p
}

// reset makes all zero.
func (m *matrix[T]) reset() {
	for _, row := range m.rows {
		clear(row)
	}
}
