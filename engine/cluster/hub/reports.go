package hub

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/flowdedup/flowdedup/engine/cluster/slice"
	"github.com/flowdedup/flowdedup/engine/remote"
)

// reports are what sites say of themselves.
type reports struct {
	mu   sync.Mutex
	site map[string]siteReport
}

// siteReport is the sum of all runs of a site since the hub started.
type siteReport struct {
	Total remote.Report `json:"total"`
	Last  remote.Report `json:"last"` // of the run, as it came
	At    time.Time     `json:"at"`
}

// subscribeReports begins to take reports.
func (h *Hub) subscribeReports() error {
	h.reports.site = map[string]siteReport{}
	_, err := h.conn.Subscribe(fmt.Sprintf("fd.%s.%s.*.report.*", h.settings.Namespace, h.settings.Filter), func(m *nats.Msg) {
		site := m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]
		if r, err := remote.DecodeReport(m.Data); err == nil && remote.ValidName(site) {
			h.reports.take(site, r, time.Now())
		}
	})
	return err
}

// take adds a report.
func (s *reports) take(site string, r remote.Report, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, known := s.site[site]
	if !known && len(s.site) == slice.MaxSites {
		return
	}
	before := old.Last
	if before.Run != r.Run || before.Packets > r.Packets {
		before = remote.Report{}
	}
	old.Total.Packets += r.Packets - before.Packets
	old.Total.CopiesLocal += r.CopiesLocal - min(before.CopiesLocal, r.CopiesLocal)
	old.Total.CopiesHub += r.CopiesHub - min(before.CopiesHub, r.CopiesHub)
	old.Total.Unchecked += r.Unchecked - min(before.Unchecked, r.Unchecked)
	old.Last, old.At = r, now
	s.site[site] = old
}

func (s *reports) all() map[string]siteReport {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.site)
}
