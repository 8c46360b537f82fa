// SPDX-License-Identifier: Apache-2.0

package pcapoverip

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/certs"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// SenderConfig says how packets are sent.
type SenderConfig struct {
	// TLS is nil for none.
	TLS *certs.Files
	// Live says that packets cannot wait. Then a peer that takes them too slowly is
	// disconnected at once, nobody is waited for at the start, and an address that was
	// connected to is connected to again. Otherwise packets go at the pace of the slowest
	// peer. One that connected, and takes nothing for 5 s, is disconnected.
	Live bool
	// Commented is as in pcapfile.WriterOptions.
	Commented bool
	// Warn gets errors of peers while others go on. It may be called on any goroutine.
	Warn func(error)
}

const (
	// sendTimeout is how long a peer may take nothing.
	sendTimeout = 5 * time.Second
	// maxQueued is how many bytes may wait for a peer: a second of 64 Mbit/s.
	maxQueued = 8 << 20
	// maxPeers is how many may be connected. Others are refused.
	maxPeers = 64
)

// SenderStats counts the packets of a Sender by their fate.
type SenderStats struct {
	Written uint64 // that peers got, or will; packets count that came while nobody listened
	Lost    uint64 // that the peer that is connected to did not get
	Dropped uint64 // peers that were too slow
}

// Sender sends packets to peers as one pcapng section. A peer gets the section header at once,
// so that it knows a sensor from a stranger before there is a packet. A peer that connects late
// gets the descriptions of all interfaces, too, then the next packets.
//
// With format=pcap in its address it sends a classic pcap file, to readers that know no pcapng.
// Times are in microseconds, as some of these readers know no nanoseconds (format=nsecpcap). The
// header has the link type of the first packet, so peers get nothing before that packet. A
// packet of a different link type is an error of Write that wraps capture.ErrNotSupported, and ends
// the stream. Warn gets one error for the loss of comments and of interfaces' names and numbers.
//
// Its Write, Flush and Close are for one goroutine.
type Sender struct {
	addr     Address
	cfg      SenderConfig
	ctx      context.Context // is done once nobody is to connect any more
	cancel   context.CancelFunc
	listener net.Listener // or nil
	running  sync.WaitGroup
	writer   capture.Writer
	encoded  []byte // by the writer, in a Write
	began    bool   // the writer has written the header of the section or file

	mu      sync.Mutex
	changed *sync.Cond // a peer came, left or took something
	peers   map[*peer]bool
	head    []byte // the first bytes for a peer
	stats   SenderStats
	seen    uint64 // packets of the writer that were handed out
	failed  error  // of the peer that was connected to and does not come again
	closing bool
}

// OpenSender connects, or begins to listen. Unless packets are live it waits for the first
// peer until ctx is done. Errors name the address.
func OpenSender(ctx context.Context, addr Address, cfg SenderConfig) (*Sender, error) {
	s := &Sender{addr: addr, cfg: cfg, peers: map[*peer]bool{}}
	if !s.classic() {
		s.head = capture.AppendSectionHeader(nil)
	}
	s.changed = sync.NewCond(&s.mu)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	// As if from interfaces that are made later: these may come at any time.
	s.writer = pcapfile.NewWriter(collector{s}, pcapfile.WriterOptions{
		Derived: true, Format: cmp.Or(addr.format, capture.FormatPcapNG), Stream: true, Microseconds: addr.micro, Commented: cfg.Commented, Warn: cfg.Warn,
	})
	if err := s.open(ctx); err != nil {
		s.cancel()
		s.running.Wait()
		return nil, err
	}
	return s, nil
}

func (s *Sender) open(ctx context.Context) error {
	switch {
	case s.addr.listen:
		l, secure, err := listen(ctx, s.addr, s.cfg.TLS)
		if err != nil {
			return err
		}
		s.listener = l
		s.running.Go(func() { s.accept(completer(secure)) })
		if !s.cfg.Live {
			return s.awaitPeer(ctx)
		}
	case s.cfg.Live:
		s.running.Go(func() { redial(s.ctx, s.addr, s.cfg.TLS, s.cfg.Warn, s.follow) })
	default:
		conn, err := dial(ctx, s.addr, s.cfg.TLS)
		if err != nil {
			return err
		}
		s.join(conn, s.addr.name)
	}
	return nil
}

// awaitPeer waits for a peer.
func (s *Sender) awaitPeer(ctx context.Context) error {
	defer context.AfterFunc(ctx, s.broadcast)()
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.peers) == 0 && ctx.Err() == nil {
		s.changed.Wait()
	}
	if ctx.Err() != nil {
		_ = s.listener.Close() // nobody came
	}
	return ctx.Err()
}

// broadcast wakes those who wait for a change.
func (s *Sender) broadcast() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed.Broadcast()
}

// collector takes the output of the writer.
type collector struct{ *Sender }

func (c collector) Write(p []byte) (int, error) {
	c.encoded = append(c.encoded, p...)
	return len(p), nil
}

// Write sends the packets that are not in drop. It returns an error if there is no peer
// any more, and none can come.
func (s *Sender) Write(b *capture.Batch, drop []uint64) error {
	err := s.writer.Write(b, drop)
	return errors.Join(err, s.handOut())
}

// handOut gives the encoded data, which is whole blocks, to all peers.
func (s *Sender) handOut() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	packets := s.writer.Written() - s.seen
	s.seen += packets
	if !s.began && len(s.encoded) > 0 {
		s.began = true
		s.encoded, _ = bytes.CutPrefix(s.encoded, s.head) // peers have it
	}
	if len(s.encoded) > 0 {
		c := &chunk{data: s.encoded, packets: packets}
		s.encoded = make([]byte, 0, len(s.encoded)+len(s.encoded)/8)
		s.remember(c.data)
		s.queue(c)
	}
	return s.failed
}

func (s *Sender) classic() bool { return s.addr.format == capture.FormatPcap }

// remember keeps the header or the blocks that a late peer has to know.
func (s *Sender) remember(data []byte) {
	if s.classic() {
		if len(s.head) == 0 {
			s.head = append(s.head, data[:pcapfile.PcapHeaderLen]...)
		}
		return
	}
	for len(data) >= 12 {
		kind, n := binary.LittleEndian.Uint32(data), int(binary.LittleEndian.Uint32(data[4:]))
		if kind == capture.BlockSectionHeader || kind == capture.BlockInterface {
			s.head = append(s.head, data[:n]...)
		}
		data = data[n:]
	}
}

// queue gives a chunk to each peer. s.mu is held, but not while it waits for slow peers.
func (s *Sender) queue(c *chunk) {
	if !s.cfg.Live {
		for s.full() {
			s.changed.Wait()
		}
	}
	if len(s.peers) == 0 && !s.addr.listen {
		s.stats.Lost += c.packets
		return
	}
	s.stats.Written += c.packets
	for p := range s.peers {
		if p.queued+len(c.data) > maxQueued && p.queued > 0 && s.cfg.Live {
			s.tooSlow(p)
			continue
		}
		p.chunks = append(p.chunks, c)
		p.queued += len(c.data)
	}
	s.changed.Broadcast()
}

// full reports whether a peer has enough to do.
func (s *Sender) full() bool {
	for p := range s.peers {
		if p.queued >= maxQueued {
			return true
		}
	}
	return false
}

// Connected reports whether there is a peer.
func (s *Sender) Connected() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.peers) > 0
}

// Flush does nothing: packets leave at once.
func (s *Sender) Flush() error { return nil }

// Stats returns the counts of packets. It may be called on any goroutine.
func (s *Sender) Stats() SenderStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// Skipped returns how many pcapng blocks could not be converted.
func (s *Sender) Skipped() uint64 { return s.writer.Skipped() }

// Close sends waiting data, which takes 5 s at most for peers that do not read, and
// ends all connections.
func (s *Sender) Close() error {
	err := errors.Join(s.writer.Close(), s.handOut())
	s.mu.Lock()
	s.closing = true
	s.changed.Broadcast()
	s.mu.Unlock()
	s.cancel()
	if s.listener != nil {
		_ = s.listener.Close() // nobody else comes
	}
	s.running.Wait()
	if err == nil {
		err = s.failed
	}
	return err
}

// accept lets peers connect.
func (s *Sender) accept(complete func(context.Context, net.Conn) (net.Conn, error)) {
	wait := firstPause
	for s.ctx.Err() == nil {
		conn, err := s.listener.Accept()
		switch {
		case err == nil:
			wait = firstPause
			s.running.Go(func() { s.welcome(conn, complete) })
		case s.ctx.Err() == nil && !errors.Is(err, net.ErrClosed):
			s.cfg.Warn(fmt.Errorf("%v: %w", s.addr, reason(err)))
			wait = pause(s.ctx, wait)
		default:
			return
		}
	}
}

// welcome completes a connection, and makes it a peer unless there are too many.
func (s *Sender) welcome(conn net.Conn, complete func(context.Context, net.Conn) (net.Conn, error)) {
	name := fmt.Sprintf("%v to %v", s.addr, conn.RemoteAddr())
	done, err := complete(s.ctx, conn)
	if err == nil && s.join(done, name) == nil {
		_ = done.Close() // nothing was sent
		err = fmt.Errorf("refused: %d are connected already", maxPeers)
	}
	if err != nil && s.ctx.Err() == nil {
		s.cfg.Warn(fmt.Errorf("%s: %w", name, err))
	}
}

// follow makes a connection a peer, and waits until the peer has left.
func (s *Sender) follow(conn net.Conn, _ bool) bool {
	p := s.join(conn, s.addr.name)
	if p == nil {
		_ = conn.Close() // the sender ends
		return false
	}
	<-p.done
	return true
}
