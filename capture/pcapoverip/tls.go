// SPDX-License-Identifier: Apache-2.0

package pcapoverip

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/flowdedup/flowdedup/capture/certs"
)

const (
	// dialTimeout bounds the making of a connection.
	dialTimeout = 10 * time.Second
	// handshakeTimeout bounds a TLS handshake.
	handshakeTimeout = 10 * time.Second
)

// keepAlive finds within half a minute that a peer is gone without a word.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 4}

// dial connects, with TLS if t is not nil. Its errors name the address.
func dial(ctx context.Context, a Address, t *certs.Files) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTimeout, KeepAliveConfig: keepAlive}
	conn, err := d.DialContext(ctx, "tcp", a.host)
	if err == nil && t != nil {
		host, _, _ := net.SplitHostPort(a.host) // it was joined from both
		conn, err = handshake(ctx, tls.Client(conn, t.Client(host)))
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%v: %w", a, reason(err))
	}
	return conn, nil
}

// The pauses between attempts to connect.
const (
	firstPause = 500 * time.Millisecond
	lastPause  = 30 * time.Second
)

// pause waits before the next attempt, and returns the pause after that.
func pause(ctx context.Context, d time.Duration) time.Duration {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return min(2*d, lastPause)
}

// redial connects again and again until ctx is done, and passes each connection to use, which reports
// whether it was of use. A warning comes when that begins to fail; use gets whether it has.
func redial(ctx context.Context, a Address, t *certs.Files, warn func(error), use func(conn net.Conn, failing bool) bool) {
	wait, failing := firstPause, false
	for ctx.Err() == nil {
		conn, err := dial(ctx, a, t)
		useful := err == nil && use(conn, failing)
		if err != nil && !failing && ctx.Err() == nil {
			warn(err)
		}
		if failing = !useful; useful {
			wait = firstPause
		}
		wait = pause(ctx, wait)
	}
}

// handshake completes a TLS handshake, or closes the connection.
func handshake(ctx context.Context, conn *tls.Conn) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	err := conn.HandshakeContext(ctx)
	if err == nil {
		return conn, nil
	}
	_ = conn.Close() // the error of the handshake counts
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %v", handshakeTimeout)
	}
	return nil, fmt.Errorf("TLS handshake: %w", reason(err))
}

// listen opens an address. Its errors name it.
func listen(ctx context.Context, a Address, t *certs.Files) (*net.TCPListener, *tls.Config, error) {
	var secure *tls.Config
	if t != nil {
		var err error
		if secure, err = t.Server(tls.VersionTLS12); err != nil {
			return nil, nil, fmt.Errorf("%v: %w", a, err)
		}
	}
	l, err := (&net.ListenConfig{KeepAliveConfig: keepAlive}).Listen(ctx, "tcp", a.host)
	if err != nil {
		return nil, nil, fmt.Errorf("%v: %w", a, reason(err))
	}
	return l.(*net.TCPListener), secure, nil // as the network is TCP
}

// completer returns the function that completes an accepted connection.
func completer(secure *tls.Config) func(context.Context, net.Conn) (net.Conn, error) {
	return func(ctx context.Context, conn net.Conn) (net.Conn, error) {
		if secure == nil {
			return conn, nil
		}
		return handshake(ctx, tls.Server(conn, secure))
	}
}

// errClosed stands for EPIPE, which is no reader of a pipe here that has had enough, and for
// the end of a connection that was to be made.
var errClosed = errors.New("closed by the peer")

// reason returns the error of a connection without the addresses and operations that packages
// net and os add.
func reason(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	var system *os.SyscallError
	if errors.As(err, &system) {
		err = system.Err
	}
	if err == io.EOF || errors.Is(err, syscall.EPIPE) {
		return errClosed
	}
	return err
}
