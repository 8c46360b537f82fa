// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"sync"
	"time"
)

// ratesSpan is how many seconds rates are averages of.
const ratesSpan = 5

// siteTotals are counts of a site over all slices of a hub.
type siteTotals struct {
	Digests uint64 `json:"digests"`
	Copies  uint64 `json:"copies"`
}

// rates remember the counts of the last seconds.
type rates struct {
	mu   sync.Mutex
	past []moment // the oldest first
}

type moment struct {
	at   time.Time
	site map[string]siteTotals
}

// follow notes the counts each second, until Close.
func (h *Hub) follow() {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-h.ctx.Done():
			return
		case now := <-ticker.C:
			h.rates.note(moment{at: now, site: h.totals()})
		}
	}
}

// totals returns the sites' totals over all slices of the hub.
func (h *Hub) totals() map[string]siteTotals {
	all := map[string]siteTotals{}
	for _, o := range h.all() {
		o.mu.Lock()
		o.slice.EachSite(func(name string, digests, copies uint64) {
			t := all[name]
			all[name] = siteTotals{t.Digests + digests, t.Copies + copies}
		})
		o.mu.Unlock()
	}
	return all
}

// all returns the owners of the hub's slices.
func (h *Hub) all() (owners []*owner) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for number := range h.settings.Slices {
		if o := h.owners[number]; o != nil {
			owners = append(owners, o)
		}
	}
	return owners
}

func (r *rates) note(m moment) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.past = append(r.past, m); len(r.past) > ratesSpan+1 {
		r.past = r.past[1:]
	}
}

// rate is a site's counts per second.
type rate struct {
	Digests float64 `json:"digests"`
	Copies  float64 `json:"copies"`
}

// now returns the rates of the last seconds.
func (r *rates) now() map[string]rate {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[string]rate{}
	if len(r.past) < 2 {
		return all
	}
	first, last := r.past[0], r.past[len(r.past)-1]
	seconds := last.at.Sub(first.at).Seconds()
	for site, t := range last.site {
		before := first.site[site]
		if t.Digests >= before.Digests { // otherwise a slice has moved
			all[site] = rate{float64(t.Digests-before.Digests) / seconds, float64(t.Copies-min(t.Copies, before.Copies)) / seconds}
		}
	}
	return all
}
