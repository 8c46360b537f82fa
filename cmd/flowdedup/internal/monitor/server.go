// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/page"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/web"
)

// Server shows a run over HTTP: /metrics for Prometheus, /healthz for health checks, and
// / for people. Methods may be called concurrently.
type Server struct {
	*web.Server
	origin func() page.Origin // of the page

	mu      sync.Mutex
	history history
	losses  Losses
	updated time.Time // when the last status came; zero before
}

// Listen serves on addr, the value of --http, with the tokens of a file; see [web.Listen]. The page
// names the origin. The caller must call Close.
func Listen(addr, tokens string, origin func() page.Origin) (s *Server, err error) {
	s = &Server{origin: origin}
	s.Server, err = web.Listen(addr, tokens, s.content())
	return s, err
}

// pageEvery is how often browsers load the page again.
const pageEvery = 2 * time.Second

func (s *Server) content() web.Content {
	ofRun := runMetrics()
	return web.Content{
		Page: s.writePage, Refresh: pageEvery, Health: s.health,
		Metrics: func(w io.Writer) error {
			if status := s.last(); status != nil {
				return web.WriteMetrics(w, ofRun, status)
			}
			return nil
		},
	}
}

// Update takes the next status. The caller must not change what it points to afterwards.
func (s *Server) Update(status Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history.add(&status)
	s.updated = time.Now()
	s.losses.Add(s.updated, lossesOf(&status))
}

// last returns the last status, nil before the first.
func (s *Server) last() *Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.history.last
}

// health derives the health of the run from its last status.
func (s *Server) health() web.Health {
	s.mu.Lock()
	status, updated := s.history.last, s.updated
	losing := s.losses.Recent(time.Now())
	s.mu.Unlock()
	if status == nil {
		return web.HealthAt(updated, nil)
	}
	return web.HealthAt(updated, append(failures(status), losing...))
}

// failures names the outputs that have failed, the inputs that accept no peers, and a certificate
// that is not valid now.
func failures(s *Status) []string {
	var out []string
	for i := range s.Networks {
		if n := &s.Networks[i]; n.ReceiverStats != nil && n.Full != "" {
			out = append(out, fmt.Sprintf("input %s accepts no peers: %s", n.Name, n.Full))
		}
	}
	for i := range s.Outputs {
		if o := &s.Outputs[i]; o.Failed != "" {
			out = append(out, fmt.Sprintf("output %s: %s", o.Name, o.Failed))
		}
	}
	for i := range s.Forwards {
		if f := &s.Forwards[i]; f.Failed != "" {
			out = append(out, fmt.Sprintf("forward %s: %s", f.Interface, f.Failed))
		}
	}
	if s.State != nil && s.State.Failed != "" {
		out = append(out, fmt.Sprintf("state %s: %s", s.State.Name, s.State.Failed))
	}
	if err := s.TLS.Failure(); err != nil {
		out = append(out, err.Error())
	}
	return out
}
