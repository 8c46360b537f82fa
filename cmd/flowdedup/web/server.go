// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Limits on connections, so that no client holds a connection for long.
const (
	headTimeout    = 5 * time.Second
	writeTimeout   = 30 * time.Second
	idleTimeout    = 2 * time.Minute
	closeTimeout   = 2 * time.Second
	maxHeaderBytes = 16 << 10
)

// flag is the flag for an address, in every command.
const flag = "--http"

// Server serves a Content over HTTP. Methods may be called concurrently.
type Server struct {
	http   http.Server
	addr   net.Addr
	served chan error // the error of serving
}

// Check returns the error that Listen would return, unless another program has the port: that may be the
// run that the checked run replaces. It has the port for a moment.
func Check(addr, tokens string) error {
	_, l, err := listen(addr, tokens)
	if err == nil {
		return l.Close()
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil
	}
	return err
}

// Listen serves on addr: host:port, or :port or port for loopback only. tokens is a file of tokens that
// requests need, "" for none. Errors begin with --http. They wrap [ErrAddress] if addr has another form,
// [ErrToken] if the file has no token, and the system's error if either cannot be used. The caller must
// call Close.
func Listen(addr, tokens string, c Content) (*Server, error) {
	full, l, err := listen(addr, tokens)
	if err != nil {
		return nil, err
	}
	s := &Server{addr: l.Addr(), served: make(chan error, 1)}
	conns := new(connections)
	s.http = http.Server{
		Handler:           conns.answering(onlyHosts(full, onlyWithToken(tokens, c.Handler()))),
		ReadHeaderTimeout: headTimeout, ReadTimeout: headTimeout,
		WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes, DisableGeneralOptionsHandler: true,
		ConnContext: conns.begin, ConnState: conns.change,
	}
	go func() { s.served <- s.http.Serve(l) }()
	return s, nil
}

// Addr returns the address of the server, with the port that the system chose for port 0.
func (s *Server) Addr() net.Addr { return s.addr }

// Close stops the server. Answers in progress get two seconds to end. Close returns the
// error that ended serving before, if any. Call it once.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close() // cuts off clients that did not finish
	}
	if err := <-s.served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// ErrAddress is wrapped by errors about an address that cannot be parsed.
var ErrAddress = errors.New("not an address to listen on")

// loopback is the host of addresses that name none.
const loopback = "127.0.0.1"

// address completes host:port, :port or port. To be reached from other hosts, the user
// has to name a host such as 0.0.0.0.
func address(addr string) (string, error) {
	if _, err := strconv.ParseUint(addr, 10, 64); err == nil {
		addr = ":" + addr
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("%q: %w; write it as 127.0.0.1:9469 or 9469", addr, ErrAddress)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", fmt.Errorf("%s: %w; its port must be a number from 0 to 65535", addr, ErrAddress)
	}
	if host == "" {
		host = loopback
	}
	return net.JoinHostPort(host, port), nil
}

// listen checks the tokens, completes the address and opens it. Its errors give advice.
func listen(addr, tokens string) (full string, l net.Listener, err error) {
	if tokens != "" {
		if _, err := readTokens(tokens); err != nil {
			return "", nil, fmt.Errorf("%s-token %w", flag, err)
		}
	}
	if full, err = address(addr); err != nil {
		return "", nil, fmt.Errorf("%s %w", flag, err)
	}
	if l, err = net.Listen("tcp", full); err == nil {
		return full, l, nil
	}
	hint := ""
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		hint = "; another program has this port, choose another one"
	case errors.Is(err, syscall.EACCES):
		hint = "; choose a port above 1023"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		hint = "; this host has no such address"
	}
	// The address stands in the message already.
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	return "", nil, fmt.Errorf("%s %s: %w%s", flag, full, err, hint)
}

// maxConnections is how many clients may be connected. A further client replaces the oldest idle
// client of the host that has most, so that silent and slow clients keep nobody out.
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

// begin notes a connection, and closes an older connection if there are too many.
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

// excess returns the connection to end, which is not being answered. There is such a connection:
// the newest.
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

// mark notes whether a connection is being answered, and moves it behind all others.
func (c *connections) mark(one *connection, busy bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one.busy = busy
	if i := slices.Index(c.all, one); i >= 0 {
		c.all = append(slices.Delete(c.all, i, i+1), one)
	}
}
