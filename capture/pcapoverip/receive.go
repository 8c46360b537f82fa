// SPDX-License-Identifier: Apache-2.0

package pcapoverip

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/certs"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// ReceiverConfig says how streams are received.
type ReceiverConfig struct {
	// TLS is nil for none.
	TLS *certs.Files
	// Endless says that streams come again: an address that was connected to is connected
	// to again, with growing pauses, and a listener stays open. Otherwise a listener ends when
	// all streams that came have ended, and any came.
	Endless bool
	// Warn gets errors of streams while others go on: an error that wraps a
	// *capture.InputError or *capture.ReadError for a stream that broke off. It may be called on
	// any goroutine.
	Warn func(error)
	// Begin makes the source of a peer's stream, once it has connected. Nil means captures.
	// The source reads only from r. Begin reads the first header of the content: once it has
	// returned, the peer counts as a sender.
	Begin func(r io.Reader, name string, from netip.AddrPort) (capture.Source, error)
}

// chunkSize is how much is read of a connection at once: less than of a file, as there may
// be many.
const chunkSize = 128 << 10

// beginCapture is the Begin of captures.
func (c ReceiverConfig) beginCapture(r io.Reader, name string, _ netip.AddrPort) (capture.Source, error) {
	return pcapfile.NewReader(r, name, pcapfile.Options{Remote: true, ChunkSize: chunkSize, Warn: c.Warn})
}

// errTooMany is why a peer is refused.
var errTooMany = errors.New("refused")

// maxStreams is how many streams with a header a listener reads at a time. It refuses further
// streams. maxSilent is how many streams without a header may be connected. Beyond it the listener
// ends the oldest stream of the peer that has most of them, so that silence keeps nobody out.
const (
	maxStreams = 64
	maxSilent  = 64
)

// headerTime is how long a peer of a listener may take for the TLS handshake and the first
// header.
const headerTime = 10 * time.Second

// ReceiverStats counts the peers of a Receiver.
type ReceiverStats struct {
	Peers        uint64 `json:"peers"`         // connections so far
	Connected    int    `json:"connected"`     // current connections
	PeersDropped uint64 `json:"dropped_peers"` // peers that were refused, sent no capture, or broke off
	Full         string `json:"-"`             // why no further peer can be taken now, or ""
}

// Receiver is an address that streams come from.
type Receiver struct {
	addr     Address
	cfg      ReceiverConfig
	to       *pcapfile.Arrivals
	input    int
	ctx      context.Context // is done once the receiver is to stop
	cancel   context.CancelFunc
	conn     net.Conn         // that was made by Open, or nil
	listener *net.TCPListener // or nil
	secure   *tls.Config      // of the listener, or nil
	header   time.Duration    // headerTime

	mu       sync.Mutex
	places   map[string]bool // of streams
	silent   []*stream       // streams without a header so far, the oldest first
	began    int             // streams whose header was sound
	stats    ReceiverStats
	refusals refusals
	ended    chan bool // says whether the stream of a connection, which has ended, was a capture
}

// Open connects, or begins to listen. An Endless receiver connects in Start. Errors name
// the address.
func Open(ctx context.Context, addr Address, cfg ReceiverConfig) (r *Receiver, err error) {
	if cfg.Begin == nil {
		cfg.Begin = cfg.beginCapture
	}
	r = &Receiver{addr: addr, cfg: cfg, places: map[string]bool{}, ended: make(chan bool, 1), header: headerTime}
	switch {
	case addr.listen:
		r.listener, r.secure, err = listen(ctx, addr, cfg.TLS)
	case !cfg.Endless:
		r.conn, err = dial(ctx, addr, cfg.TLS)
	}
	if err != nil {
		return nil, err
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r, nil
}

// Start adds streams to the Arrivals as they come, as streams of an input. The receiver ends
// with the Arrivals.
func (r *Receiver) Start(to *pcapfile.Arrivals, input int) {
	r.to, r.input = to, input
	switch {
	case r.conn != nil:
		r.add(newStream(r.addr.name, r.conn, r.cfg.Begin, r.passOn), r.addr.host)
	case r.listener != nil:
		go r.accept(to.Expect(r.Close))
	default:
		done := to.Expect(r.Close)
		go func() {
			defer done()
			redial(r.ctx, r.addr, r.cfg.TLS, r.cfg.Warn, r.follow)
		}()
	}
}

// Close ends the receiver, but not its streams.
func (r *Receiver) Close() {
	r.cancel()
	if r.listener != nil {
		_ = r.listener.Close() // a second time
	}
	if r.to == nil && r.conn != nil {
		_ = r.conn.Close() // nothing was read
	}
}

func (r *Receiver) add(s *stream, slot string) {
	r.count(1, nil)
	r.to.Add(pcapfile.Arrival{Source: s, Input: r.input, Slot: slot})
}

// Stats returns the counts of peers. It may be called on any goroutine after Start.
func (r *Receiver) Stats() ReceiverStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.stats
	if r.listener != nil && len(r.places)-len(r.silent) >= maxStreams {
		s.Full = fmt.Sprintf("%d streams are read already", maxStreams)
	} else if r.to != nil {
		s.Full = r.to.Full()
	}
	return s
}

// count counts a peer that has come (1) or left (-1), and why it left unless it was done.
func (r *Receiver) count(change int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.Connected += change
	if change > 0 {
		r.stats.Peers++
	}
	if err != nil {
		r.stats.PeersDropped++
	}
}

// passOn ends the run with the error of its only stream.
func (r *Receiver) passOn(_ *stream, err error) error {
	r.count(-1, err)
	return err
}

// follow adds the stream of a connection, and waits for its end. It reports whether it was a
// capture. The end of a stream that was none is reported only once.
func (r *Receiver) follow(conn net.Conn, said bool) (sound bool) {
	r.add(newStream(r.addr.name, conn, r.cfg.Begin, func(s *stream, err error) error {
		sound := s.src != nil
		r.count(-1, err)
		if err == nil && s.ctx.Err() == nil {
			err = fmt.Errorf("%s: %w", s.name, errClosed)
		}
		if err != nil && (sound || !said) {
			r.cfg.Warn(err)
		}
		r.ended <- sound
		return nil
	}), r.addr.host)
	select {
	case sound = <-r.ended:
	case <-r.ctx.Done():
	}
	return sound
}

// accept accepts streams until the receiver ends.
func (r *Receiver) accept(done func()) {
	defer done()
	wait, quiet := firstPause, false
	for r.ctx.Err() == nil {
		conn, err := r.listener.Accept()
		switch {
		case err == nil:
			wait, quiet = firstPause, false
			r.admit(conn)
		case errors.Is(err, os.ErrDeadlineExceeded):
			quiet = r.endIfLast(quiet)
		case r.ctx.Err() == nil:
			r.cfg.Warn(fmt.Errorf("%v: %w", r.addr, reason(err))) // of descriptors, for instance
			wait = pause(r.ctx, wait)
		}
	}
}

// lastWait is how long a receiver whose last stream has ended accepts peers that the kernel
// has connected already. It waits twice: an Accept that begins when its time is over fails,
// though somebody may have connected.
const lastWait = 25 * time.Millisecond

// endIfLast ends the receiver if no stream has come since the last stream ended. quiet says that
// none has come in a lastWait. It reports whether that is so now.
func (r *Receiver) endIfLast(quiet bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case len(r.places) > 0:
		_ = r.listener.SetDeadline(time.Time{}) // fails only if it was closed
		return false
	case quiet:
		r.cancel()
		_ = r.listener.Close() // nobody is to connect any more
	default:
		_ = r.listener.SetDeadline(time.Now().Add(lastWait)) // fails only if it was closed
	}
	return true
}

// admit adds the stream of a connection, unless there are too many.
func (r *Receiver) admit(conn net.Conn) {
	name := fmt.Sprintf("%v from %v", r.addr, conn.RemoteAddr())
	place, ok := r.place(conn.RemoteAddr())
	if !ok {
		_ = conn.Close() // nothing was read
		r.count(0, errTooMany)
		r.warnRefused(fmt.Errorf("%s: %w: %d streams are read already", name, errTooMany, maxStreams))
		return
	}
	s := newStream(name, conn, r.cfg.Begin, func(s *stream, err error) error { return r.left(s, place, err) })
	s.ready, s.sound, s.within = completer(r.secure), r.speaks, r.header
	s.host, _, _ = strings.Cut(place, "#")
	excess := r.listens(s)
	r.add(s, place)
	if excess != nil {
		_ = excess.Refuse(fmt.Errorf("%s: %w: %d others are silent too", excess.name, errTooMany, maxSilent))
	}
}

// place returns the name of a peer's capture point: its host, with a number if it has several
// streams. So a peer that comes back has the point that it had.
func (r *Receiver) place(peer net.Addr) (string, bool) {
	host, _, err := net.SplitHostPort(peer.String())
	if err != nil {
		host = peer.String()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.places)-len(r.silent) >= maxStreams {
		return "", false
	}
	name := host
	for n := 2; r.places[name]; n++ {
		name = fmt.Sprintf("%s#%d", host, n)
	}
	r.places[name] = true
	return name, true
}

// left reports a stream that broke off. It ends the receiver after the last stream.
func (r *Receiver) left(s *stream, place string, err error) error {
	if errors.Is(err, capture.ErrEmpty) { // who sends nothing only looked
		err = nil
	}
	switch {
	case errors.Is(err, errTooMany):
		r.warnRefused(err)
	case err != nil:
		r.cfg.Warn(err)
	}
	r.count(-1, err)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.places, place)
	r.silent = slices.DeleteFunc(r.silent, func(other *stream) bool { return other == s })
	if s.src != nil {
		r.began++
	}
	if !r.cfg.Endless && len(r.places) == 0 && r.began > 0 {
		_ = r.listener.SetDeadline(time.Now().Add(lastWait)) // fails only if it was closed
	}
	return nil
}
