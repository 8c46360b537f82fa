// SPDX-License-Identifier: Apache-2.0

package pcapoverip

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// TLS is how connections are encrypted and peers are authenticated; nil is not at all.
type TLS struct {
	certificates []tls.Certificate
	authorities  *x509.CertPool // nil for the system's
}

// ErrTLS is wrapped by errors about certificates that cannot be used.
var ErrTLS = errors.New("TLS")

// LoadTLS reads PEM files: the certificate of this side and its key, and the authorities
// that certificates of peers must be signed by. Each may be empty, but a certificate and
// its key belong together. LoadTLS returns nil if all are. A side that connects verifies
// the host's name, by the authorities of the system if none are given. A side that listens
// asks for certificates only if authorities are given.
func LoadTLS(cert, key, authorities string) (*TLS, error) {
	if cert == "" && key == "" && authorities == "" {
		return nil, nil
	}
	t := &TLS{}
	if cert != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("%w: certificate %s with key %s: %w", ErrTLS, cert, key, err)
		}
		t.certificates = append(t.certificates, pair)
	}
	if authorities != "" {
		pem, err := os.ReadFile(authorities)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrTLS, err)
		}
		t.authorities = x509.NewCertPool()
		if !t.authorities.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%w: %s holds no certificate in PEM", ErrTLS, authorities)
		}
	}
	return t, nil
}

// server returns the configuration of a side that listens.
func (t *TLS) server() (*tls.Config, error) {
	if len(t.certificates) == 0 {
		return nil, fmt.Errorf("%w: a side that listens needs a certificate and its key", ErrTLS)
	}
	c := &tls.Config{Certificates: t.certificates, MinVersion: tls.VersionTLS12}
	if t.authorities != nil {
		c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, t.authorities
	}
	return c, nil
}

// client returns the configuration of a side that connects to a host.
func (t *TLS) client(host string) *tls.Config {
	return &tls.Config{Certificates: t.certificates, RootCAs: t.authorities, ServerName: host, MinVersion: tls.VersionTLS12}
}

const (
	// dialTimeout bounds the making of a connection.
	dialTimeout = 10 * time.Second
	// handshakeTimeout bounds a TLS handshake.
	handshakeTimeout = 10 * time.Second
)

// keepAlive finds within half a minute that a peer is gone without a word.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 4}

// dial connects, with TLS if t is not nil. Its errors name the address.
func dial(ctx context.Context, a Address, t *TLS) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTimeout, KeepAliveConfig: keepAlive}
	conn, err := d.DialContext(ctx, "tcp", a.host)
	if err == nil && t != nil {
		host, _, _ := net.SplitHostPort(a.host) // it was joined from both
		conn, err = handshake(ctx, tls.Client(conn, t.client(host)))
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%v: %w", a, reason(err))
	}
	return conn, nil
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
func listen(ctx context.Context, a Address, t *TLS) (*net.TCPListener, *tls.Config, error) {
	var secure *tls.Config
	if t != nil {
		var err error
		if secure, err = t.server(); err != nil {
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
