// SPDX-License-Identifier: Apache-2.0

package paper

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
)

// startServer starts a NATS server without a port.
func startServer(t testing.TB) *server.Server {
	return startWith(t, &server.Options{DontListen: true})
}

// startWith starts a NATS server.
func startWith(t testing.TB, o *server.Options) *server.Server {
	t.Helper()
	o.NoSigs, o.NoLog = true, true
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(wait.Timeout) {
		t.Fatal("the server does not start")
	}
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	return s
}

func dial(t testing.TB, s *server.Server) *nats.Conn {
	t.Helper()
	c, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// arrangement gives the slice of each of an element's bits: h horizontal slices with v
// vertical ones each.
type arrangement struct {
	h, v, k int
	bits    int // of all slices
}

// address is where a bit lies.
type address struct {
	slice  int // h * v + number of the vertical slice
	offset uint32
}

// addresses returns where an element's bits lie: all of them in one horizontal slice.
func (a arrangement) addresses(digest uint64) []address {
	all := make([]address, a.k)
	size := uint64(a.bits / (a.h * a.v))
	group := int(mix(digest) >> 32 * uint64(a.h) >> 32)
	for i := range all {
		x := mix(digest + uint64(i+1)*0x9e3779b97f4a7c15)
		part := int(x >> 32 * uint64(a.v) >> 32)
		all[i] = address{group*a.v + part, uint32(mix(x) >> 32 * size >> 32)}
	}
	return all
}

// mix is the finalizer of SplitMix64.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// The operations of messages.
const (
	opTest  = 't' // say whether an element's bits are set
	opSet   = 's' // set them
	opTAS   = 'a' // both
	opFirst = 'f' // test, and pass the message on if all bits are set
)

// message is a batch of elements for slices. On the wire it is: op, number of elements
// (u16), their verdicts so far (a bit each, 1: all bits were set), the slices of its
// route (u16 and numbers), and for each slice its bits (u16, and element u16 with offset
// u32).
type message struct {
	op    byte
	seen  []bool
	route []int
	bits  [][]elementBit
}

type elementBit struct {
	element uint16
	offset  uint32
}

func (m *message) encode() []byte {
	le := binary.LittleEndian
	b := le.AppendUint16([]byte{m.op}, uint16(len(m.seen)))
	for _, s := range m.seen {
		b = append(b, map[bool]byte{true: 1}[s])
	}
	b = le.AppendUint16(b, uint16(len(m.route)))
	for i, s := range m.route {
		b = le.AppendUint16(b, uint16(s))
		b = le.AppendUint16(b, uint16(len(m.bits[i])))
		for _, e := range m.bits[i] {
			b = le.AppendUint32(le.AppendUint16(b, e.element), e.offset)
		}
	}
	return b
}

func decode(b []byte) *message {
	le := binary.LittleEndian
	m := &message{op: b[0], seen: make([]bool, le.Uint16(b[1:]))}
	b = b[3:]
	for i := range m.seen {
		m.seen[i] = b[i] != 0
	}
	b = b[len(m.seen):]
	hops := int(le.Uint16(b))
	b = b[2:]
	for range hops {
		m.route = append(m.route, int(le.Uint16(b)))
		list := make([]elementBit, le.Uint16(b[2:]))
		b = b[4:]
		for i := range list {
			list[i] = elementBit{le.Uint16(b), le.Uint32(b[2:])}
			b = b[6:]
		}
		m.bits = append(m.bits, list)
	}
	return m
}

// slice is a part of the filter, with the goroutine of its subscription.
type slice struct {
	conn     *nats.Conn
	sub      *nats.Subscription
	bits     []uint64
	tests    atomic.Int64 // messages
	elements atomic.Int64 // in all messages
}

func subject(s int) string { return fmt.Sprintf("slice.%d", s) }

// startSlices starts all slices of an arrangement, on two connections.
func startSlices(t testing.TB, s *server.Server, a arrangement) []*slice {
	t.Helper()
	conns := []*nats.Conn{dial(t, s), dial(t, s)}
	var all []*slice
	for i := range a.h * a.v {
		one := &slice{conn: conns[i%2], bits: make([]uint64, a.bits/(a.h*a.v)/64+1)}
		var err error
		if one.sub, err = one.conn.Subscribe(subject(i), one.handle); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	for _, c := range conns {
		if err := c.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// handle answers a message, or passes it on. If an answer cannot be sent, the waiting
// producer fails by its deadline.
func (s *slice) handle(msg *nats.Msg) {
	m := decode(msg.Data)
	s.tests.Add(1)
	last := -1
	for _, e := range m.bits[0] { // in the order of elements: one may set bits that the next tests
		if int(e.element) != last {
			last = int(e.element)
			s.elements.Add(1)
		}
		word, bit := &s.bits[e.offset/64], uint64(1)<<(e.offset%64)
		m.seen[e.element] = m.seen[e.element] && *word&bit != 0
		if m.op == opSet || m.op == opTAS {
			*word |= bit
		}
	}
	m.route, m.bits = m.route[1:], m.bits[1:]
	further := len(m.route) > 0 && m.op == opFirst && m.seen[0]
	if further {
		_ = s.conn.PublishRequest(subject(m.route[0]), msg.Reply, m.encode())
		return
	}
	_ = s.conn.Publish(msg.Reply, m.encode())
}

// producer asks slices.
type producer struct {
	t    testing.TB
	conn *nats.Conn
	a    arrangement
	wait time.Duration // for answers, where none may come; else a minute
}

// verdict is the answer about an element: whether all tested bits are set, and how many
// were tested.
type verdict struct {
	set  bool
	live int
}

// send asks each slice that holds bits of the elements, side by side, and waits for all.
func (p *producer) send(op byte, digests []uint64) []verdict {
	bySlice := map[int][]elementBit{}
	for i, d := range digests {
		for _, at := range p.a.addresses(d) {
			bySlice[at.slice] = append(bySlice[at.slice], elementBit{uint16(i), at.offset})
		}
	}
	all := make([]verdict, len(digests))
	for i := range all {
		all[i].set = true
	}
	var mu sync.Mutex
	var group sync.WaitGroup
	for s, list := range bySlice {
		group.Go(func() {
			answer := p.request(&message{op: op, route: []int{s}, bits: [][]elementBit{list}}, len(digests))
			if answer == nil {
				return // the slice has failed
			}
			mu.Lock()
			defer mu.Unlock()
			for i := range digests {
				all[i].set = all[i].set && answer[i]
			}
			for _, e := range list {
				all[e.element].live++
			}
		})
	}
	group.Wait()
	return all
}

// request sends a message about n elements to the first slice of its route. It returns
// nil if nobody has the slice, or no answer comes in time.
func (p *producer) request(m *message, n int) []bool {
	m.seen = make([]bool, n)
	for i := range m.seen {
		m.seen[i] = true
	}
	wait := p.wait
	if wait == 0 {
		wait = time.Minute
	}
	answer, err := p.conn.Request(subject(m.route[0]), m.encode(), wait)
	if errors.Is(err, nats.ErrNoResponders) || p.wait > 0 && errors.Is(err, nats.ErrTimeout) {
		return nil
	} else if err != nil {
		p.t.Error(err)
		return nil
	}
	return decode(answer.Data).seen
}

// testAndSet asks side by side.
func (p *producer) testAndSet(digests []uint64) []bool { return sets(p.send(opTAS, digests)) }

// firstTest asks side by side, and then sets the bits of new elements.
func (p *producer) firstTest(digests []uint64) []bool {
	seen := sets(p.send(opTest, digests))
	var fresh []uint64
	for i, d := range digests {
		if !seen[i] {
			fresh = append(fresh, d)
		}
	}
	p.send(opSet, fresh)
	return seen
}

func sets(all []verdict) (seen []bool) {
	for _, v := range all {
		seen = append(seen, v.set)
	}
	return seen
}
