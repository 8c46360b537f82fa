// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"io"
	"slices"
	"sync"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/monitor"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/page"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/web"
)

// server shows a run on flow records over HTTP, as monitor.Server shows one on packets.
// Methods may be called concurrently.
type server struct {
	*web.Server

	mu      sync.Mutex
	last    *summary // nil before the first
	losses  monitor.Losses
	updated time.Time
}

// pageEvery is how often browsers load the page again. It is longer than for a run on
// packets.
const pageEvery = 5 * time.Second

// listen serves on addr, the value of a flag, with the tokens of a file, as monitor.Listen does. The page names the
// origin.
func listen(addr, tokens string, of cli.Origin) (s *server, err error) {
	s = new(server)
	all := allMetrics()
	s.Server, err = web.Listen(addr, tokens, web.Content{
		Page: func(w io.Writer, paused bool) error {
			last := s.status().summary
			if last == nil {
				last = new(summary)
			}
			p := newPage(last, of)
			p.Origin, p.Alerts = of.Now(), s.health().Reasons
			p.Live = &page.Live{Every: pageEvery, Paused: paused, Paths: []string{"/metrics", "/healthz"}}
			return p.Write(w)
		},
		Refresh: pageEvery, Health: s.health,
		Metrics: func(w io.Writer) error {
			if last := s.status(); last.summary != nil {
				return web.WriteMetrics(w, all, last)
			}
			return nil
		},
	})
	return s, err
}

// update takes the summary so far. The caller must not change it afterwards.
func (s *server) update(summary *summary) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last, s.updated = summary, time.Now()
	if r := summary.Relayed; r != nil {
		s.losses.Add(s.updated, []monitor.Loss{{Where: "to " + r.To, What: "messages not taken", Count: r.Failed}})
	}
}

// status is a summary, nil before the first, and when it was given.
type status struct {
	*summary
	now time.Time
}

// started is when the run began.
func (s *status) started() time.Time {
	return s.now.Add(-s.Took)
}

func (s *server) status() *status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &status{s.last, s.updated}
}

// health reports current failures and recent losses.
func (s *server) health() web.Health {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		return web.HealthAt(s.updated, nil)
	}
	return web.HealthAt(s.updated, append(slices.Clone(s.last.Failing), s.losses.Recent(time.Now())...))
}
