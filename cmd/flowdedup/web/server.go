// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"
)

// Limits on connections, so that no client holds one for long.
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

// Listen serves on addr: host:port, or :port or port for loopback only. Errors begin with
// --http. They wrap [ErrAddress] if addr has another form, and the system's error if it cannot
// be listened on. The caller must call Close.
func Listen(addr string, c Content) (*Server, error) {
	full, err := address(addr)
	if err != nil {
		return nil, fmt.Errorf("%s %w", flag, err)
	}
	l, err := listen(full)
	if err != nil {
		return nil, fmt.Errorf("%s %w", flag, err)
	}
	s := &Server{addr: l.Addr(), served: make(chan error, 1)}
	conns := new(connections)
	s.http = http.Server{
		Handler:           conns.answering(onlyHosts(full, c.Handler())),
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

// loopback is the host of addresses without one.
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

// listen opens a complete address. Its errors give advice.
func listen(full string) (net.Listener, error) {
	l, err := net.Listen("tcp", full)
	if err == nil {
		return l, nil
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
	return nil, fmt.Errorf("%s: %w%s", full, err, hint)
}
