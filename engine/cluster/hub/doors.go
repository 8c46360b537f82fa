// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"github.com/flowdedup/flowdedup/engine/cluster/slice"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

const (
	// maxDoors bounds the connections on which a hub hears sites.
	maxDoors = 16
	// reportsWaiting and countsBytes bound the reports, and the pieces of counts, of a site that
	// wait. It has one of each under way.
	reportsWaiting = 64
	countsBytes    = 4 << 20
)

// doors are the connections on which a hub hears sites, and answers them. The server queues by
// connection what a hub has not read yet, and cuts a connection that falls behind too far. So a
// site that sends without end delays the others at its own door at most. Each site has
// subscriptions of its own, with queues of their own: slices take the sites' requests in turns.
type doors struct {
	hub  *Hub
	open func() (*nats.Conn, error)
	to   atomic.Pointer[map[string]*nats.Conn] // by site

	mu    sync.Mutex // before Hub.mu, if both are locked
	all   []*door
	sites map[string]*visitor
	log   *serverLog
}

// door is a connection for some sites.
type door struct {
	conn  *nats.Conn
	sites int
}

// visitor is a site that may come, with its subscriptions but the ones of slices.
type visitor struct {
	door *door
	subs []*nats.Subscription
}

func newDoors(h *Hub, open func(more ...nats.Option) (*nats.Conn, error)) *doors {
	d := &doors{hub: h, sites: map[string]*visitor{}, log: newServerLog(h.log)}
	d.to.Store(&map[string]*nats.Conn{})
	d.open = func() (*nats.Conn, error) { return open(nats.ErrorHandler(d.failed), nats.ReconnectBufSize(-1)) }
	return d
}

// failed takes the errors of doors.
func (d *doors) failed(_ *nats.Conn, sub *nats.Subscription, err error) {
	if sub == nil || !errors.Is(err, nats.ErrSlowConsumer) {
		d.log.warn(err.Error())
		return
	}
	site := lastWord(sub.Subject)
	d.log.warn(fmt.Sprintf("site %s sends more than sensors of flowdedup do, and than the hub takes: the rest is dropped", site))
	if d.hub.cut != nil {
		d.hub.cut(site)
	}
}

// admit opens doors for exactly the given sites.
func (d *doors) admit(names []string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var err error
	for name, v := range d.sites {
		if !slices.Contains(names, name) {
			err = errors.Join(err, d.dismiss(name, v))
		}
	}
	for _, name := range names {
		if d.sites[name] == nil && len(d.sites) < slice.MaxSites && hubclient.ValidName(name) {
			err = errors.Join(err, d.welcome(name))
		}
	}
	to := map[string]*nats.Conn{}
	for name, v := range d.sites {
		to[name] = v.door.conn
	}
	d.to.Store(&to)
	return err
}

// flush waits until the server has all subscriptions.
func (d *doors) flush() (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.all {
		err = errors.Join(err, one.conn.FlushTimeout(storeTime))
	}
	return err
}

// welcome begins to hear a site.
func (d *doors) welcome(name string) error {
	at, err := d.least()
	if err != nil {
		return err
	}
	v := &visitor{door: at}
	if v.subs, err = d.hub.hear(at.conn, name); err == nil {
		for _, o := range d.hub.all() {
			err = errors.Join(err, o.hear(at.conn, name))
		}
	}
	at.sites++
	d.sites[name] = v
	return err
}

// dismiss hears a site no more.
func (d *doors) dismiss(name string, v *visitor) (err error) {
	for _, o := range d.hub.all() {
		if sub := o.subs[name]; sub != nil {
			v.subs = append(v.subs, sub)
			delete(o.subs, name)
		}
	}
	for _, sub := range v.subs {
		if e := sub.Unsubscribe(); !errors.Is(e, nats.ErrConnectionClosed) {
			err = errors.Join(err, e)
		}
	}
	v.door.sites--
	delete(d.sites, name)
	return err
}

// least returns the door of the fewest sites, a new one as long as there may be more.
func (d *doors) least() (*door, error) {
	for _, one := range d.all {
		if one.sites == 0 {
			return one, nil
		}
	}
	if len(d.all) < maxDoors {
		conn, err := d.open()
		if err != nil {
			return nil, err
		}
		d.all = append(d.all, &door{conn: conn})
		return d.all[len(d.all)-1], nil
	}
	return slices.MinFunc(d.all, func(a, b *door) int { return a.sites - b.sites }), nil
}

// publish sends a message to an inbox of a site. Where its door is cut, or the site is removed, the
// message is lost, as sites expect.
func (d *doors) publish(subject string, msg []byte) {
	words := strings.SplitN(subject, ".", 3)
	site := words[min(1, len(words)-1)]
	conn := (*d.to.Load())[site]
	if conn == nil {
		return
	}
	if err := conn.Publish(subject, msg); err != nil && conn.IsConnected() {
		d.log.warn(fmt.Sprintf("a message to site %s was not sent: %v", site, err))
	}
}

// close ends all connections.
func (d *doors) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.all {
		one.conn.Close()
	}
}

// hear subscribes to what a site sends to the hub itself: reports, files of counts, and what it
// has found below.
func (h *Hub) hear(conn *nats.Conn, site string) (subs []*nats.Subscription, err error) {
	all := fmt.Sprintf("fd.%s.%s.*.", h.settings.Namespace, h.settings.Filter)
	on := func(word string, messages, bytes int, take nats.MsgHandler) {
		sub, e := conn.Subscribe(all+word+"."+site, take)
		if err = errors.Join(err, e); e == nil {
			subs, err = append(subs, sub), errors.Join(err, sub.SetPendingLimits(messages, bytes))
		}
	}
	on("report", reportsWaiting, pendingBytes, func(m *nats.Msg) { h.takeReport(site, m.Data) })
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
	return errors.Join(h.admit(), h.doors.flush())
}

// errNoSites says that a hub which has joined others cannot know the sites.
var errNoSites = fmt.Errorf("%w: the first hub has not said which sites there are: start it, of this version, before the others", ErrServer)

// admit opens doors for the sites that have keys. The hub that has the keys tells the others.
func (h *Hub) admit() error {
	if h.settings.Joined {
		names := h.layout.siteNames()
		if names == nil {
			return errNoSites
		}
		return h.doors.admit(names)
	}
	names := slices.Sorted(slices.Values(h.folder.siteNames()))
	return errors.Join(h.doors.admit(names), h.layout.announce(names))
}
