// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	// maxSubscriptions bounds the subscriptions of a site's connection, which has a few: the server
	// sends an answer once for each that matches. A hub has some for each site and slice, at most
	// hubSubscriptions on a connection.
	maxSubscriptions = 64
	hubSubscriptions = 1 << 16
	// sweepEvery is the time between two sweeps.
	sweepEvery = time.Second / 4
)

// swept is what the last sweep has found.
type swept struct {
	mu   sync.Mutex
	sent map[string]int64 // bytes by site, on its connections at that time
	cut  map[uint64]bool  // former connections of hubs, by the server's numbers
}

// watch sweeps until Close.
func (s *Server) watch() {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-s.closed:
			return
		case <-ticker.C:
			s.sweep()
		}
	}
}

// sweep bans the sites that have too many subscriptions now, where the server has one limit for all
// connections and the hub needs more, and the sites that send more than a hub can receive.
func (s *Server) sweep() {
	s.swept.mu.Lock()
	defer s.swept.mu.Unlock()
	list, err := s.server.Connz(&server.ConnzOptions{Username: true, Limit: maxClients})
	if err != nil {
		return // the server has ended
	}
	sent := map[string]int64{}
	for _, c := range list.Conns {
		site := s.auth.siteOf(c.AuthorizedUser)
		if site == "" {
			continue
		}
		sent[site] += c.InBytes
		if c.NumSubs > maxSubscriptions {
			s.Ban(site)
		}
	}
	s.banFlooders(sent)
	s.swept.sent = sent
}

// banFlooders bans the sites for which connections of hubs were cut since the last sweep, as more
// bytes waited for the hub than all sensors of a site have under way. Of several sites on a connection
// it bans the one that has sent most since then.
func (s *Server) banFlooders(sent map[string]int64) {
	list, err := s.server.Connz(&server.ConnzOptions{State: server.ConnClosed, User: s.answers, Username: true, Subscriptions: true, Limit: server.DEFAULT_MAX_CLOSED_CLIENTS})
	if err != nil {
		return // the server has ended
	}
	cut := map[uint64]bool{}
	for _, c := range list.Conns {
		if cut[c.Cid] = true; s.swept.cut[c.Cid] || c.Reason != server.SlowConsumerPendingBytes.String() {
			continue
		}
		flooder, most := "", int64(0)
		for _, subject := range c.Subs {
			site := lastWord(subject)
			if n := sent[site] - s.swept.sent[site]; n > most {
				flooder, most = site, n
			}
		}
		s.Ban(flooder)
	}
	s.swept.cut = cut
}
