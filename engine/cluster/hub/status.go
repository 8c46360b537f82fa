// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/version"
	"github.com/flowdedup/flowdedup/engine/cluster/slice"
	"github.com/flowdedup/flowdedup/engine/window"
)

// part is one hub's share of a status.
type part struct {
	Hub     string      `json:"hub"`
	Started time.Time   `json:"started"`
	Slices  []slicePart `json:"slices"`
	// Elsewhere are slices of other live hubs.
	Elsewhere []int                 `json:"elsewhere,omitempty"`
	Reports   map[string]siteReport `json:"reports"`
	Rates     map[string]rate       `json:"rates"`
	Bad       map[string]uint64     `json:"bad"`            // requests by site
	Bans      map[string]Ban        `json:"bans,omitempty"` // by site
	Counts    *CountsStatus         `json:"counts,omitempty"`
	Tree      *TreeStatus           `json:"tree,omitempty"`
	TopDown   *TopDownStatus        `json:"top_down,omitempty"`
}

type slicePart struct {
	Slice   int         `json:"slice"`
	Fence   uint64      `json:"fence"`
	Refused Refusals    `json:"refused"`
	Stats   slice.Stats `json:"stats"`
}

// part describes the hub.
func (h *Hub) part() part {
	p := part{Hub: h.name, Started: h.started, Reports: h.reports.all(), Rates: h.rates.now(), Bad: h.bad.all(), Counts: h.countsStatus(), Tree: h.tree(), TopDown: h.below.status()}
	if h.bans != nil {
		p.Bans = h.bans()
	}
	if h.denied != nil {
		for site, n := range h.denied() {
			p.Bad[site] += n
		}
	}
	for _, o := range h.all() {
		p.Slices = append(p.Slices, o.status())
	}
	p.Elsewhere = h.layout.others(h.settings.Slices, h.id, time.Now())
	return p
}

// Status describes a filter with all of its hubs and sites.
type Status struct {
	version.Heading
	Namespace string         `json:"namespace"`
	Filter    string         `json:"filter"`
	Epoch     uint32         `json:"epoch"`
	Window    string         `json:"window"`
	Slices    int            `json:"slices"`
	Owned     int            `json:"slices_owned"`   // slices that a hub answers for
	Unowned   []int          `json:"slices_unowned"` // slices that no hub answers for
	Hubs      []HubStatus    `json:"hubs"`
	Sites     []SiteStatus   `json:"sites"`
	Matrix    []PairStatus   `json:"matrix"`
	PerSlice  []SliceStatus  `json:"per_slice"`
	Refused   Refusals       `json:"refused"`            // requests
	Chains    *ChainStatus   `json:"chains,omitempty"`   // nil for rows
	Tree      *TreeStatus    `json:"tree,omitempty"`     // nil without a hub above
	TopDown   *TopDownStatus `json:"top_down,omitempty"` // nil without hubs below
	Counts    *CountsStatus  `json:"counts,omitempty"`   // nil if no hub takes any
}

// HubStatus describes a hub.
type HubStatus struct {
	Hub         string    `json:"hub"`
	Started     time.Time `json:"started"`
	Slices      int       `json:"slices"`
	MemoryBytes int       `json:"memory_bytes"`
}

// SiteStatus describes a site: first its requests to the slices, then its own reports.
type SiteStatus struct {
	Site       string         `json:"site"`
	Digests    uint64         `json:"digests"`
	Copies     uint64         `json:"duplicates"` // digests of packets that were taken for copies of other sites' packets
	DigestRate float64        `json:"digests_per_second"`
	CopyRate   float64        `json:"duplicates_per_second"`
	Replayed   uint64         `json:"replayed"` // repeated requests
	Bad        uint64         `json:"bad"`      // requests that no sensor of flowdedup sends
	Offset     *time.Duration `json:"offset_ns,omitempty"`
	OffsetOf   string         `json:"offset_of,omitempty"` // the site that the offset is relative to

	Bans        uint64     `json:"bans"`                   // by the embedded server
	BannedUntil *time.Time `json:"banned_until,omitempty"` // end of the last ban

	Reported    *time.Time    `json:"reported,omitempty"` // time of its last report
	Packets     uint64        `json:"packets_in"`
	CopiesLocal uint64        `json:"local_duplicates"`
	CopiesHub   uint64        `json:"hub_duplicates"`
	Unchecked   uint64        `json:"unchecked"`
	AnswerP99   time.Duration `json:"answer_p99_ns"`
}

// PairStatus describes the copies of one site's packets that another site has sent.
type PairStatus struct {
	First  string    `json:"first"`
	Copy   string    `json:"copy"`
	Copies uint64    `json:"duplicates"`
	Delay  PairDelay `json:"delay_ns"`
}

// PairDelay is the delay of the copies after the first packets, by corrected clocks, up
// to a factor of 2.
type PairDelay struct {
	P50 time.Duration `json:"p50"`
	P99 time.Duration `json:"p99"`
}

// SliceStatus describes a slice.
type SliceStatus struct {
	Slice       int      `json:"slice"`
	Hub         string   `json:"hub"`
	Fence       uint64   `json:"fence"`
	Digests     uint64   `json:"digests"`
	MemoryBytes int      `json:"memory_bytes"`
	Fill        float64  `json:"fill"`
	FPR         float64  `json:"predicted_fpr"`
	EvictedLive uint64   `json:"evicted_live"`
	Lost        bool     `json:"lost,omitempty"`    // it does not answer, as it has lost its state
	Filters     int      `json:"filters,omitempty"` // of a slice of dynamic size
	Refused     Refusals `json:"refused"`
}

// Status describes only this hub.
func (h *Hub) Status() Status { return merge(h.settings, []part{h.part()}) }

// Failures returns the reasons why packets of sites are not checked, none if all is well.
// It may be called by any goroutine.
func (h *Hub) Failures() []string {
	now := time.Now()
	switch {
	case !h.conn.IsConnected() || !h.sites.IsConnected():
		return []string{"there is no connection to the NATS server"}
	case !h.mayAnswer(now):
		return []string{"the lease of this hub is not renewed, so it does not answer"}
	}
	var all []string
	if n := h.layout.unowned(h.settings.Slices, now); n > 0 {
		all = append(all, fmt.Sprintf("%d of %d slices have no hub", n, h.settings.Slices))
	}
	if h.parent != nil {
		if why := h.parent.client.Failing(); why != "" {
			all = append(all, "the hub above does not answer: "+why)
		}
	}
	if h.unnoted.Load() {
		all = append(all, "journals take no requests")
	}
	return all
}

// merge puts the parts of all hubs together. Times are in UTC.
func merge(s Settings, parts []part) Status {
	st := Status{
		Heading:   version.HeadingOf("hub"),
		Namespace: s.Namespace, Filter: s.Filter, Epoch: s.Epoch, Window: window.Window{Duration: s.Window()}.String(), Slices: s.Slices,
		Unowned: []int{}, Hubs: []HubStatus{}, Sites: []SiteStatus{}, Matrix: []PairStatus{}, PerSlice: []SliceStatus{},
	}
	sites, pairs := map[string]*SiteStatus{}, map[[2]string]*slice.PairStats{}
	var owned []slicePart
	var elsewhere []int
	for _, p := range parts {
		elsewhere = append(elsewhere, p.Elsewhere...)
		hub := HubStatus{Hub: p.Hub, Started: p.Started.UTC(), Slices: len(p.Slices)}
		for _, one := range p.Slices {
			hub.MemoryBytes += one.Stats.MemoryBytes
			owned = append(owned, one)
			st.PerSlice = append(st.PerSlice, describe(p.Hub, one))
			st.Refused.add(one.Refused)
			addSlice(sites, pairs, &one.Stats)
		}
		addHub(sites, p)
		if p.Counts != nil {
			st.Counts = p.Counts
		}
		st.Hubs = append(st.Hubs, hub)
	}
	slices.SortFunc(st.PerSlice, func(a, b SliceStatus) int { return a.Slice - b.Slice })
	for number, at := 0, 0; number < s.Slices; number++ {
		for at < len(st.PerSlice) && st.PerSlice[at].Slice < number {
			at++
		}
		if at == len(st.PerSlice) || st.PerSlice[at].Slice != number {
			st.Unowned = append(st.Unowned, number)
		}
	}
	st.Owned = s.Slices - len(st.Unowned)
	if s.Shape.Rows() {
		addOffsets(sites, owned)
	} else {
		st.Chains = describeChains(&s, owned, elsewhere)
	}
	worst := 0.0
	for _, one := range owned {
		worst = max(worst, one.Stats.FPR)
	}
	st.Tree, st.TopDown = describeTree(&s, parts, worst), describeTopDown(parts)
	for _, name := range slices.Sorted(maps.Keys(sites)) {
		st.Sites = append(st.Sites, *sites[name])
	}
	for _, key := range slices.SortedFunc(maps.Keys(pairs), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		p := pairs[key]
		st.Matrix = append(st.Matrix, PairStatus{key[0], key[1], p.Copies, PairDelay{micro(p.Delay(0.5)), micro(p.Delay(0.99))}})
	}
	return st
}

func describe(hub string, one slicePart) SliceStatus {
	st := SliceStatus{
		Slice: one.Slice, Hub: hub, Fence: one.Fence, MemoryBytes: one.Stats.MemoryBytes, Fill: one.Stats.Fill,
		FPR: one.Stats.FPR, EvictedLive: one.Stats.EvictedLive, Lost: one.Stats.Lost, Filters: one.Stats.Filters, Refused: one.Refused,
		Digests: one.Stats.Tests,
	}
	if st.Digests > 0 {
		return st // tests per slice, as a link gets all digests of its chain
	}
	for _, site := range one.Stats.Sites {
		st.Digests += site.Digests
	}
	return st
}

// micro converts a time that hubs exchange in microseconds.
func micro(us int64) time.Duration { return time.Duration(us) * time.Microsecond }

// microseconds is micro for a number that a site reports, which may be any number.
func microseconds(us float64) time.Duration {
	return time.Duration(max(0, min(us*1e3, math.MaxInt64/2)))
}

func siteNamed(sites map[string]*SiteStatus, name string) *SiteStatus {
	s := sites[name]
	if s == nil {
		s = &SiteStatus{Site: name}
		sites[name] = s
	}
	return s
}

// addSlice adds a slice's counts of sites.
func addSlice(sites map[string]*SiteStatus, pairs map[[2]string]*slice.PairStats, st *slice.Stats) {
	for _, one := range st.Sites {
		s := siteNamed(sites, one.Name)
		s.Digests += one.Digests
		s.Copies += one.Copies
		s.Replayed += one.Replayed
	}
	for _, one := range st.Pairs {
		key := [2]string{one.First, one.Copy}
		if pairs[key] == nil {
			pairs[key] = &slice.PairStats{}
		}
		pairs[key].Add(one)
	}
}

// addHub adds the sites' reports, which all hubs get, and rates.
func addHub(sites map[string]*SiteStatus, p part) {
	for name, r := range p.Rates {
		s := siteNamed(sites, name)
		s.DigestRate += r.Digests
		s.CopyRate += r.Copies
	}
	for name, n := range p.Bad {
		siteNamed(sites, name).Bad += n
	}
	for name, b := range p.Bans {
		s := siteNamed(sites, name)
		s.Bans += b.Count
		if until := b.Until.UTC(); s.BannedUntil == nil || until.After(*s.BannedUntil) {
			s.BannedUntil = &until
		}
	}
	for name, r := range p.Reports {
		s := siteNamed(sites, name)
		if r.Total.Packets < s.Packets {
			continue // the other hub has heard more
		}
		at := r.At.UTC()
		s.Reported, s.Packets, s.CopiesLocal, s.CopiesHub = &at, r.Total.Packets, r.Total.CopiesLocal, r.Total.CopiesHub
		s.Unchecked, s.AnswerP99 = r.Total.Unchecked, microseconds(r.Last.RTTP99US)
	}
}

// addOffsets sets each site's offset to the median of the offsets that slices have
// learned. Each is relative to the site with the least name that the slice can compare
// with.
func addOffsets(sites map[string]*SiteStatus, owned []slicePart) {
	learned := map[string]map[string][]int64{} // of a site, from another one
	for _, one := range owned {
		first := map[string]slice.SiteStats{} // by the root of their clocks
		for _, site := range one.Stats.Sites {
			if f, ok := first[site.Of]; !ok || site.Name < f.Name {
				first[site.Of] = site
			}
		}
		for _, site := range one.Stats.Sites {
			f := first[site.Of]
			if f.Name == site.Name {
				continue
			}
			if learned[site.Name] == nil {
				learned[site.Name] = map[string][]int64{}
			}
			learned[site.Name][f.Name] = append(learned[site.Name][f.Name], site.OffsetUS-f.OffsetUS)
		}
	}
	for name, from := range learned {
		best := ""
		for _, other := range slices.Sorted(maps.Keys(from)) {
			if len(from[other]) > len(from[best]) {
				best = other
			}
		}
		slices.Sort(from[best])
		middle := from[best][len(from[best])/2]
		offset := micro(middle)
		sites[name].Offset, sites[name].OffsetOf = &offset, best
	}
}
