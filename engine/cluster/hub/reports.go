// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"fmt"
	"maps"
	"math"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

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

// subscribeReports begins to take reports.
func (h *Hub) subscribeReports() error {
	h.reports.site = map[string]siteReport{}
	_, err := h.sites.Subscribe(fmt.Sprintf("fd.%s.%s.*.report.*", h.settings.Namespace, h.settings.Filter), func(m *nats.Msg) {
		site := lastWord(m.Subject)
		r, err := hubclient.DecodeReport(m.Data)
		switch {
		case err != nil:
			h.noteBad(site, badBody)
		case hubclient.ValidName(site):
			h.reports.take(site, r, time.Now())
		}
	})
	return err
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
