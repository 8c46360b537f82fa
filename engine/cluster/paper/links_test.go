// SPDX-License-Identifier: Apache-2.0

package paper

import (
	"cmp"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/flowdedup/flowdedup/engine/cluster/chain"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// links are the links of one chain of flowdedup-hub, each with its own subscription at a
// server. A slice whose hub has died is replaced by an empty one that has lost its state.
type links struct {
	t     *testing.T
	shape chain.Shape
	conn  *nats.Conn
	seq   uint64

	mu  sync.Mutex
	all []*chain.Link
}

// newLinks starts the chain of a shape.
func newLinks(t *testing.T, shape chain.Shape) *links {
	t.Helper()
	l := &links{t: t, shape: shape, conn: dial(t, startServer(t)), all: make([]*chain.Link, shape.Links())}
	for i := range l.all {
		l.all[i] = l.empty(i)
		if _, err := l.conn.Subscribe(subject(i), func(m *nats.Msg) { l.take(i, m) }); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		l.conn.Close()
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, one := range l.all {
			if err := one.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return l
}

func (l *links) empty(i int) *chain.Link {
	one, err := chain.New(l.shape, l.shape.Number(0, i))
	if err != nil {
		l.t.Fatal(err)
	}
	return one
}

// take has a link take a message: a request if it wants an answer.
func (l *links) take(i int, m *nats.Msg) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var result chain.Result
	var r hubclient.Request
	var err error
	if m.Reply == "" {
		result, err = l.all[i].Pass(m.Data)
	} else if err = r.Decode(m.Data); err == nil {
		result = l.all[i].Begin("site", m.Reply, 1, &r, m.Data)
	}
	if result.Next != nil && err == nil {
		err = l.conn.Publish(subject(i+1), result.Next)
	}
	for _, first := range result.First {
		if err == nil {
			err = l.conn.Publish(subject(0), first)
		}
	}
	if a := result.Answer; a != nil && err == nil {
		if a.Status != hubclient.OK {
			err = fmt.Errorf("status %v", a.Status)
		}
		err = cmp.Or(err, l.conn.Publish(a.Reply, a.Copies))
	}
	if err != nil {
		l.t.Errorf("link %d: %v", i, err)
	}
}

// ask returns a bit for each element that is a duplicate.
func (l *links) ask(elements []uint64) []byte {
	l.t.Helper()
	l.seq++
	r := hubclient.Request{Op: hubclient.TestAndSet, Seq: l.seq, Time: 1e15, Digests: elements}
	m, err := l.conn.Request(subject(0), r.Append(nil), time.Minute)
	if err != nil {
		l.t.Fatal(err)
	}
	return m.Data
}

// skip goes on with later numbers of requests. A chain that has lost both of its ends decides
// about an asker's requests again once their numbers show that they cannot have come before.
func (l *links) skip(known uint64) {
	l.ask([]uint64{known})
	l.seq += 1000
}

// lose makes a link lose its state.
func (l *links) lose(i int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.all[i].Close(); err != nil {
		l.t.Fatal(err)
	}
	l.all[i] = l.empty(i)
	l.all[i].Lose()
}
