// SPDX-License-Identifier: Apache-2.0

package pcapoverip

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// TestReceiveSeveral reads several streams, each a capture point, and ends with the last.
func TestReceiveSeveral(t *testing.T) {
	noGoroutines(t)
	var w warned
	r, a := receiving(t, "tcp-listen://:0", ReceiverConfig{Warn: w.warn})
	data := encoded(t, 100)
	conns := []net.Conn{connect(t, r.listener.Addr()), connect(t, r.listener.Addr()), connect(t, r.listener.Addr())}
	connect(t, r.listener.Addr()).Close() // who only looks ends nothing
	for _, conn := range conns {
		if _, err := conn.Write(data[:len(data)/2]); err != nil {
			t.Fatal(err)
		}
	}
	// A peer that was accepted after a peer had ended would have that peer's capture point.
	wait.Until(t, "peers", func() bool { return r.Stats().Peers == 4 })
	for _, conn := range conns {
		go func() {
			_, _ = conn.Write(data[len(data)/2:])
			conn.Close()
		}()
	}
	n, points, err := read(a)
	if n != 300 || points != 3 || err != nil || w.text() != "" {
		t.Errorf("%d packets of %d points, %v, %s", n, points, err, w.text())
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// TestReceiveLast reads a stream that had connected before the receiver was to end, and that
// it comes to accept only then.
func TestReceiveLast(t *testing.T) {
	noGoroutines(t)
	var w warned
	r, err := Open(context.Background(), address(t, "tcp-listen://:0"), ReceiverConfig{Warn: w.warn})
	if err != nil {
		t.Fatal(err)
	}
	conn := connect(t, r.listener.Addr())
	r.began = 1
	if err := r.listener.SetDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	a := pcapfile.NewArrivals([]string{"in"}, 0)
	r.Start(a, 0)
	if _, err := conn.Write(encoded(t, 10)); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if n, _, err := read(a); n != 10 || err != nil || w.text() != "" {
		t.Errorf("%d packets, %v, %s", n, err, w.text())
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// TestReceiveBad ends bad streams with a line each, and reads the others.
func TestReceiveBad(t *testing.T) {
	sound := encoded(t, 10)
	for _, c := range []struct {
		name, sent string
		reset      bool
		packets    int
		want       string
	}{
		{"garbage", "GET / HTTP/1.1\r\n\r\n", false, 0, `offset 0: not a pcap or pcapng capture: it begins with the text "GET / HTTP/1.1\r\n"`},
		{"TLS", "\x16\x03\x01\x02\x00\x01", false, 0, "a TLS handshake, where no TLS was expected"},
		{"cut", string(sound[:len(sound)-5]), false, 9, "cut short"},
		{"damaged", string(sound) + "garbage-garbage-garbage-garbage", false, 10, "damaged"},
		{"reset", string(sound[:len(sound)-5]), true, 9, "read error: connection reset by peer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			noGoroutines(t)
			var w warned
			r, a := receiving(t, "tcp-listen://:0", ReceiverConfig{Warn: w.warn})
			good, bad := connect(t, r.listener.Addr()), connect(t, r.listener.Addr())
			if _, err := bad.Write([]byte(c.sent)); err != nil {
				t.Fatal(err)
			}
			read := reading(a)
			if c.reset { // when all was read
				wait.Until(t, "packets", func() bool { return read.n.Load() == int64(c.packets) })
				_ = bad.(*net.TCPConn).SetLinger(0)
			}
			bad.Close()
			w.await(t, c.want)
			if _, err := good.Write(sound); err != nil {
				t.Fatal(err)
			}
			good.Close()
			n, err := read.all()
			if n != c.packets+10 || err != nil {
				t.Errorf("%d packets, %v", n, err)
			}
			if lines := w.text(); strings.Contains(lines, "\n") || !strings.HasPrefix(lines, fmt.Sprintf("tcp-listen://:0 from %v: offset ", bad.LocalAddr())) {
				t.Error(lines)
			}
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// background reads a source.
type background struct {
	done chan struct{}
	n    atomic.Int64 // packets so far
	err  error
}

func reading(src capture.Source) *background {
	b := &background{done: make(chan struct{})}
	go func() {
		_, _, b.err = read(&counted{src, &b.n})
		close(b.done)
	}()
	return b
}

// counted counts the packets of a source.
type counted struct {
	capture.Source
	n *atomic.Int64
}

func (c *counted) Next(b *capture.Batch) error {
	err := c.Source.Next(b)
	if err == nil {
		c.n.Add(int64(len(b.Frames)))
	}
	return err
}

func (b *background) all() (int, error) {
	<-b.done
	return int(b.n.Load()), b.err
}

// TestReceiveSilent refuses the oldest of too many peers that send nothing. One that sends
// something is read.
func TestReceiveSilent(t *testing.T) {
	noGoroutines(t)
	var w warned
	r, a := receiving(t, "tcp-listen://:0", ReceiverConfig{Warn: w.warn})
	var conns []net.Conn
	for range maxSilent + 10 {
		conns = append(conns, connect(t, r.listener.Addr()))
	}
	w.await(t, "refused: 64 others are silent too")
	wait.Until(t, "all of them", func() bool {
		return r.Stats() == ReceiverStats{Peers: maxSilent + 10, Connected: maxSilent, PeersDropped: 10}
	})
	if lines := strings.Count(w.text(), "refused"); lines != 1 {
		t.Errorf("%d lines", lines)
	}
	all := reading(a)
	for range 2 { // the second peer has room too
		conn := connect(t, r.listener.Addr())
		conns = append(conns, conn)
		if _, err := conn.Write(encoded(t, 10)); err != nil {
			t.Fatal(err)
		}
	}
	wait.Until(t, "packets", func() bool { return all.n.Load() == 20 })
	a.Stop() // though others are silent
	if n, err := all.all(); n != 20 || err != nil {
		t.Error(n, err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	for _, conn := range conns {
		conn.Close()
	}
}

// TestReceiveRefuses reads as many streams as it may, and no more.
func TestReceiveRefuses(t *testing.T) {
	noGoroutines(t)
	var w warned
	r, a := receiving(t, "tcp-listen://:0", ReceiverConfig{Warn: w.warn})
	all := reading(a)
	var conns []net.Conn
	for i := range maxStreams + 1 {
		conn := connect(t, r.listener.Addr())
		conns = append(conns, conn)
		_, _ = conn.Write(encoded(t, 1)) // the last peer may be refused meanwhile
		wait.Until(t, "its packet", func() bool { return all.n.Load() == int64(min(i+1, maxStreams)) })
	}
	w.await(t, "refused: 64 streams are read already")
	if s := r.Stats(); s != (ReceiverStats{Peers: maxStreams, Connected: maxStreams, PeersDropped: 1, Full: "64 streams are read already"}) {
		t.Errorf("%+v", s)
	}
	conns[0].Close()
	wait.Until(t, "room", func() bool { return r.Stats().Full == "" })
	a.Stop()
	if _, err := all.all(); err != nil {
		t.Error(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	for _, conn := range conns {
		conn.Close()
	}
}

// TestReceiveAgain gives a peer that comes back the point that it had.
func TestReceiveAgain(t *testing.T) {
	noGoroutines(t)
	var w warned
	r, a := receiving(t, "tcp-listen://:0", ReceiverConfig{Endless: true, Warn: w.warn})
	var b capture.Batch
	for round := range 3 {
		conn := connect(t, r.listener.Addr())
		if _, err := conn.Write(encoded(t, 5)); err != nil {
			t.Fatal(err)
		}
		for n := 0; n < 5; n += len(b.Frames) {
			if err := a.Next(&b); err != nil {
				t.Fatal(err)
			}
		}
		if it := b.Interfaces[b.Frames[0].Interface]; it.CapturePoint != 0 || it.Section != 0 {
			t.Errorf("round %d: %+v", round, it)
		}
		conn.Close()
		wait.Until(t, "the peer to be forgotten", func() bool {
			r.mu.Lock()
			defer r.mu.Unlock()
			return len(r.places) == 0
		})
	}
	if s := r.Stats(); s != (ReceiverStats{Peers: 3}) {
		t.Errorf("%+v", s)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// FuzzStream gives a receiver any bytes, however cut: it ends, and leaves nothing.
func FuzzStream(f *testing.F) {
	f.Add([]byte("GET /"), uint16(1))
	var out bytes.Buffer
	out.Write(capture.AppendSectionHeader(nil))
	f.Add(out.Bytes(), uint16(3))
	f.Fuzz(func(t *testing.T, data []byte, cut uint16) {
		var w warned
		r, a := receiving(t, "tcp-listen://:0", ReceiverConfig{Warn: w.warn})
		conn := connect(t, r.listener.Addr())
		at := min(int(cut), len(data))
		_, _ = conn.Write(data[:at])
		_, _ = conn.Write(data[at:])
		conn.Close()
		if good, err := net.Dial("tcp", r.listener.Addr().String()); err == nil { // else all has ended
			_, _ = good.Write(encoded(t, 1))
			good.Close()
		}
		if n, _, err := read(a); err != nil || n < 0 {
			t.Error(n, err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
}
