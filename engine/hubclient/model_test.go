// SPDX-License-Identifier: Apache-2.0

package hubclient

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// sent is a message on its way.
type sent struct {
	at             time.Duration
	subject, reply string
	body           []byte
	refused        bool
}

// network is a hub and the path to it, in simulated time. Messages are lost, late,
// doubled, or out of order by chance.
type network struct {
	rng      *rand.Rand
	time     time.Duration
	messages []sent
	sites    map[string]*Client // by their inbox
	hub      modelHub
	// lossy messages of a thousand are lost, either way.
	lossy     int
	delay     time.Duration // at most
	connected bool
	nobody    bool // has the slices
	reports   []Report
}

func newNetwork(seed uint64) *network {
	return &network{
		rng: rand.New(rand.NewPCG(seed, 1)), sites: map[string]*Client{}, delay: time.Millisecond, connected: true,
		hub: modelHub{firsts: map[uint64]modelFirst{}, replies: map[string][]byte{}, key: someToken().KeyCheck()},
	}
}

// site adds a site.
func (n *network) site(name string, wait time.Duration) *Client {
	token := someToken()
	token.Site, token.Slices = name, 4
	c := newClient(ClientConfig{Token: token, Wait: wait}, n, "run", time.Unix(1, 0), func() time.Duration { return n.time })
	n.sites[c.inbox] = c
	return c
}

func (n *network) Connected() bool { return n.connected }

func (n *network) Send(subject, reply string, msg []byte) error {
	if !n.connected {
		return errors.New("not connected")
	}
	n.post(sent{subject: subject, reply: reply, body: slices.Clone(msg)})
	return nil
}

// post puts a message on its way.
func (n *network) post(m sent) {
	for range 1 + n.rng.IntN(1000)/995 {
		if n.rng.IntN(1000) < n.lossy {
			continue
		}
		m.at = n.time + time.Duration(n.rng.Int64N(int64(n.delay)))
		n.messages = append(n.messages, m)
	}
}

// pass lets time pass.
func (n *network) pass(d time.Duration) {
	const step = 100 * time.Microsecond
	for end := n.time + d; n.time < end; n.time += step {
		for i := 0; i < len(n.messages); {
			m := n.messages[i]
			if m.at > n.time {
				i++
				continue
			}
			n.messages = slices.Delete(n.messages, i, i+1)
			n.deliver(m)
		}
		for _, c := range n.sites {
			c.mu.Lock()
			if n.time >= c.due {
				c.tick(n.time)
			}
			c.mu.Unlock()
		}
	}
}

// deliver hands a message to whom it is for.
func (n *network) deliver(m sent) {
	if !n.connected {
		return
	}
	for inbox, c := range n.sites {
		if strings.HasPrefix(m.subject, inbox) {
			c.Receive(m.subject, m.body, m.refused)
			return
		}
	}
	if strings.Contains(m.subject, ".report.") {
		r, err := DecodeReport(m.body)
		if err != nil {
			panic(err)
		}
		n.reports = append(n.reports, r)
		return
	}
	if n.nobody {
		n.post(sent{subject: m.reply, refused: true})
		return
	}
	n.post(sent{subject: m.reply, body: n.hub.answer(m.subject, m.body)})
}

// modelHub is the plainest form of a hub: the first site that sends a digest keeps it.
type modelHub struct {
	firsts  map[uint64]modelFirst
	replies map[string][]byte // to requests that came before
	status  Status            // of all replies
	fencing uint64
	key     uint64
	version byte // of replies, if not 0
}

// modelFirst is who sent a digest first, and to which slice.
type modelFirst struct {
	site  string
	slice int
}

func (h *modelHub) answer(subject string, msg []byte) []byte {
	to, ok := ParseSubject(subject)
	if !ok {
		panic("a message to " + subject)
	}
	if to.Slice == allSlices {
		return h.answerBundle(to, msg)
	}
	var q Request
	if err := q.Decode(msg); err != nil {
		panic(err)
	}
	r := Reply{Status: h.status, N: uint32(len(q.Digests)), Seq: q.Seq, Epoch: q.Epoch, Fencing: h.fencing, Copies: make([]byte, (len(q.Digests)+7)/8)}
	send := func() []byte {
		out := r.Append(nil)
		if h.version != 0 {
			out[2] = h.version
		}
		return out
	}
	if q.Op == Ping {
		r.N, r.Copies = 0, nil
		if q.Digests[0] != h.key {
			r.Status = Bad
		}
		return send()
	}
	if before, ok := h.replies[to.Site+string(msg)]; ok {
		return before
	}
	if r.Status == OK {
		for i, d := range q.Digests {
			switch first, ok := h.firsts[d]; {
			case !ok:
				h.firsts[d] = modelFirst{to.Site, to.Slice}
			case first.slice != to.Slice:
				panic("a digest of two slices")
			case first.site != to.Site:
				r.Copies[i/8] |= 1 << (i % 8)
			}
		}
	}
	out := send()
	h.replies[to.Site+string(msg)] = out
	return out
}

func (h *modelHub) answerBundle(to Subject, msg []byte) (out []byte) {
	good := Parts(msg, func(slice int, part []byte) {
		to.Slice = slice
		out = AppendPart(out, slice, h.answer(to.String(), part))
	})
	if !good {
		panic("no bundle")
	}
	return out
}

// batchOf returns digests of packets and their times.
func batchOf(from, n int) (digests []digest.Digest, times []int64, skip []uint64) {
	for i := range n {
		digests = append(digests, digest.Digest{uint64(from+i) * 0x9e3779b97f4a7c15, 1})
		times = append(times, int64(from+i)*1000+1e18)
	}
	return digests, times, make([]uint64, (n+63)/64)
}

// kept returns which packets of a batch of n stay.
func kept(a *Answers, n int) (out []bool) {
	for i := range n {
		out = append(out, a.Copies[i/64]>>(i%64)&1 == 0)
	}
	return out
}
