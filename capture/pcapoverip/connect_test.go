// SPDX-License-Identifier: Apache-2.0

package pcapoverip

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/certs"
	"github.com/flowdedup/flowdedup/capture/certs/certstest"
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
	both, err := certs.Load(cert, key, authority)
	if err != nil {
		t.Fatal(err)
	}
	nameless, err := certs.Load("", "", authority)
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
	strangers := &certs.Files{}
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

// TestRenewed connects while the files of a listener are renewed in turn.
func TestRenewed(t *testing.T) {
	noGoroutines(t)
	authority := certstest.New(t)
	node, err := certs.Load(authority.Files(t, "node", time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	sensor := func() *certs.Files {
		f, err := certs.Load(authority.Files(t, "sensor", time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	var w warned
	node.Warn = w.warn
	r, a := receiving(t, "tcp-listen://:0", ReceiverConfig{TLS: node, Warn: w.warn, Endless: true})
	received := make(chan int)
	go func() {
		n, _, _ := read(a) // the number counts
		received <- n
	}()
	send := func(with *certs.Files) error {
		s, err := OpenSender(context.Background(), address(t, "tcp://"+r.listener.Addr().String()), SenderConfig{TLS: with, Warn: w.warn})
		if err != nil {
			return err
		}
		return errors.Join(s.Write(packets(10, 60), nil), s.Close())
	}
	if err := send(sensor()); err != nil {
		t.Error(err)
	}
	authority.Renew(t)
	if err := send(sensor()); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("certificate of the earlier authority: %v", err)
	}
	authority.Files(t, "node", time.Hour)
	if err := send(sensor()); err != nil {
		t.Error(err)
	}
	wait.Until(t, "the ends of all streams", func() bool { s := r.Stats(); return s.Peers == 3 && s.Connected == 0 })
	a.Stop()
	if n := <-received; n != 20 {
		t.Errorf("%d packets", n)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// TestNoCertificate refuses to listen without a certificate.
func TestNoCertificate(t *testing.T) {
	_, _, authority := pemFiles(t)
	only, err := certs.Load("", "", authority)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(context.Background(), address(t, "tcp-listen://:0"), ReceiverConfig{TLS: only}); !errors.Is(err, certs.ErrTLS) {
		t.Error(err)
	}
}
