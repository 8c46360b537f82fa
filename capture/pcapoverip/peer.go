// SPDX-License-Identifier: Apache-2.0

package pcapoverip

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"time"
)

// chunk is encoded packets, shared by all peers.
type chunk struct {
	data    []byte
	packets uint64
}

// peer receives the output.
type peer struct {
	name   string
	conn   net.Conn
	chunks []*chunk // that wait; guarded by Sender.mu, like queued
	queued int      // their bytes
	done   chan struct{}
}

// join makes a connection a peer, from the next packet on. It returns nil if there are too
// many, or the sender ends.
func (s *Sender) join(conn net.Conn, name string) *peer {
	p := &peer{name: name, conn: conn, done: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing || len(s.peers) == maxPeers {
		return nil
	}
	p.chunks = append(p.chunks, &chunk{data: s.head[:len(s.head):len(s.head)]})
	p.queued = len(s.head)
	s.peers[p] = true
	s.changed.Broadcast()
	s.running.Go(func() { s.serve(p) })
	// Data from peers is read and ignored: closing a connection with unread data would reset
	// it, and sent packets could be lost.
	s.running.Go(func() { _, _ = io.Copy(io.Discard, conn) })
	return p
}

// serve sends waiting data to a peer, until it leaves or the sender ends.
func (s *Sender) serve(p *peer) {
	defer close(p.done)
	for {
		c := s.next(p)
		if c == nil {
			break
		}
		err := s.send(p, c.data)
		if !s.sent(p, c, err) {
			break
		}
	}
	_ = p.conn.Close() // sent data has left
}

// next waits for a chunk. It returns nil when the peer is to end.
func (s *Sender) next(p *peer) *chunk {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.peers[p] && len(p.chunks) == 0 && !s.closing {
		s.changed.Wait()
	}
	if !s.peers[p] || len(p.chunks) == 0 {
		s.remove(p)
		return nil
	}
	return p.chunks[0]
}

// sendStep is how much is sent at once, so that a timeout means that nothing was taken.
const sendStep = 64 << 10

// send sends bytes. One peer that was connected to may take as long as it likes, until the
// end: like the reader of a pipe.
func (s *Sender) send(p *peer, data []byte) error {
	for len(data) > 0 {
		if s.addr.listen || s.cfg.Live {
			if err := p.conn.SetWriteDeadline(time.Now().Add(sendTimeout)); err != nil {
				return err
			}
		}
		n, err := p.conn.Write(data[:min(len(data), sendStep)])
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// sent records that a chunk was sent, or why not. It reports whether more may be.
func (s *Sender) sent(p *peer, c *chunk, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.peers[p] {
		return false
	}
	if err != nil {
		s.left(p, err)
		return false
	}
	p.chunks = p.chunks[1:]
	p.queued -= len(c.data)
	s.changed.Broadcast()
	return true
}

// left removes a peer that a send failed to.
func (s *Sender) left(p *peer, err error) {
	if e, ok := err.(net.Error); ok && e.Timeout() {
		s.tooSlow(p)
		return
	}
	err = fmt.Errorf("%s: %w", p.name, reason(err))
	s.remove(p)
	if !s.addr.listen && !s.cfg.Live {
		s.failed = err
		return
	}
	s.cfg.Warn(err)
}

// tooSlow disconnects a peer.
func (s *Sender) tooSlow(p *peer) {
	s.stats.Dropped++
	s.cfg.Warn(fmt.Errorf("%s: disconnected, as it takes packets too slowly: %d bytes waited", p.name, p.queued))
	s.remove(p)
	_ = beneath(p.conn).Close() // a send in progress ends; TLS would take its leave first
}

// beneath returns the connection below TLS.
func beneath(conn net.Conn) net.Conn {
	if t, ok := conn.(*tls.Conn); ok {
		return t.NetConn()
	}
	return conn
}

// remove forgets a peer. Where it is the only peer, it counts the data that waited as lost.
func (s *Sender) remove(p *peer) {
	if !s.peers[p] {
		return
	}
	delete(s.peers, p)
	if !s.addr.listen {
		for _, c := range p.chunks {
			s.stats.Lost += c.packets
			s.stats.Written -= c.packets
		}
	}
	p.chunks = nil
	s.changed.Broadcast()
}
