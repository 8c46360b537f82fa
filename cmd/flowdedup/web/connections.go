// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
)

// maxConnections is how many clients may be connected. Further ones replace idle ones: the
// oldest one of the host that has the most, so that silent and slow clients keep nobody out.
const maxConnections = 64

// connections are the connections of a server.
type connections struct {
	mu  sync.Mutex
	all []*connection // in the order in which they came, or were answered last
}

type connection struct {
	net.Conn
	host string
	busy bool // a request is being answered
}

// connectionKey is the key of a connection in the context of its requests.
type connectionKey struct{}

// begin notes a connection, and closes another one if there are too many.
func (c *connections) begin(ctx context.Context, conn net.Conn) context.Context {
	one := &connection{Conn: conn}
	one.host, _, _ = net.SplitHostPort(conn.RemoteAddr().String()) // without a port it is ""
	c.mu.Lock()
	c.all = append(c.all, one)
	var excess *connection
	if len(c.all) > maxConnections {
		excess = c.excess()
		c.forget(excess.Conn)
	}
	c.mu.Unlock()
	if excess != nil {
		_ = excess.Close() // nothing is lost with it
	}
	return context.WithValue(ctx, connectionKey{}, one)
}

// excess returns the connection that is to end: one that is not being answered, as the last
// one is not.
func (c *connections) excess() *connection {
	of := map[string]int{}
	for _, one := range c.all {
		of[one.host]++
	}
	var most *connection
	for _, one := range c.all {
		if !one.busy && (most == nil || of[one.host] > of[most.host]) {
			most = one
		}
	}
	return most
}

func (c *connections) forget(conn net.Conn) {
	c.all = slices.DeleteFunc(c.all, func(one *connection) bool { return one.Conn == conn })
}

// change notes the end of a connection.
func (c *connections) change(conn net.Conn, state http.ConnState) {
	if state != http.StateClosed && state != http.StateHijacked {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(conn)
}

// answering notes which connections are being answered.
func (c *connections) answering(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		one, ok := r.Context().Value(connectionKey{}).(*connection)
		if ok {
			c.mark(one, true)
			defer c.mark(one, false)
		}
		h.ServeHTTP(w, r)
	})
}

// mark notes whether a connection is being answered, and that it is the latest one that was.
func (c *connections) mark(one *connection, busy bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one.busy = busy
	if i := slices.Index(c.all, one); i >= 0 {
		c.all = append(slices.Delete(c.all, i, i+1), one)
	}
}
