// SPDX-License-Identifier: Apache-2.0

package pcapoverip

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// sending opens a sender at which peers connect.
func sending(t *testing.T, cfg SenderConfig) *Sender {
	t.Helper()
	s, err := OpenSender(context.Background(), address(t, "tcp-listen://:0"), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// awaitPeers waits until n peers are connected.
func awaitPeers(t *testing.T, s *Sender, n int) {
	t.Helper()
	wait.Until(t, fmt.Sprint(n, " peers"), func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.peers) == n
	})
}

// got is what a peer reads to the end.
type got struct {
	packets int
	names   []string // of interfaces, in the order of packets
	err     error
}

func receive(conn io.Reader) chan got { return receiveCounted(conn, &atomic.Int64{}) }

// receiveCounted counts the packets that have come so far.
func receiveCounted(conn io.Reader, packets *atomic.Int64) chan got {
	result := make(chan got, 1)
	go func() {
		var g got
		defer func() { result <- g }()
		src, err := pcapfile.NewReader(conn, "peer", pcapfile.Options{})
		if err != nil {
			g.err = err
			return
		}
		for {
			var b capture.Batch
			if g.err = src.Next(&b); g.err != nil {
				return
			}
			g.packets += len(b.Frames)
			packets.Store(int64(g.packets))
			for i := range b.Frames {
				name := b.Interfaces[b.Frames[i].Interface].Name
				if n := len(g.names); n == 0 || g.names[n-1] != name {
					g.names = append(g.names, name)
				}
			}
		}
	}()
	return result
}

// TestSendLate gives a late peer the header and the interfaces, then what comes.
func TestSendLate(t *testing.T) {
	noGoroutines(t)
	var w warned
	s := sending(t, SenderConfig{Live: true, Warn: w.warn})
	early := receive(connect(t, s.listener.Addr()))
	awaitPeers(t, s, 1)
	b := &capture.Batch{}
	for i, name := range []string{"eth0", "eth1", "eth2"} {
		b.Reset()
		at := b.AppendInterface(capture.Interface{LinkType: 1, Name: name})
		for n := range 10 {
			b.Append(capture.Frame{Time: int64(n), Interface: at}, make([]byte, 61))
		}
		if err := s.Write(b, []uint64{1}); err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			connect(t, s.listener.Addr())
			awaitPeers(t, s, 2)
		}
	}
	late := receive(connect(t, s.listener.Addr()))
	awaitPeers(t, s, 3)
	b.Reset()
	b.Append(capture.Frame{Interface: 1}, make([]byte, 61))
	if err := s.Write(b, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]struct {
		peer  chan got
		n     int
		names string
	}{"early": {early, 28, "eth0 eth1 eth2 eth1"}, "late": {late, 1, "eth1"}} {
		if g := <-want.peer; g.packets != want.n || strings.Join(g.names, " ") != want.names || g.err != io.EOF {
			t.Errorf("%s: %+v", name, g)
		}
	}
	if n := s.Stats(); n != (SenderStats{Written: 28}) || w.text() != "" {
		t.Errorf("%+v, %s", n, w.text())
	}
}

// TestSendSlow disconnects a peer that takes nothing, and no other.
func TestSendSlow(t *testing.T) {
	noGoroutines(t)
	var w warned
	s := sending(t, SenderConfig{Live: true, Warn: w.warn})
	slow := connect(t, s.listener.Addr())
	_ = slow.(*net.TCPConn).SetReadBuffer(4096)
	var taken atomic.Int64
	quick := receiveCounted(connect(t, s.listener.Addr()), &taken)
	awaitPeers(t, s, 2)
	b, sent := packets(100, 10_000), 0
	for s.Stats().Dropped == 0 {
		if err := s.Write(b, nil); err != nil {
			t.Fatal(err)
		}
		sent += 100
		b.Blocks = b.Blocks[:0]
		wait.Until(t, "the quick one", func() bool { return taken.Load() == int64(sent) })
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if g := <-quick; g.packets != sent || g.err != io.EOF {
		t.Errorf("%d packets of %d, %v", g.packets, sent, g.err)
	}
	if !strings.Contains(w.text(), slow.LocalAddr().String()+": disconnected, as it takes packets too slowly") {
		t.Error(w.text())
	}
}

// TestSendPace sends packets that can wait at the pace of a peer, without loss.
func TestSendPace(t *testing.T) {
	noGoroutines(t)
	var w warned
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	peer, may := make(chan chan got, 1), make(chan struct{})
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		peer <- receive(&heldBack{conn, may})
	}()
	s, err := OpenSender(context.Background(), address(t, "tcp://"+l.Addr().String()), SenderConfig{Warn: w.warn})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(may)
		if !wait.For(func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.full()
		}) {
			t.Error("the sender never waits")
		}
	}()
	b := packets(100, 10_000)
	for range 30 { // more than may wait
		if err := s.Write(b, nil); err != nil {
			t.Fatal(err)
		}
		b.Blocks = b.Blocks[:0]
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if g := <-<-peer; g.packets != 3000 || g.err != io.EOF {
		t.Errorf("%d packets, %v", g.packets, g.err)
	}
	if n := s.Stats(); n.Written != 3000 || n.Lost+n.Dropped > 0 {
		t.Errorf("%+v", n)
	}
}

// heldBack is a connection that is read once it may be.
type heldBack struct {
	net.Conn
	may chan struct{}
}

func (h *heldBack) Read(p []byte) (int, error) {
	<-h.may
	return h.Conn.Read(p)
}

// TestSendWaits waits for the first peer, where packets can wait.
func TestSendWaits(t *testing.T) {
	noGoroutines(t)
	at := "127.0.0.1:" + lab.FreePort(t)
	peer := make(chan got, 1)
	go func() {
		var conn net.Conn
		if !wait.For(func() (ok bool) {
			var err error
			conn, err = net.Dial("tcp", at)
			return err == nil
		}) {
			peer <- got{err: errors.New("nobody listens")}
			return
		}
		peer <- <-receive(conn)
		conn.Close()
	}()
	s, err := OpenSender(context.Background(), address(t, "tcp-listen://"+at), SenderConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write(packets(10, 60), nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if g := <-peer; g.packets != 10 || g.err != io.EOF {
		t.Errorf("%+v", g)
	}
}

// TestSendGone fails when the only peer leaves, and no other can come.
func TestSendGone(t *testing.T) {
	noGoroutines(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	name := "tcp://" + l.Addr().String()
	s, err := OpenSender(context.Background(), address(t, name), SenderConfig{})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.(*net.TCPConn).SetLinger(0)
	conn.Close()
	b := packets(100, 1000)
	for range 10_000 {
		if err = s.Write(b, nil); err != nil {
			break
		}
		b.Blocks = b.Blocks[:0]
	}
	if err == nil || !strings.HasPrefix(err.Error(), name+": ") {
		t.Error(err)
	}
	if err := s.Close(); err == nil {
		t.Error("closed without the error")
	}
}

// TestSendAgain connects again, with header and interfaces, and counts what nobody got.
func TestSendAgain(t *testing.T) {
	noGoroutines(t)
	at := "127.0.0.1:" + lab.FreePort(t)
	var w warned
	s, err := OpenSender(context.Background(), address(t, "tcp://"+at), SenderConfig{Live: true, Warn: w.warn})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write(packets(10, 60), nil); err != nil {
		t.Fatal(err)
	}
	if n := s.Stats(); n.Lost != 10 || n.Written != 0 {
		t.Errorf("%+v", n)
	}
	w.await(t, "connection refused")
	l, err := net.Listen("tcp", at)
	if err != nil {
		t.Skip("the port was taken meanwhile")
	}
	defer l.Close()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	peer := receive(conn)
	awaitPeers(t, s, 1)
	b := packets(10, 60)
	b.Blocks = b.Blocks[:0]
	if err := s.Write(b, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if g := <-peer; g.packets != 10 || g.err != io.EOF {
		t.Errorf("%+v", g)
	}
	if n := s.Stats(); n.Lost != 10 || n.Written != 10 {
		t.Errorf("%+v", n)
	}
}

// TestSendEmpty gives a peer of a run without packets a file without packets.
func TestSendEmpty(t *testing.T) {
	noGoroutines(t)
	s := sending(t, SenderConfig{Live: true})
	conn := connect(t, s.listener.Addr())
	awaitPeers(t, s, 1)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	all, err := io.ReadAll(conn)
	if err != nil || !bytes.Equal(all, capture.AppendSectionHeader(nil)) {
		t.Errorf("%x, %v", all, err)
	}
}
