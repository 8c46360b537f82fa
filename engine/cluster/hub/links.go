// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/flowdedup/flowdedup/engine/cluster/chain"
	"github.com/flowdedup/flowdedup/engine/cluster/slice"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// keeper is an owner's form of a slice: a slice.Slice, or a chain.Link.
type keeper interface {
	Stats() slice.Stats
	EachSite(f func(name string, digests, copies uint64))
	Save(dst []byte) []byte
	Close() error
}

const (
	// linkWaiting is how many messages of other links wait. Sites have eight requests
	// each under way, with at most two messages for each.
	linkWaiting = 16 * slice.MaxSites
	// linkBytes bounds their memory.
	linkBytes = 256 << 20
	// futureTime bounds how much the clock of a site may be ahead of the hub's. A filter
	// of timers expires by the latest time that it has seen.
	futureTime = time.Minute
)

// linkSubject is where messages to a link go. Only the hub's first key may use it.
func (s *Settings) linkSubject(number int) string {
	return fmt.Sprintf("fdlink.%s.%s.%d.s%03d", s.Namespace, s.Filter, s.Epoch, number)
}

// subscribeLink begins to take messages of other links, if there are any, and probes of a hub
// above.
func (o *owner) subscribeLink() error {
	s := &o.hub.settings
	if s.Shape.Rows() || s.Shape.Links() == 1 && s.Parent == "" {
		return nil
	}
	var err error
	if o.linked, err = o.hub.conn.Subscribe(s.linkSubject(o.number), o.pass); err != nil {
		return err
	}
	return errors.Join(o.linked.SetPendingLimits(linkWaiting, linkBytes), o.hub.conn.Flush())
}

// pass takes a message of another link.
func (o *owner) pass(m *nats.Msg) {
	o.mu.Lock()
	defer o.mu.Unlock()
	link, ok := o.slice.(*chain.Link)
	if !ok || !o.hub.mayAnswer(time.Now()) || o.journal != nil && !o.noted(hubclient.Chain, entry{msg: m.Data}) {
		o.counts.NotOwner++
		return
	}
	result, err := link.Pass(m.Data)
	if err != nil {
		o.counts.Bad++
		o.hub.log.Warn(fmt.Sprintf("slice %d: %v", o.number, err))
		return
	}
	o.send(&result)
	if result.Probe != nil {
		o.probed(result.Probe)
	}
	a := result.Answer
	if a == nil || !hubclient.InInbox(a.Site, a.Reply) {
		return
	}
	if o.climbLink(&result); a.Status == later {
		return
	}
	reply := hubclient.Reply{
		Status: a.Status, N: uint32(a.N), Seq: a.Seq, Epoch: o.hub.settings.Epoch, Fencing: a.Fence,
		Unchecked: uint32(a.Unchecked), Copies: a.Copies, Remaining: a.Remaining,
	}
	o.out = reply.Append(o.out[:0])
	o.publish(a.Site, a.Reply)
}

// begin has the first link take a request that is good. Without an answer, the last link answers.
func (o *owner) begin(link *chain.Link, site string, msg []byte) hubclient.Status {
	result := link.Begin(site, o.reply, o.fence, &o.request, msg)
	o.send(&result)
	if o.silent = result.Answer == nil; o.silent {
		return hubclient.OK
	}
	o.climbLink(&result)
	o.silent = result.Answer.Status == later
	if result.Answer.Status == hubclient.Bad {
		o.bad(site, badBody)
	}
	o.bits, o.left = append(o.bits, result.Answer.Copies...), result.Answer.Remaining
	return result.Answer.Status
}

// send sends messages to other links. The order of calls is the order of messages: the
// owner is locked.
func (o *owner) send(r *chain.Result) {
	s := &o.hub.settings
	c, link := s.Shape.Place(o.number)
	var err error
	if r.Next != nil {
		err = o.hub.conn.Publish(s.linkSubject(s.Shape.Number(c, link+1)), r.Next)
	}
	for _, m := range r.First {
		err = errors.Join(err, o.hub.conn.Publish(s.linkSubject(s.Shape.Number(c, 0)), m))
	}
	if err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		o.hub.log.Warn(fmt.Sprintf("slice %d: a message to another slice was not sent: %v", o.number, err))
	}
}

// open restores a slice from saved data, or makes an empty one from nil.
func (h *Hub) open(number int, data []byte) (keeper, error) {
	if !h.settings.Shape.Rows() {
		return h.openLink(number, data)
	}
	cfg := slice.Config{Window: h.settings.Window(), Memory: h.memory, Limit: h.limit, Slices: h.settings.Slices}
	if data == nil {
		return slice.New(cfg)
	}
	return slice.Restore(cfg, data)
}

// openLink is open for a link.
func (h *Hub) openLink(number int, data []byte) (keeper, error) {
	var l *chain.Link
	var err error
	if data == nil {
		l, err = chain.New(h.settings.Shape, number)
	} else {
		l, err = chain.Restore(h.settings.Shape, number, data)
	}
	if err != nil {
		return nil, err // not a nil *Link in an interface
	}
	if h.settings.holds() {
		l.Hold(h.settings.Dense)
	}
	return l, nil
}
