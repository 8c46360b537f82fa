// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/flowdedup/flowdedup/engine/cluster/chain"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// ErrBelow is wrapped by the errors about the hubs below in a tree.
var ErrBelow = errors.New("the hubs below")

const (
	// downWord and foundWord are words of subjects: probes go to the inbox of a hub below,
	// and its answers to the process that has asked.
	downWord, foundWord = "down", "found"
	// downWait is how long the hubs below may take. After that a copy counts as confirmed.
	downWait = 10 * time.Millisecond
	// maxProbes bounds the probes that a hub answers at a time.
	maxProbes = 256
	// maxDescents bounds the requests that wait for hubs below. Further copies count as confirmed.
	maxDescents = 4096
	// maxTries bounds how often a hub below is asked: it answers no probe while it is not sure to
	// own its slices.
	maxTries = 4
)

// below asks the hubs below whether they hold the elements that are copies here: the top-down
// testing of KNPS, section 6. A copy that none of them confirms is a false positive, and new.
type below struct {
	hub   *Hub
	names []string
	wait  time.Duration
	word  string      // of the subjects of answers: of this process, as slices move
	mixed atomic.Bool // a site asks that is no hub of the list
	topDownCounts

	mu      sync.Mutex
	last    uint64
	pending map[uint64]*descent
}

// topDownCounts count digests since the begin of the process.
type topDownCounts struct{ probed, unconfirmed, unanswered atomic.Uint64 }

// descent is a probe whose answers have not all come.
type descent struct {
	digests   int
	waits     []string // hubs that have not answered
	to        string   // end of the subject of the probe
	probe     []byte
	tries     int
	confirmed []byte
	timer     *time.Timer
	done      func(confirmed []byte)
}

// CheckBelow checks the settings of top-down testing. Errors wrap ErrBelow.
func (s *Settings) CheckBelow() error {
	switch {
	case s.TopDown == 0 && len(s.Below) == 0:
		return nil
	case s.TopDown < 0 || s.TopDown > maxLevels || len(s.Below) == 0:
		return fmt.Errorf("%w: %d of levels, %d of names: want the names of the hubs, and 1 to %d levels", ErrBelow, s.TopDown, len(s.Below), maxLevels)
	case s.Shape.Filter != chain.Bloom:
		return fmt.Errorf("%w: they confirm the copies of a filter of %s", ErrBelow, chain.Bloom)
	}
	for i, name := range s.Below {
		if !hubclient.ValidName(name) || slices.Contains(s.Below[:i], name) {
			return fmt.Errorf("%w: %q: %w", ErrBelow, name, ErrName)
		}
	}
	return nil
}

// maxLevels bounds the levels of a tree below a hub.
const maxLevels = 16

func newBelow(h *Hub) *below {
	if len(h.settings.Below) == 0 {
		return nil
	}
	wait := downWait
	if h.settings.ParentWaitUS > 0 {
		wait = time.Duration(h.settings.ParentWaitUS) * time.Microsecond
	}
	return &below{hub: h, names: h.settings.Below, wait: wait, word: "h" + newID(), pending: map[uint64]*descent{}}
}

// confirms reports whether the hubs below have to confirm the copies of a site. Once a site that is
// not in the list of hubs has asked, the hubs below lack some elements, and confirm nothing more.
func (b *below) confirms(site string) bool {
	if b == nil || b.hub.settings.TopDown == 0 {
		return false
	}
	if !slices.Contains(b.names, site) && !b.mixed.Swap(true) {
		b.hub.log.Warn(fmt.Sprintf("site %s is no hub of --below: copies are not confirmed from the top down any more", site))
	}
	return !b.mixed.Load()
}

// full reports whether too many requests wait for the hubs below. Then it counts the digests of
// a hub that is not sent.
func (b *below) full(digests int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.pending) < maxDescents {
		return false
	}
	b.unanswered.Add(uint64(digests))
	return true
}

// ask asks the hubs below a slice, except one, which digests they hold at the given number of
// levels. done gets a bit for each digest, from another goroutine. ask reports false if there is no
// hub to ask.
func (b *below) ask(entry, levels int, digests []uint64, except string, done func(confirmed []byte)) bool {
	d := &descent{digests: len(digests), confirmed: make([]byte, (len(digests)+7)/8), done: done}
	for _, name := range b.names {
		if name != except {
			d.waits = append(d.waits, name)
		}
	}
	if len(d.waits) == 0 || len(digests) == 0 {
		return false
	}
	d.to = fmt.Sprintf(".%s.%d.%s", downWord, entry, b.word)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last++
	id := b.last
	r := hubclient.Request{Op: hubclient.Test, K: uint8(levels), Epoch: b.hub.settings.Epoch, Seq: id, Digests: digests}
	d.probe = r.Append(nil)
	b.pending[id] = d
	d.timer = time.AfterFunc(b.wait/maxTries, func() { b.again(id) })
	b.try(d)
	return true
}

// try asks the hubs that have not answered. below is locked.
func (b *below) try(d *descent) {
	d.tries++
	for _, name := range d.waits {
		b.hub.siteConns.publish(name, hubclient.Inbox(name)+d.to, d.probe)
	}
}

// found takes the answer of a hub below. Answers come past the queues of slices, and after a slice
// has begun to leave this hub, too.
func (b *below) found(site string, msg []byte) {
	var reply hubclient.Reply
	if reply.Decode(msg) != nil || reply.Status != hubclient.OK {
		return
	}
	b.mu.Lock()
	d := b.pending[reply.Seq]
	at := -1
	if d != nil && int(reply.N) == d.digests {
		at = slices.Index(d.waits, site)
	}
	if at < 0 {
		b.mu.Unlock()
		return
	}
	for i, bits := range reply.Copies {
		d.confirmed[i] |= bits
	}
	d.waits = slices.Delete(d.waits, at, at+1)
	ended := len(d.waits) == 0
	if ended {
		d.timer.Stop()
		delete(b.pending, reply.Seq)
	}
	b.mu.Unlock()
	if ended {
		d.done(d.confirmed)
	}
}

// again asks hubs again that have not answered. In the end it takes all for confirmed: the hubs may
// hold it.
func (b *below) again(id uint64) {
	b.mu.Lock()
	d := b.pending[id]
	if d == nil {
		b.mu.Unlock()
		return
	}
	if d.tries < maxTries {
		b.try(d)
		d.timer.Reset(b.wait / maxTries)
		b.mu.Unlock()
		return
	}
	delete(b.pending, id)
	b.mu.Unlock()
	b.unanswered.Add(uint64(d.digests))
	for i := range d.confirmed {
		d.confirmed[i] = 0xff
	}
	d.done(d.confirmed)
}

// descend asks the hubs below about the copies of a request, if they have to confirm them. It
// reports whether the answer comes later. The owner is locked.
func (o *owner) descend(c *climber) bool {
	b := o.hub.below
	if !b.confirms(c.site) {
		return false
	}
	var digests []uint64
	for i, d := range c.request.Digests {
		if c.copies[i/8]>>(i%8)&1 != 0 {
			digests = append(digests, d)
		}
	}
	if b.full(len(digests)) {
		return false
	}
	c.copies = slices.Clone(c.copies)
	c.request.Digests, c.request.Deltas = slices.Clone(c.request.Digests), slices.Clone(c.request.Deltas)
	entry, _ := o.hub.settings.Shape.Place(o.number)
	if !b.ask(entry, o.hub.settings.TopDown, digests, c.site, func(confirmed []byte) { o.descended(c, confirmed) }) {
		c.pass(make([]byte, (len(digests)+7)/8))
		b.unconfirmed.Add(uint64(c.news))
		return false
	}
	b.probed.Add(uint64(len(digests)))
	o.up.waits[c.key()] = true
	return true
}

// pass makes the copies new that no hub below has confirmed. confirmed has a bit for each copy.
func (c *climber) pass(confirmed []byte) {
	at := 0
	for i := range c.request.Digests {
		if c.copies[i/8]>>(i%8)&1 == 0 {
			continue
		}
		if confirmed[at/8]>>(at%8)&1 == 0 {
			c.copies[i/8] &^= 1 << (i % 8)
			c.passed[i/8] |= 1 << (i % 8)
			c.news++
		}
		at++
	}
}

// descended goes on with a request once the hubs below have answered.
func (o *owner) descended(c *climber, confirmed []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.up.closed {
		return
	}
	c.pass(confirmed)
	o.hub.below.unconfirmed.Add(uint64(c.news))
	if status, copies := o.ascend(c); status != later {
		o.up.ended(c.key())
		c.copies = copies
		o.answerLater(c, status)
	}
}

// listenAbove answers the probes of the hub above.
func (h *Hub) listenAbove() error {
	if h.parent == nil || h.settings.Shape.Rows() {
		return nil
	}
	var busy atomic.Int64
	to := fmt.Sprintf("%s.%s.*.*", hubclient.Inbox(h.parent.token.Site), downWord)
	return h.parent.link.ListenShared(to, func(subject string, msg []byte) {
		var r hubclient.Request
		words := strings.Split(subject, ".")
		entry, err := strconv.Atoi(words[len(words)-2])
		if err != nil || r.Decode(slices.Clone(msg)) != nil || len(r.Digests) > chain.MaxProbe || entry < 0 || entry >= h.parent.token.Slices {
			return
		}
		if busy.Add(1) > maxProbes {
			busy.Add(-1)
			return // the hub above waits no longer than it has to
		}
		go func() {
			defer busy.Add(-1)
			h.answerAbove(&r, entry, words[len(words)-1])
		}()
	})
}

// answerAbove asks the chains of this hub that belong to a slice of the hub above, and answers the
// asker there.
func (h *Hub) answerAbove(r *hubclient.Request, entry int, asker string) {
	t := &h.parent.token
	each := h.settings.entries() / t.Slices
	inbox := h.conn.NewInbox()
	sub, err := h.conn.SubscribeSync(inbox)
	if err != nil {
		return // the connection has ended
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only where the connection has ended
	msg := h.settings.Shape.NewProbe(inbox, int(r.K), r.Digests)
	for c := entry * each; c < (entry+1)*each; c++ {
		if h.conn.Publish(h.settings.linkSubject(h.settings.Shape.Number(c, 0)), msg) != nil {
			return
		}
	}
	reply := hubclient.Reply{N: uint32(len(r.Digests)), Seq: r.Seq, Copies: make([]byte, (len(r.Digests)+7)/8)}
	end := time.Now().Add(time.Duration(h.settings.ParentWaitUS) * time.Microsecond)
	for range each {
		m, err := sub.NextMsg(time.Until(end))
		if err != nil || len(m.Data) != len(reply.Copies) {
			return // the hub above takes its copies for confirmed
		}
		for i, bits := range m.Data {
			reply.Copies[i] |= bits
		}
	}
	h.parent.probes.Add(uint64(len(r.Digests))) // here, as a chain drops a probe while its hub may not answer
	to := fmt.Sprintf("fd.%s.%s.%d.%s.%s.%s", t.Namespace, t.Filter, t.Epoch, asker, foundWord, t.Site)
	_ = h.parent.link.Send(to, "", reply.Append(nil)) // a lost answer counts as a confirmation
}

// probed sends the answer of a chain to a probe. Hubs below have to hold the elements, too, if the
// hub above wants that. The owner is locked.
func (o *owner) probed(p *chain.Probe) {
	b := o.hub.below
	c := &climber{request: hubclient.Request{Digests: slices.Clone(p.Digests)}, copies: p.Copies, passed: make([]byte, len(p.Copies))}
	send := func(confirmed []byte) {
		if confirmed != nil {
			c.pass(confirmed)
		}
		if err := o.hub.conn.Publish(p.Reply, c.copies); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
			o.hub.log.Warn(fmt.Sprintf("slice %d: an answer to %v was not sent: %v", o.number, ErrParent, err))
		}
	}
	var digests []uint64
	for i, d := range c.request.Digests {
		if c.copies[i/8]>>(i%8)&1 != 0 {
			digests = append(digests, d)
		}
	}
	entry, _ := o.hub.settings.Shape.Place(o.number)
	if b == nil || p.Levels <= 1 || b.full(len(digests)) || !b.ask(entry, p.Levels-1, digests, "", send) {
		send(nil)
	}
}
