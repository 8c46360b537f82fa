// SPDX-License-Identifier: Apache-2.0

package pcapoverip

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/capture"
)

// TestConnect reads the stream of a peer that was connected to. What breaks it off is the
// error of the run.
func TestConnect(t *testing.T) {
	noGoroutines(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	data := encoded(t, 10)
	for _, sent := range [][]byte{data, data[:len(data)-1], data[:2]} {
		go func() {
			if conn, err := l.Accept(); err == nil {
				_, _ = conn.Write(sent)
				conn.Close()
			}
		}()
		name := "tcp://" + l.Addr().String()
		_, a := receiving(t, name, ReceiverConfig{})
		n, _, err := read(a)
		var in *capture.InputError
		if whole := len(sent) == len(data); whole != (err == nil) || whole && n != 10 || !whole && (!errors.As(err, &in) || in.Input != name) {
			t.Errorf("%d bytes: %d packets, %v", len(sent), n, err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestConnectAgain connects again to a peer that comes late, and that leaves.
func TestConnectAgain(t *testing.T) {
	noGoroutines(t)
	at := "127.0.0.1:" + lab.FreePort(t)
	var w warned
	r, a := receiving(t, "tcp://"+at, ReceiverConfig{Endless: true, Warn: w.warn})
	w.await(t, "connection refused")
	l, err := net.Listen("tcp", at)
	if err != nil {
		t.Skip("the port was taken meanwhile")
	}
	defer l.Close()
	go func() {
		for n := 0; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if n == 0 {
				_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\n\r\n"))
			} else {
				_, _ = conn.Write(encoded(t, 10))
			}
			conn.Close()
		}
	}()
	var b capture.Batch
	for n := 0; n < 20; n += len(b.Frames) {
		if err := a.Next(&b); err != nil {
			t.Fatal(err)
		}
	}
	w.await(t, "closed by the peer")
	if s := r.Stats(); s.Peers < 3 || s.PeersDropped != 1 {
		t.Errorf("%+v", s)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// TestUnreachable checks for errors that name the address.
func TestUnreachable(t *testing.T) {
	noGoroutines(t)
	taken := "127.0.0.1:" + lab.FreePort(t)
	l, err := net.Listen("tcp", taken)
	if err != nil {
		t.Skip("the port was taken meanwhile")
	}
	if _, err := Open(context.Background(), address(t, "tcp-listen://"+taken), ReceiverConfig{}); !errors.Is(err, syscall.EADDRINUSE) || err.Error() != "tcp-listen://"+taken+": address already in use" {
		t.Error(err)
	}
	if _, err := OpenSender(context.Background(), address(t, "tcp-listen://"+taken), SenderConfig{}); !errors.Is(err, syscall.EADDRINUSE) {
		t.Error(err)
	}
	l.Close()
	if _, err := Open(context.Background(), address(t, "tcp://"+taken), ReceiverConfig{}); !errors.Is(err, syscall.ECONNREFUSED) || err.Error() != "tcp://"+taken+": connection refused" {
		t.Error(err)
	}
	if _, err := OpenSender(context.Background(), address(t, "tcp://"+taken), SenderConfig{}); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := OpenSender(ended, address(t, "tcp-listen://:0"), SenderConfig{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestTLS reads and writes with certificates, and refuses peers that have none.
func TestTLS(t *testing.T) {
	noGoroutines(t)
	cert, key, authority := pemFiles(t)
	both, err := LoadTLS(cert, key, authority)
	if err != nil {
		t.Fatal(err)
	}
	nameless, err := LoadTLS("", "", authority)
	if err != nil {
		t.Fatal(err)
	}
	var w warned
	r, a := receiving(t, "tcp-listen://:0", ReceiverConfig{TLS: both, Warn: w.warn})
	to := address(t, "tcp://"+r.listener.Addr().String())
	plain := connect(t, r.listener.Addr())
	_, _ = plain.Write(encoded(t, 5))
	w.await(t, "TLS handshake: tls: first record does not look like a TLS handshake")
	// With TLS 1.3 a client learns only later that its certificate is missing.
	if s, err := OpenSender(context.Background(), to, SenderConfig{TLS: nameless, Warn: w.warn}); err == nil {
		_ = s.Close() // may fail or not
	}
	w.await(t, "client didn't provide a certificate")
	strangers := &TLS{}
	if _, err := OpenSender(context.Background(), to, SenderConfig{TLS: strangers}); err == nil || !strings.Contains(err.Error(), "certificate signed by unknown authority") || !strings.HasPrefix(err.Error(), to.String()) {
		t.Error(err)
	}
	s, err := OpenSender(context.Background(), to, SenderConfig{TLS: both, Warn: w.warn})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write(packets(1000, 1000), nil); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if n, _, err := read(a); n != 1000 || err != nil {
		t.Errorf("%d packets, %v", n, err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// TestLoadTLS checks the errors for files that hold no certificate or key.
func TestLoadTLS(t *testing.T) {
	cert, key, authority := pemFiles(t)
	if c, err := LoadTLS("", "", ""); c != nil || err != nil {
		t.Error(c, err)
	}
	for _, c := range [][3]string{{cert, "", ""}, {cert, authority, ""}, {"none", key, ""}, {"", "", key}, {"", "", "none"}} {
		if _, err := LoadTLS(c[0], c[1], c[2]); !errors.Is(err, ErrTLS) {
			t.Error(c, err)
		}
	}
	only, err := LoadTLS("", "", authority)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(context.Background(), address(t, "tcp-listen://:0"), ReceiverConfig{TLS: only}); !errors.Is(err, ErrTLS) {
		t.Error(err)
	}
	if c := only.client("x"); c.MinVersion < tls.VersionTLS12 || c.InsecureSkipVerify {
		t.Error("weak")
	}
}
