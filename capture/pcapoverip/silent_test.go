// SPDX-License-Identifier: Apache-2.0

package pcapoverip

import (
	"bytes"
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/certs"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// TestReceiveSilentTLS has more peers connect than may be read, without a word of TLS. One
// with a certificate is read.
func TestReceiveSilentTLS(t *testing.T) {
	noGoroutines(t)
	both, err := certs.Load(pemFiles(t))
	if err != nil {
		t.Fatal(err)
	}
	var w warned
	r, a := receiving(t, "tcp-listen://:0", ReceiverConfig{TLS: both, Warn: w.warn, Endless: true})
	all := reading(a)
	for range maxSilent {
		connect(t, r.listener.Addr())
	}
	wait.Until(t, "silent peers", func() bool { return r.Stats().Connected == maxSilent })
	s, err := OpenSender(context.Background(), address(t, "tcp://"+r.listener.Addr().String()), SenderConfig{TLS: both, Warn: w.warn})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write(packets(100, 100), nil); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	wait.Until(t, "packets", func() bool { return all.n.Load() == 100 })
	a.Stop()
	if n, err := all.all(); n != 100 || err != nil {
		t.Error(n, err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// TestReceiveNoHeader cuts off peers that send no whole header in time: of nothing, of a
// capture, of TLS. They count as dropped, and a peer that has sent a header may be silent.
func TestReceiveNoHeader(t *testing.T) {
	cert, key, authority := pemFiles(t)
	both, err := certs.Load(cert, key, authority)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		tls  *certs.Files
		said string
	}{
		"nothing": {nil, ""}, "two bytes": {nil, "\xd4\xc3"}, "half a header": {nil, string(encoded(t, 1)[:20])},
		"no TLS": {both, ""}, "half a hello": {both, "\x16\x03\x01\x02\x00\x01"},
	} {
		t.Run(name, func(t *testing.T) {
			noGoroutines(t)
			var w warned
			r, err := Open(context.Background(), address(t, "tcp-listen://:0"), ReceiverConfig{TLS: c.tls, Warn: w.warn, Endless: true})
			if err != nil {
				t.Fatal(err)
			}
			r.header = 20 * time.Millisecond
			a := pcapfile.NewArrivals([]string{"in"}, 10*time.Millisecond)
			r.Start(a, 0)
			all := reading(a)
			conn := connect(t, r.listener.Addr())
			_, _ = conn.Write([]byte(c.said)) // it may be late
			w.await(t, "no header within 20ms of the connection")
			if n, err := conn.Read(make([]byte, 1)); err == nil {
				t.Errorf("%d bytes came", n)
			}
			wait.Until(t, "its end", func() bool { return r.Stats() == ReceiverStats{Peers: 1, PeersDropped: 1} })
			a.Stop()
			if n, err := all.all(); n != 0 || err != nil {
				t.Error(n, err)
			}
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestReceiveQuiet reads a peer that sends nothing after its header for longer than it may
// take for that.
func TestReceiveQuiet(t *testing.T) {
	noGoroutines(t)
	var w warned
	r, err := Open(context.Background(), address(t, "tcp-listen://:0"), ReceiverConfig{Warn: w.warn, Endless: true})
	if err != nil {
		t.Fatal(err)
	}
	r.header = 500 * time.Millisecond
	a := pcapfile.NewArrivals([]string{"in"}, 10*time.Millisecond)
	r.Start(a, 0)
	all := reading(a)
	quiet := connect(t, r.listener.Addr())
	data := encoded(t, 1)
	head := len(capture.AppendSectionHeader(nil))
	if _, err := quiet.Write(data[:head]); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "its header", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.places) == 1 && len(r.silent) == 0
	})
	silent := connect(t, r.listener.Addr()) // which is cut off, so the time is over
	w.await(t, "no header within")
	silent.Close()
	if _, err := quiet.Write(data[head:]); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "its packet", func() bool { return all.n.Load() == 1 })
	a.Stop()
	if n, err := all.all(); n != 1 || err != nil {
		t.Error(n, err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if text := w.text(); strings.Count(text, "\n") != 0 {
		t.Error(text)
	}
}

// TestSendHeaderFirst gives peers the section header before there are packets, once.
func TestSendHeaderFirst(t *testing.T) {
	noGoroutines(t)
	s, err := OpenSender(context.Background(), address(t, "tcp-listen://:0"), SenderConfig{Live: true})
	if err != nil {
		t.Fatal(err)
	}
	head := capture.AppendSectionHeader(nil)
	peer := func() (conn net.Conn) {
		conn = connect(t, s.listener.Addr())
		got := make([]byte, len(head))
		for n := 0; n < len(got); {
			more, err := conn.Read(got[n:])
			if err != nil {
				t.Fatal(err)
			}
			n += more
		}
		if !bytes.Equal(got, head) {
			t.Errorf("% x", got)
		}
		return conn
	}
	early := peer()
	b := packets(3, 60)
	if err := s.Write(b, nil); err != nil {
		t.Fatal(err)
	}
	late := peer()
	b.Reset()
	for range 2 {
		b.Append(capture.Frame{Time: 7}, make([]byte, 60))
	}
	if err := s.Write(b, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for conn, want := range map[net.Conn]int{early: 5, late: 2} {
		var rest bytes.Buffer
		if _, err := rest.ReadFrom(conn); err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(rest.Bytes(), head[:4]) {
			t.Error("the section header comes again")
		}
		src, err := pcapfile.NewReader(bytes.NewReader(append(bytes.Clone(head), rest.Bytes()...)), "peer", pcapfile.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if n, _, err := read(src); n != want || err != nil {
			t.Errorf("%d packets, want %d, %v", n, want, err)
		}
	}
}
