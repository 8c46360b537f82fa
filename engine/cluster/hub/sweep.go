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
	// minUnanswered is the least of mostUnanswered. requestBytes is the size of a request of half a
	// batch.
	minUnanswered = 1 << 16
	requestBytes  = 4 << 10
	// deniedCost is how many messages without an answer count as much as a message that the server denies,
	// which sensors do not send.
	deniedCost = 64
)

// mostUnanswered is how many messages a site may leave in a second without an answer, or refused as
// they overload a slice: at least all that its sensors send while no slice takes anything.
func (s *Settings) mostUnanswered() int64 { return max(minUnanswered, int64(s.Slices)*mostWaiting) }

// swept is what the last sweep has found, by the server's numbers of connections.
type swept struct {
	mu         sync.Mutex
	at         time.Time
	all        map[uint64]traffic // totals of sites' connections
	unanswered map[string]traffic // by site, less what a site may leave so
	denied     map[string]uint64  // totals of messages, by site
	cut        map[uint64]bool    // former connections of hubs
}

// traffic counts messages that sites sent, their bytes, and the messages that went to sites.
type traffic struct{ in, out, bytes int64 }

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
// connections and the hub needs more, and the sites that send more than a hub can receive, or much
// that it does not answer.
func (s *Server) sweep() {
	s.swept.mu.Lock()
	defer s.swept.mu.Unlock()
	s.sweepAt(time.Now())
}

// sweepAt is sweep at a given time, with swept locked.
func (s *Server) sweepAt(now time.Time) {
	list, err := s.server.Connz(&server.ConnzOptions{Limit: maxClients})
	if err != nil {
		return // the server has ended
	}
	all, sites := map[uint64]traffic{}, map[string]traffic{}
	for _, c := range list.Conns {
		site := s.auth.siteOf(c.Cid)
		if site == "" {
			continue
		}
		last, t := s.swept.all[c.Cid], sites[site]
		all[c.Cid] = traffic{c.InMsgs, c.OutMsgs, c.InBytes}
		sites[site] = traffic{t.in + c.InMsgs - last.in, t.out + c.OutMsgs - last.out, t.bytes + c.InBytes - last.bytes}
		if c.NumSubs > maxSubscriptions {
			s.Ban(site)
		}
	}
	s.banFlooders(sites)
	denied := s.Denied()
	for site, t := range sites {
		t.in += deniedCost * int64(denied[site]-s.swept.denied[site])
		sites[site] = t
	}
	s.swept.denied = denied
	s.banUnanswered(sites, now.Sub(s.swept.at).Seconds())
	s.swept.all, s.swept.at = all, now
}

// banUnanswered bans the sites of which many messages got no answer in the seconds since the last
// sweep, as no hub takes their subjects, can read them or has time for them. Sensors that get no
// answers soon send a probe each half second.
func (s *Server) banUnanswered(sites map[string]traffic, seconds float64) {
	limit := s.settings.mostUnanswered()
	may := float64(limit) * seconds
	unanswered := map[string]traffic{}
	for site, t := range sites {
		u := s.swept.unanswered[site].plus(t, may)
		if u.in > limit || u.bytes > limit*requestBytes {
			s.Ban(site)
			continue
		}
		unanswered[site] = u
	}
	s.swept.unanswered = unanswered
}

// plus adds the messages of t that got no answer, less those that a site may leave so meanwhile.
// Their bytes are a share of all bytes, as if all messages had one length.
func (u traffic) plus(t traffic, may float64) traffic {
	without := float64(max(t.in-t.out, 0))
	return traffic{
		in:    int64(max(float64(u.in)+without-may, 0)),
		bytes: int64(max(float64(u.bytes)+float64(t.bytes)*without/float64(max(t.in, 1))-may*requestBytes, 0)),
	}
}

// banFlooders bans the sites for which connections of hubs were cut since the last sweep, as more
// bytes waited for the hub than all sensors of a site have under way. Of several sites on a connection
// it bans the site that has sent most since then.
func (s *Server) banFlooders(sites map[string]traffic) {
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
			if n := sites[site].bytes; n > most {
				flooder, most = site, n
			}
		}
		s.Ban(flooder)
	}
	s.swept.cut = cut
}
