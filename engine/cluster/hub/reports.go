// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"maps"
	"math"
	"sync"
	"time"

	"github.com/flowdedup/flowdedup/engine/cluster/slice"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// reports are the sites' reports about themselves.
type reports struct {
	mu   sync.Mutex
	site map[string]siteReport
}

// siteReport is the sum of all runs of a site since the hub started.
type siteReport struct {
	Total hubclient.Report `json:"total"`
	Last  hubclient.Report `json:"last"` // of the run, as it came
	At    time.Time        `json:"at"`
}

// takeReport takes a report of a site.
func (h *Hub) takeReport(site string, msg []byte) {
	r, err := hubclient.DecodeReport(msg)
	if err != nil {
		h.noteBad(site, badBody)
		return
	}
	h.reports.take(site, r, time.Now())
}

// take adds a report.
func (s *reports) take(site string, r hubclient.Report, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, known := s.site[site]
	if !known && len(s.site) == slice.MaxSites {
		return
	}
	before := old.Last
	if before.Run != r.Run || before.Packets > r.Packets {
		before = hubclient.Report{}
	}
	advance(&old.Total.Packets, before.Packets, r.Packets)
	advance(&old.Total.CopiesLocal, before.CopiesLocal, r.CopiesLocal)
	advance(&old.Total.CopiesHub, before.CopiesHub, r.CopiesHub)
	advance(&old.Total.Unchecked, before.Unchecked, r.Unchecked)
	old.Last, old.At = r, now
	s.site[site] = old
}

// advance adds the increase of a site's count since its last report. The site may report
// anything: the total stays at its highest value.
func advance(total *uint64, before, now uint64) {
	more := now - min(before, now)
	*total += min(more, math.MaxInt64-*total)
}

func (s *reports) all() map[string]siteReport {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.site)
}
