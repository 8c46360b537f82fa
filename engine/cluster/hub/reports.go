// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"maps"
	"math"
	"slices"
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
	Total hubclient.Report   `json:"total"`
	Last  hubclient.Report   `json:"last"` // of any run, as it came
	At    time.Time          `json:"at"`
	runs  []hubclient.Report // last reports of the runs, the latest at the end
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
	before := old.take(r.Run)
	if before.Packets > r.Packets {
		before = hubclient.Report{}
	}
	advance(&old.Total.Packets, before.Packets, r.Packets)
	advance(&old.Total.CopiesLocal, before.CopiesLocal, r.CopiesLocal)
	advance(&old.Total.CopiesHub, before.CopiesHub, r.CopiesHub)
	advance(&old.Total.Unchecked, before.Unchecked, r.Unchecked)
	old.Last, old.At, old.runs = r, now, append(old.runs, r)
	s.site[site] = old
}

// take removes and returns the last report of a run, empty for none. A token serves maxConnections
// runs at a time, so the run that was silent for longest makes room for a new run.
func (s *siteReport) take(run string) (last hubclient.Report) {
	if i := slices.IndexFunc(s.runs, func(r hubclient.Report) bool { return r.Run == run }); i >= 0 {
		last = s.runs[i]
		s.runs = slices.Delete(s.runs, i, i+1)
	} else if len(s.runs) == maxConnections {
		s.runs = slices.Delete(s.runs, 0, 1)
	}
	return last
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
