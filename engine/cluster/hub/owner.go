// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/flowdedup/flowdedup/engine/cluster/chain"
	"github.com/flowdedup/flowdedup/engine/cluster/slice"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

const (
	// overloadAt is the number of waiting requests of a site at which a slice refuses more of it.
	// A sensor has eight under way, and a site few connections.
	overloadAt = 8 * maxConnections
	// mostWaiting and pendingBytes bound the requests of a site that wait for a slice: more are
	// dropped. While a slice takes nothing, sensors send each request up to four times, and then
	// probes. They reach this number in four seconds, after which a hub has lost its lease.
	mostWaiting  = 8 * overloadAt
	pendingBytes = 8 << 20
)

// owner answers requests for a slice. NATS calls answer from one goroutine for each site, one
// request after another, in the order in which they came. Sites take turns: a Mutex goes to the
// goroutine that has waited for it longest, once a goroutine has waited for a millisecond.
type owner struct {
	hub    *Hub
	number int
	fence  uint64
	subs   map[string]*nats.Subscription // by site; of siteConns.mu, nil once the slice takes no more
	linked *nats.Subscription            // to messages of other links, nil without

	mu      sync.Mutex
	slice   keeper
	journal *journal // nil without
	reply   string   // where the answer to the request goes
	bundled bool     // the request is a part of a bundle, whose answer goes to reply
	silent  bool     // another link answers, or the answer comes later
	up      climbing
	lags    map[string]*lag
	counts  Refusals
	request hubclient.Request
	bits    []byte
	left    []uint16 // see hubclient.Reply.Remaining
	out     []byte
}

// Refusals count requests that were not taken.
type Refusals struct {
	WrongEpoch uint64 `json:"wrong_epoch"`
	NotOwner   uint64 `json:"not_owner"`
	Stale      uint64 `json:"stale"`
	Overloaded uint64 `json:"overloaded"`
	Bad        uint64 `json:"bad"`
}

func (r *Refusals) add(o Refusals) {
	r.WrongEpoch += o.WrongEpoch
	r.NotOwner += o.NotOwner
	r.Stale += o.Stale
	r.Overloaded += o.Overloaded
	r.Bad += o.Bad
}

// Sum returns the number of all of them.
func (r Refusals) Sum() uint64 { return r.WrongEpoch + r.NotOwner + r.Stale + r.Overloaded + r.Bad }

// subscribe begins to answer a site, on its connection. siteConns is locked.
func (o *owner) subscribe(conn *nats.Conn, site string) error {
	subject := fmt.Sprintf("fd.%s.%s.*.s%03d.*.%s", o.hub.settings.Namespace, o.hub.settings.Filter, o.number, site)
	sub, err := conn.Subscribe(subject, o.answer)
	if err != nil {
		return err
	}
	o.subs[site] = sub
	return sub.SetPendingLimits(mostWaiting, pendingBytes)
}

// answer answers a request into the inbox of its site: the site has chosen the subject.
func (o *owner) answer(m *nats.Msg) {
	site := lastWord(m.Subject)
	waiting, _, err := m.Sub.Pending()
	overloaded := err == nil && waiting > overloadAt
	if overloaded {
		o.hub.siteConns.overloaded(site, time.Now())
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !hubclient.InInbox(site, m.Reply) {
		o.bad(site, badReply)
		return
	}
	o.reply = m.Reply
	if o.respond(m.Subject, m.Data, overloaded, time.Now()); !o.silent {
		o.publish(site, m.Reply)
	}
}

// publish sends the content of out.
func (o *owner) publish(site, inbox string) { o.hub.siteConns.publish(site, inbox, o.out) }

// respond puts the answer to a message into out, unless another link answers.
func (o *owner) respond(subject string, msg []byte, overloaded bool, now time.Time) {
	to, ok := hubclient.ParseSubject(subject)
	if !ok {
		to.Site = lastWord(subject)
	}
	o.respondTo(to, ok, msg, overloaded, now)
}

// respondTo is respond for a parsed subject. ok means that it is good.
func (o *owner) respondTo(to hubclient.Subject, ok bool, msg []byte, overloaded bool, now time.Time) {
	o.bits, o.left, o.silent = o.bits[:0], nil, false
	status := o.take(to, ok, msg, overloaded, now)
	if o.silent {
		return
	}
	r := &o.request
	reply := hubclient.Reply{
		Status: status, N: uint32(len(r.Digests)), Seq: r.Seq, Epoch: o.hub.settings.Epoch, Fencing: o.fence, Copies: o.bits, Remaining: o.left,
	}
	o.out = reply.Append(o.out[:0])
	if r.Op == hubclient.Ping && r.K != hubclient.TreeVersion && slices.Contains(o.hub.settings.Below, to.Site) {
		o.out[2] = 0 // the answer is of another version, as the hub below is
	}
}

// take has the slice take a request, or says why not.
func (o *owner) take(subject hubclient.Subject, ok bool, msg []byte, overloaded bool, now time.Time) hubclient.Status {
	if err := o.request.Decode(msg); err != nil || !ok || subject.Op != o.request.Op {
		o.bad(subject.Site, badBody)
		o.request = hubclient.Request{Digests: o.request.Digests[:0], Deltas: o.request.Deltas[:0]}
		return hubclient.Bad
	}
	if o.bundled {
		o.reply = hubclient.PartReply(o.reply, o.number, o.request.Seq)
	}
	ahead := o.hub.settings.Shape.Filter == chain.Timers && o.request.Time > uint64(now.Add(futureTime).UnixMicro())
	if o.request.Time > hubclient.MaxTime || ahead {
		o.bad(subject.Site, badTime)
		return hubclient.Bad
	}
	if subject.Epoch != o.hub.settings.Epoch || o.request.Epoch != subject.Epoch {
		o.counts.WrongEpoch++
		return hubclient.WrongEpoch
	}
	if !o.hub.mayAnswer(now) {
		o.counts.NotOwner++
		return hubclient.NotOwner
	}
	if overloaded {
		o.counts.Overloaded++
		return hubclient.Overloaded
	}
	if !o.lagOf(subject.Site).inTime(&o.request, o.hub.steady(now)) {
		o.counts.Stale++
		return hubclient.Stale
	}
	if o.request.Op == hubclient.Ping {
		if way := o.request.WayOf(); len(way) > 0 {
			return o.way(subject.Site, way)
		}
		return o.ping(subject.Site)
	}
	if o.journal != nil && !o.noted(o.request.Op, entry{subject.Site, o.reply, msg}) {
		o.counts.NotOwner++
		return hubclient.NotOwner
	}
	rows, ok := o.slice.(*slice.Slice)
	if !ok {
		return o.begin(o.slice.(*chain.Link), subject.Site, msg)
	}
	if o.hub.parent != nil && o.request.Op == hubclient.TestAndSet {
		return o.climbRows(rows, subject.Site)
	}
	return o.applyRows(rows, subject.Site)
}

// applyRows has rows take the request.
func (o *owner) applyRows(rows *slice.Slice, site string) (status hubclient.Status) {
	if o.bits, status = rows.Apply(o.bits, site, &o.request); status == hubclient.Bad {
		o.bad(site, badBody)
	}
	return status
}

// bad counts a bad request of a site.
func (o *owner) bad(site, what string) {
	o.counts.Bad++
	o.hub.noteBad(site, what)
}

// lastWord returns the last word of a subject: the site, in the subjects that sites
// publish to.
func lastWord(subject string) string { return subject[strings.LastIndexByte(subject, '.')+1:] }

// noted adds a message to the journal. Where that fails the slice answers no more, until it
// has been restored.
func (o *owner) noted(op hubclient.Op, e entry) bool {
	if o.journal.broken || op == hubclient.Test {
		return !o.journal.broken
	}
	err := o.journal.add(e)
	failing := err != nil
	if o.hub.unnoted.Load() != failing && o.hub.unnoted.Swap(failing) != failing {
		if failing {
			o.hub.log.Warn(fmt.Sprintf("packets pass unchecked, as the journal of slice %d takes no request: %v", o.number, err))
		} else {
			o.hub.log.Log("journals take requests again")
		}
	}
	return !failing
}

// ping answers a site that asks whether its token is good: its digests are of the hub's
// key. A hub below gets the version of messages between hubs.
func (o *owner) ping(site string) hubclient.Status {
	for _, d := range o.request.Digests {
		if d != o.hub.keyCheck {
			o.bad(site, badDigest)
			return hubclient.Bad
		}
	}
	o.bits = append(o.bits, make([]byte, (len(o.request.Digests)+7)/8)...)
	if len(o.request.Digests) == hubclient.PingDigests {
		o.bits[0] = hubclient.TreeVersion
	}
	return hubclient.OK
}

func (o *owner) lagOf(site string) *lag {
	l := o.lags[site]
	if l == nil {
		l = &lag{}
		if len(o.lags) < slice.MaxSites {
			o.lags[site] = l
		}
	}
	return l
}

// stop takes no more requests. It answers those that have arrived, unless that takes too
// long.
func (o *owner) stop() error {
	c := o.hub.siteConns
	c.mu.Lock()
	subs := slices.Collect(maps.Values(o.subs))
	o.subs = nil
	c.mu.Unlock()
	err := drain(subs)
	if o.linked != nil {
		err = errors.Join(err, drain([]*nats.Subscription{o.linked}))
	}
	o.land()
	return err
}

// drain ends subscriptions once what has arrived is taken, or that takes too long.
func drain(subs []*nats.Subscription) (err error) {
	ended := make(chan struct{}, len(subs))
	for _, sub := range subs {
		end := sync.OnceFunc(func() { ended <- struct{}{} }) // the connection may close meanwhile
		sub.SetClosedHandler(func(string) { end() })
		if e := sub.Drain(); e != nil {
			end()
			if !errors.Is(e, nats.ErrConnectionClosed) && !errors.Is(e, nats.ErrBadSubscription) {
				err = errors.Join(err, e)
			}
		}
	}
	timer := time.NewTimer(stopTime)
	defer timer.Stop()
	for range subs {
		select {
		case <-ended:
		case <-timer.C:
			return err
		}
	}
	return err
}

// stopTime bounds each of the waits of an owner that stops.
const stopTime = 2 * time.Second

// waitFor waits until a channel is closed, for at most stopTime.
func waitFor(done <-chan struct{}) {
	timer := time.NewTimer(stopTime)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// status describes the slice.
func (o *owner) status() slicePart {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slicePart{Slice: o.number, Fence: o.fence, Refused: o.counts, Stats: o.slice.Stats()}
}
