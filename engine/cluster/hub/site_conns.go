// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/flowdedup/flowdedup/engine/cluster/slice"
	"github.com/flowdedup/flowdedup/engine/hubclient"
	"github.com/flowdedup/flowdedup/engine/hubclient/natslink"
)

const (
	// maxSiteConns bounds the connections on which a hub serves sites.
	maxSiteConns = 16
	// reportsWaiting and countsBytes bound the reports, and the pieces of counts, of a site that
	// wait. It has one of each under way.
	reportsWaiting = 64
	countsBytes    = 4 << 20
)

// siteConns are the connections on which a hub serves its sites. The server has a queue of unread
// messages for each connection, and cuts a connection that falls behind too far. So a site that
// sends without end delays only the others on its connection. Each site has its own subscriptions
// with their own queues: slices take the sites' requests in turns. NATS has a goroutine for each
// subscription. At most there are 255 sites: with 64 slices they take 16,000 goroutines, and 60 MB
// with the embedded server.
type siteConns struct {
	hub          *Hub
	open         func() (*nats.Conn, error)
	bySite       atomic.Pointer[map[string]*servedSite]
	log          *serverLog
	resubscriber natslink.Resubscriber

	mu    sync.Mutex // before Hub.mu, if both are locked
	all   []*siteConn
	names []string // as set has got them, nil after an error
	sites map[string]*servedSite
}

// siteConn is a connection for some sites.
type siteConn struct {
	conn  *nats.Conn
	sites int
}

// servedSite is a site with its subscriptions, except those to slices.
type servedSite struct {
	at   *siteConn
	subs []*nats.Subscription

	mu      sync.Mutex
	refused float64   // requests that overloaded a slice, less what a site may send
	last    time.Time // of these requests
}

func newSiteConns(h *Hub, open func(more ...nats.Option) (*nats.Conn, error)) *siteConns {
	c := &siteConns{hub: h, sites: map[string]*servedSite{}, log: newServerLog(h.log)}
	c.bySite.Store(&map[string]*servedSite{})
	c.open = func() (*nats.Conn, error) { return open(nats.ErrorHandler(c.failed), nats.ReconnectBufSize(-1)) }
	return c
}

// failed takes the errors of the connections.
func (c *siteConns) failed(conn *nats.Conn, sub *nats.Subscription, err error) {
	c.resubscriber.Failed(conn, err)
	if sub == nil || !errors.Is(err, nats.ErrSlowConsumer) {
		c.log.warn(err.Error())
		return
	}
	// A stalled hub drops requests of honest sites, too. The server bans sites of which many get no
	// answer.
	c.log.warn(fmt.Sprintf("site %s sends more than the hub takes: the rest is dropped", lastWord(sub.Subject)))
}

// overloaded notes a request of a site that overloads a slice, and has the site banned if sensors do
// not send as many: so a site cannot flood many slices without ever filling the queue of a slice.
func (c *siteConns) overloaded(site string, now time.Time) {
	if s := (*c.bySite.Load())[site]; s != nil && s.overloads(now, c.hub.settings.mostUnanswered()) {
		c.flooded(site)
	}
}

// overloads notes an overload, and reports whether there were more than limit in a second. If so, it
// begins anew. However slow the hub is, sensors cause fewer: refused sensors send less, and after three
// failures in a row a probe each half second.
func (s *servedSite) overloads(now time.Time, limit int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = max(s.refused-float64(limit)*now.Sub(s.last).Seconds(), 0) + 1
	s.last = now
	if s.refused <= float64(limit) {
		return false
	}
	s.refused = 0
	return true
}

// flooded has a site banned.
func (c *siteConns) flooded(site string) {
	if c.hub.ban != nil {
		c.hub.ban(site)
	} else if err := c.hub.conn.Publish(c.hub.settings.banSubject(site), nil); err != nil {
		c.log.warn(err.Error())
	}
}

// banSubject is the subject on which a hub without a server asks the hub with a server, if there is any,
// to ban a site. Sites may not use it.
func (s *Settings) banSubject(site string) string {
	return fmt.Sprintf("fd.%s.%s.ban.%s", s.Namespace, s.Filter, site)
}

// subscribeBans bans the sites that other hubs name, if this hub can.
func (h *Hub) subscribeBans() error {
	if h.ban == nil {
		return nil
	}
	_, err := h.conn.Subscribe(h.settings.banSubject("*"), func(m *nats.Msg) { h.ban(lastWord(m.Subject)) })
	return err
}

// set serves exactly the given sites, up to slice.MaxSites.
func (c *siteConns) set(names []string) (err error) {
	all := slices.Sorted(slices.Values(names))
	names = all[:min(len(all), slice.MaxSites)]
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.names != nil && slices.Equal(c.names, names) {
		return nil
	}
	if len(all) > len(names) {
		c.log.warn(fmt.Sprintf("there are %d sites: the ones after %s are not served", len(all), names[len(names)-1]))
	}
	for name, s := range c.sites {
		if _, stays := slices.BinarySearch(names, name); !stays {
			err = errors.Join(err, c.remove(name, s))
		}
	}
	for _, name := range names {
		if c.sites[name] == nil && hubclient.ValidName(name) {
			err = errors.Join(err, c.add(name))
		}
	}
	bySite := maps.Clone(c.sites)
	c.bySite.Store(&bySite)
	if c.names = nil; err == nil {
		c.names = append([]string{}, names...) // not nil
	}
	return err
}

// flush waits until the server has all subscriptions.
func (c *siteConns) flush() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	c.mu.Lock()
	all := slices.Clone(c.all)
	c.mu.Unlock()
	for _, one := range all {
		err = errors.Join(err, one.conn.FlushWithContext(ctx))
	}
	return err
}

// add begins to serve a site.
func (c *siteConns) add(name string) error {
	at, err := c.least()
	if err != nil {
		return err
	}
	s := &servedSite{at: at}
	if s.subs, err = c.hub.subscribe(at.conn, name); err == nil {
		for _, o := range c.hub.all() {
			err = errors.Join(err, o.subscribe(at.conn, name))
		}
	}
	at.sites++
	c.sites[name] = s
	if err != nil {
		err = errors.Join(err, c.remove(name, s)) // the next set tries again
	}
	return err
}

// remove ends the subscriptions of a site.
func (c *siteConns) remove(name string, s *servedSite) (err error) {
	for _, o := range c.hub.all() {
		if sub := o.subs[name]; sub != nil {
			s.subs = append(s.subs, sub)
			delete(o.subs, name)
		}
	}
	for _, sub := range s.subs {
		if e := sub.Unsubscribe(); !errors.Is(e, nats.ErrConnectionClosed) {
			err = errors.Join(err, e)
		}
	}
	s.at.sites--
	delete(c.sites, name)
	return err
}

// least returns the connection of the fewest sites, a new connection as long as there may be more.
func (c *siteConns) least() (*siteConn, error) {
	for _, one := range c.all {
		if one.sites == 0 {
			return one, nil
		}
	}
	if len(c.all) < maxSiteConns {
		conn, err := c.open()
		if err != nil {
			return nil, err
		}
		c.all = append(c.all, &siteConn{conn: conn})
		return c.all[len(c.all)-1], nil
	}
	return slices.MinFunc(c.all, func(a, b *siteConn) int { return a.sites - b.sites }), nil
}

// publish sends a message to an inbox of a site. Where its connection is cut, or the site is
// removed, the message is lost, as sites expect.
func (c *siteConns) publish(site, inbox string, msg []byte) {
	s := (*c.bySite.Load())[site]
	if s == nil {
		return
	}
	if err := s.at.conn.Publish(inbox, msg); err != nil && s.at.conn.IsConnected() {
		c.log.warn(fmt.Sprintf("a message to site %s was not sent: %v", site, err))
	}
}

// close ends all connections.
func (c *siteConns) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.all {
		one.conn.Close()
	}
}

// subscribe subscribes to a site's messages to the hub itself: reports, bundles, files of counts, and
// answers to probes of the hubs below.
func (h *Hub) subscribe(conn *nats.Conn, site string) (subs []*nats.Subscription, err error) {
	all := fmt.Sprintf("fd.%s.%s.*.", h.settings.Namespace, h.settings.Filter)
	on := func(word string, messages, bytes int, take nats.MsgHandler) {
		sub, e := conn.Subscribe(all+word+"."+site, take)
		if err = errors.Join(err, e); e == nil {
			subs, err = append(subs, sub), errors.Join(err, sub.SetPendingLimits(messages, bytes))
		}
	}
	on("report", reportsWaiting, pendingBytes, func(m *nats.Msg) { h.takeReport(site, m.Data) })
	on(hubclient.Bundles, mostWaiting, bundleBytes, h.bundles(site))
	if h.counts != nil {
		on("counts", -1, countsBytes, func(m *nats.Msg) { h.takeCounts(site, m) })
	}
	if h.below != nil {
		on(h.below.word+"."+foundWord, 2*maxDescents, pendingBytes, func(m *nats.Msg) { h.below.found(site, m.Data) })
	}
	return subs, err
}

// Reload takes the present keys of the folder, at the server and here.
func (h *Hub) Reload() error {
	if h.reload != nil {
		if err := h.reload(); err != nil {
			return err
		}
	}
	return errors.Join(h.updateSites(), h.siteConns.flush())
}

// errNoSites says that a hub which has joined others cannot know the sites.
var errNoSites = fmt.Errorf("%w: the first hub has not said which sites there are: start it, of this version, before the others", ErrServer)

// updateSites serves the sites that have keys now. The hub that has the keys announces them to the
// others.
func (h *Hub) updateSites() error {
	if h.settings.Joined {
		names := h.layout.siteNames()
		if names == nil {
			return errNoSites
		}
		return h.siteConns.set(names)
	}
	names, err := h.folder.siteNames()
	if err != nil {
		return fmt.Errorf("%w: the sites are served as before: %w", ErrFolder, err)
	}
	return errors.Join(h.siteConns.set(names), h.layout.announce(names))
}
