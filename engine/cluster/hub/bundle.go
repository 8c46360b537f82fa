// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"math"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// bundleBytes bounds the bundles of a site that wait. One has fewer digests than a request to each
// slice could have.
const bundleBytes = 4 * pendingBytes

// bundles returns a handler that answers the bundles of a site, one after another.
func (h *Hub) bundles(site string) nats.MsgHandler {
	var out []byte
	return func(m *nats.Msg) {
		waiting, _, err := m.Sub.Pending()
		overloaded := err == nil && waiting > overloadAt
		if overloaded {
			h.siteConns.overloaded(site, time.Now())
		}
		if out = h.answerBundle(out[:0], m, site, overloaded, time.Now()); len(out) > 0 {
			h.siteConns.publish(site, m.Reply, out)
		}
	}
}

// answerBundle appends the answers to the parts for this hub's slices, except answers that come
// later, or from another link. Other hubs have the other slices.
func (h *Hub) answerBundle(out []byte, m *nats.Msg, site string, overloaded bool, now time.Time) []byte {
	if !hubclient.InInbox(site, hubclient.PartReply(m.Reply, math.MaxUint16, math.MaxUint64)) { // the longest
		h.noteBad(site, badReply)
		return out
	}
	to, ok := hubclient.ParseSubject(m.Subject)
	good := ok && hubclient.Parts(m.Data, func(number int, msg []byte) {
		h.mu.Lock()
		o := h.owners[number]
		h.mu.Unlock()
		if o != nil {
			out = o.answerPart(out, m.Reply, to, msg, overloaded, now)
		}
	})
	if !good {
		h.noteBad(site, badBody)
	}
	return out
}

// answerPart appends the answer to a part of a bundle, unless it comes later. It leaves the part
// unanswered if the slice has just been given away: then the site sends it again.
func (o *owner) answerPart(out []byte, reply string, to hubclient.Subject, msg []byte, overloaded bool, now time.Time) []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.up.closed {
		return out
	}
	o.reply, o.bundled = reply, true
	to.Slice = o.number
	o.respondTo(to, true, msg, overloaded, now)
	if o.bundled = false; o.silent {
		return out
	}
	return hubclient.AppendPart(out, o.number, o.out)
}
