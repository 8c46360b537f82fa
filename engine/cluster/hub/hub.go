// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/flowdedup/flowdedup/engine/cluster/counts"
)

// Config says how to run a hub.
type Config struct {
	Name     string // of this hub among others
	URL      string // of the NATS server
	Folder   *Folder
	Settings Settings
	// Memory and Limit are the bytes of all slices: at first, and at most.
	Memory, Limit int
	// Counts is how many bytes of distinct counts the hub keeps; 0 takes none.
	Counts int64
	Log    Logger
	// Reload, if not nil, is called when somebody has changed the keys in the folder.
	Reload func() error
	// Repair, if not nil, is called when JetStream has taken nothing for some seconds.
	Repair func() error
	// Ban, if not nil, is called when a site sends far more than the hub takes. Bans, if not nil,
	// returns the bans of sites, by their names.
	Ban  func(site string)
	Bans func() map[string]Ban
	// Denied, if not nil, returns how many messages of sites the server has denied, by their names.
	Denied func() map[string]uint64
	Dial   []nats.Option // in addition to the options of every hub
}

// Hub answers for slices until Close.
type Hub struct {
	name      string
	id        string
	settings  Settings
	folder    *Folder
	counts    *counts.Store // nil where another hub has it
	log       Logger
	conn      *nats.Conn // connection for what hubs share, and for administrators
	sites     *nats.Conn // has the permissions of siteConns, and shows other hubs that this hub lives
	siteConns *siteConns // serve sites
	memory    int
	limit     int
	reload    func() error
	repair    func() error
	ban       func(site string)
	bans      func() map[string]Ban
	denied    func() map[string]uint64
	started   time.Time
	layout    *layout
	parent    *parent      // hub above, which is asked about new elements; nil for none
	treeID    uint64       // identity of the hubs of this filter in a tree
	below     *below       // hubs that confirm copies; nil for none
	renewed   atomic.Int64 // time of the last renewal of the lease, after started
	cuts      atomic.Int64 // of the connection
	known     atomic.Int64 // cuts before the last reading of the layout
	unnoted   atomic.Bool  // the last write to a journal failed
	keyCheck  uint64       // check value of the sites' key
	reports   reports
	bad       badRequests
	rates     rates
	lost      chan error // has room for one
	ctx       context.Context
	cancel    context.CancelFunc
	group     sync.WaitGroup

	mu     sync.Mutex
	owners map[int]*owner
}

// Start connects to the server, and answers for slices: all, or its share if other hubs
// live. Errors wrap ErrServer,
// ErrFolder or slice.ErrConfig.
func Start(cfg Config) (*Hub, error) {
	seed, err := cfg.Folder.hubSeed()
	if err != nil {
		return nil, err
	}
	h := &Hub{
		name: cfg.Name, id: cfg.Settings.ID, settings: cfg.Settings, folder: cfg.Folder, log: cfg.Log, reload: cfg.Reload, repair: cfg.Repair, ban: cfg.Ban, bans: cfg.Bans, denied: cfg.Denied,
		memory: cfg.Memory / cfg.Settings.Slices, limit: cfg.Limit / cfg.Settings.Slices,
		keyCheck: cfg.Settings.token("any", "").KeyCheck(), started: time.Now(), owners: map[int]*owner{},
		reports: reports{site: map[string]siteReport{}}, treeID: treeID(seed), lost: make(chan error, 1),
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	if err := h.settings.CheckBelow(); err != nil {
		return nil, err
	}
	h.below = newBelow(h)
	if h.parent, err = openParent(&h.settings, h.treeID, h.log); err != nil {
		return nil, err
	}
	if err := h.connect(cfg.URL, seed, cfg.Dial); err != nil {
		h.parent.close()
		return nil, err
	}
	if err := h.begin(seed, cfg.Counts); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// connect makes both connections.
func (h *Hub) connect(url string, seed []byte, dial []nats.Option) error {
	answers, err := answersSeed(seed)
	if err != nil {
		return err
	}
	dial = append([]nats.Option{h.settings.trust(), nats.ClosedHandler(h.closed)}, dial...)
	name := "flowdedup-hub " + h.name
	cut := nats.DisconnectErrHandler(func(*nats.Conn, error) { h.cuts.Add(1) })
	if h.conn, err = connect(url, name, seed, h.log, append(dial, nats.CustomInboxPrefix(controlInbox), cut)...); err != nil {
		return err
	}
	if h.sites, err = connect(url, name+", sites", answers, h.log, dial...); err != nil {
		h.conn.Close()
		return err
	}
	h.siteConns = newSiteConns(h, func(more ...nats.Option) (*nats.Conn, error) {
		return connect(url, name+", sites", answers, h.log, slices.Concat(dial, more)...)
	})
	return nil
}

// Lost gets an error that wraps ErrServer if the server has ended a connection so that NATS makes no
// other. Then the hub answers no more.
func (h *Hub) Lost() <-chan error { return h.lost }

// closed takes a connection that NATS has closed for good.
func (h *Hub) closed(conn *nats.Conn) {
	if h.ctx.Err() != nil {
		return // by Close
	}
	select {
	case h.lost <- fmt.Errorf("%w: it has ended a connection for good: %w", ErrServer, cmp.Or(conn.LastError(), nats.ErrConnectionClosed)):
	default:
	}
}

// begin subscribes all subjects, and takes the hub's share of slices.
func (h *Hub) begin(seed []byte, countsBytes int64) error {
	var err error
	if h.layout, err = openLayout(h.ctx, h.conn, &h.settings, seed, &h.group); err != nil {
		return err
	}
	if err := h.subscribeAlive(); err != nil {
		return err
	}
	if err := h.subscribeBans(); err != nil {
		return err
	}
	if err := h.openCounts(h.folder, countsBytes); err != nil {
		return err
	}
	if err := h.updateSites(); err != nil {
		return err
	}
	if err := h.share(); err != nil {
		return err
	}
	if err := h.listenAbove(); err != nil {
		return err
	}
	if err := h.subscribeControl(); err != nil {
		return err
	}
	h.group.Go(h.follow)
	h.group.Go(h.keepShare)
	return errors.Join(h.siteConns.flush(), h.conn.Flush())
}

// mayAnswer reports whether no other hub can own this hub's slices: the lease was renewed
// recently, and the connection has not been cut since the layout was read.
func (h *Hub) mayAnswer(now time.Time) bool {
	return h.cuts.Load() == h.known.Load() && now.Sub(h.started)-time.Duration(h.renewed.Load()) <= leaseTime/2
}

// Close answers the requests that have arrived, saves the slices, releases them to
// others, and ends the connection.
func (h *Hub) Close() error {
	h.cancel()
	h.group.Wait()
	var err error
	for _, o := range h.all() {
		err = errors.Join(err, h.give(o))
	}
	if h.layout != nil {
		err = errors.Join(err, h.layout.leave(h.id))
	}
	h.parent.close()
	h.siteConns.close()
	h.sites.Close()
	h.conn.Close()
	if h.counts != nil {
		err = errors.Join(err, h.counts.Close())
	}
	return err
}
