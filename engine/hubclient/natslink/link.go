// SPDX-License-Identifier: Apache-2.0

// Package natslink carries the messages of package hubclient over NATS. A Link stays
// connected as far as it can: it connects again whenever the connection ends, and queues
// nothing meanwhile, since late answers would be useless.
package natslink

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flowdedup/flowdedup/engine/hubclient"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

const (
	// connectTimeout is how long one connection may take to come about.
	connectTimeout = 2 * time.Second
	// pingEvery and maxPings set when a silent connection is dead. The defaults of NATS
	// take six minutes to see it.
	pingEvery = time.Second
	maxPings  = 2
	// writeTimeout ends a connection that accepts no more data.
	writeTimeout = 2 * time.Second
	// reconnectWait is the time between attempts, with up to reconnectJitter, so that sites do not
	// come all at once.
	reconnectWait   = 250 * time.Millisecond
	reconnectJitter = 100 * time.Millisecond
	// queued bounds the messages that wait to be sent: all windows of 64 slices, twice.
	queued = 1024
)

// ErrToken means that the hub does not know the site, or no longer.
var ErrToken = errors.New("the hub does not take the token: make a new one with flowdedup-hub join-token")

// ErrFull means that the site has as many connections as it may.
var ErrFull = errors.New("the hub takes no more processes with this token, as 16 use it: make another one with flowdedup-hub join-token")

// ErrBanned means that the hub refuses the site for a while.
var ErrBanned = errors.New("the hub has banned the site for up to a minute, as it sent far more than sensors do: who else has its token?")

// errExpired is nats.ErrAuthExpired as the first attempt to connect returns it. A hub's server sends
// it to banned sites, and errUnregistered to sites that have as many connections as they may.
var (
	errExpired      = errors.New("nats: " + nats.AUTHENTICATION_EXPIRED_ERR)
	errUnregistered = errors.New("nats: failed account registration")
)

// errNobody means that no subscriber of the server takes a request.
var errNobody = errors.New("no hub takes them")

// errQueue means that too many messages wait to be sent.
var errQueue = errors.New("too much waits to be sent")

// message is a message that waits to be sent.
type message struct {
	subject, reply string
	body           []byte
}

// Link is a connection to a hub. It is a hubclient.Transport.
type Link struct {
	conn    atomic.Pointer[nats.Conn]
	queue   chan message
	spare   chan []byte // memory of messages
	done    chan struct{}
	up      atomic.Bool           // as far as is known; conn may take seconds to report it
	denied  atomic.Bool           // the server denies the site's subjects
	refused atomic.Pointer[error] // why the server refuses the site, since the last connection
	closed  atomic.Bool

	resubscriber Resubscriber

	mu   sync.Mutex
	subs []func(*nats.Conn) error // subscribe to what the Link listens to
	last string                   // error that was passed on last
	at   time.Time                // of it
}

// Dial connects to the hub of a token. If no server can be reached, or the site is banned, the
// Link is valid, goes on trying in the background, and the second result is the reason. Errors
// are about the token, and wrap hubclient.ErrToken, ErrToken or ErrFull. warn gets later failures,
// from any goroutine.
func Dial(token hubclient.Token, warn func(error)) (link *Link, unreached, err error) {
	opts, err := options(token)
	if err != nil {
		return nil, nil, err
	}
	l := &Link{queue: make(chan message, queued), spare: make(chan []byte, queued), done: make(chan struct{})}
	dialed := make(chan struct{})
	defer close(dialed)
	opts = append(opts,
		nats.ErrorHandler(func(conn *nats.Conn, _ *nats.Subscription, err error) {
			l.resubscriber.Failed(conn, err)
			l.failed(err, warn)
		}),
		nats.ConnectHandler(l.connected), nats.ReconnectHandler(l.connected),
		nats.DisconnectErrHandler(func(*nats.Conn, error) { l.up.Store(false) }),
		// NATS passes on no refusal of a connection that never was, and not each refusal of others.
		nats.CustomReconnectDelay(func(int) time.Duration {
			<-dialed
			if why := refusal(l.conn.Load().LastError()); why != nil {
				l.refuse(why, warn)
			}
			return reconnectWait + rand.N(reconnectJitter)
		}),
	)
	opts = append(opts, nats.ClosedHandler(func(conn *nats.Conn) { l.again(token.URL, opts, conn, warn) }))
	conn, err := nats.Connect(token.URL, opts...)
	if why := refusal(err); why == &ErrToken || why == &ErrFull {
		return nil, nil, *why
	} else if why != nil {
		unreached = *why
		l.refused.Store(why)
	} else if err == nil {
		l.up.Store(true)
	} else {
		unreached = err
	}
	if unreached != nil {
		if conn, err = nats.Connect(token.URL, append(opts, nats.RetryOnFailedConnect(true))...); err != nil {
			return nil, nil, fmt.Errorf("%w: %w", hubclient.ErrToken, err)
		}
	}
	l.conn.Store(conn)
	go l.publish(warn)
	return l, unreached, nil
}

// connected notes that there is a connection.
func (l *Link) connected(*nats.Conn) {
	l.refused.Store(nil)
	l.up.Store(true)
}

// again replaces a connection that NATS has closed for good, as after errors that no other connection
// mends by itself: a server takes shorter subjects or messages, until it gets another configuration.
func (l *Link) again(url string, opts []nats.Option, was *nats.Conn, warn func(error)) {
	if l.closed.Load() || l.conn.Load() != was {
		return // by Close or Dial
	}
	l.up.Store(false)
	if err := was.LastError(); err != nil {
		l.failed(err, warn)
	}
	time.Sleep(reconnectWait + rand.N(reconnectJitter))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed.Load() {
		return
	}
	conn, err := nats.Connect(url, append(opts, nats.RetryOnFailedConnect(true))...)
	if err != nil {
		warn(err) // never, as the same options were good
		return
	}
	l.conn.Store(conn)
	for _, subscribe := range l.subs {
		if err := subscribe(conn); err != nil {
			warn(err)
		}
	}
}

// repeatedAfter is the time after which an error is passed on again.
const repeatedAfter = time.Minute

// failed passes on an error of the connection. It passes on only the first of repeated errors.
func (l *Link) failed(err error, warn func(error)) {
	if why := refusal(err); why != nil {
		l.refuse(why, warn)
		return
	}
	if errors.Is(err, nats.ErrPermissionViolation) && l.denied.Swap(true) {
		return
	}
	l.mu.Lock()
	repeated := err.Error() == l.last && time.Since(l.at) < repeatedAfter
	if !repeated {
		l.last, l.at = err.Error(), time.Now()
	}
	l.mu.Unlock()
	if !repeated {
		warn(err)
	}
}

// listen subscribes, and again at each new connection.
func (l *Link) listen(subscribe func(*nats.Conn) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.subs = append(l.subs, subscribe)
	return subscribe(l.conn.Load())
}

// refuse passes on why the server refuses the site, once.
func (l *Link) refuse(why *error, warn func(error)) {
	if l.refused.Swap(why) != why {
		warn(*why)
	}
}

// refusal returns the address of the error which says why the server refuses the site, nil for other
// errors.
func refusal(err error) *error {
	switch {
	case errors.Is(err, nats.ErrAuthExpired), errors.Is(err, errExpired):
		return &ErrBanned
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrNkeysNotSupported):
		return &ErrToken
	case errors.Is(err, errUnregistered):
		return &ErrFull
	}
	return nil
}

// options returns how to connect.
func options(token hubclient.Token) ([]nats.Option, error) {
	opts := []nats.Option{
		nats.Name("flowdedup at " + token.Site), nats.CustomInboxPrefix(hubclient.Inbox(token.Site)), nats.NoEcho(),
		nats.Timeout(connectTimeout), nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(maxPings),
		nats.MaxReconnects(-1), nats.FlusherTimeout(writeTimeout), nats.ReconnectBufSize(-1),
		nats.IgnoreAuthErrorAbort(),
	}
	if token.Seed != "" {
		keys, err := nkeys.FromSeed([]byte(token.Seed))
		if err != nil {
			return nil, fmt.Errorf("%w: its seed is none", hubclient.ErrToken)
		}
		public, err := keys.PublicKey()
		if err != nil {
			return nil, fmt.Errorf("%w: its seed is none", hubclient.ErrToken)
		}
		opts = append(opts, nats.Nkey(public, keys.Sign))
	}
	if token.CA != "" {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM([]byte(token.CA)) {
			return nil, fmt.Errorf("%w: its certificates are none", hubclient.ErrToken)
		}
		opts = append(opts, nats.Secure(&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13}))
	}
	return opts, nil
}

// Listen passes the messages of a subject on, until Close.
func (l *Link) Listen(subject string, receive func(subject string, msg []byte, refused bool)) error {
	return l.listen(func(conn *nats.Conn) error {
		_, err := conn.Subscribe(subject, func(m *nats.Msg) {
			// 503: there was nobody to take the request.
			receive(m.Subject, m.Data, len(m.Data) == 0 && m.Header.Get("Status") == "503")
		})
		return err
	})
}

// ListenShared passes each message of a subject on at one of the links of a site, until Close.
func (l *Link) ListenShared(subject string, receive func(subject string, msg []byte)) error {
	return l.listen(func(conn *nats.Conn) error {
		_, err := conn.QueueSubscribe(subject, "shared", func(m *nats.Msg) { receive(m.Subject, m.Data) })
		return err
	})
}

// Connected implements hubclient.Transport. It lags by the time that it takes to notice a
// dead connection. No method of a nats.Conn may be called here: while it dials, or writes
// to a connection that accepts no more, all of them wait.
func (l *Link) Connected() bool { return l.up.Load() }

// Denied reports whether the server has refused to carry messages of the site. If so,
// warn was called once.
func (l *Link) Denied() bool { return l.denied.Load() }

// Send implements hubclient.Transport. Another goroutine sends, so that a blocked
// connection does not stop the caller.
func (l *Link) Send(subject, reply string, msg []byte) error {
	if l.closed.Load() {
		return nats.ErrConnectionClosed
	}
	m := message{subject: subject, reply: reply}
	select {
	case m.body = <-l.spare:
	default:
	}
	m.body = append(m.body[:0], msg...)
	select {
	case l.queue <- m:
		return nil
	default:
		return errQueue
	}
}

// Request sends a message, and returns the answer. It may wait until the connection is
// known to be dead, and delays no other message.
func (l *Link) Request(ctx context.Context, subject string, msg []byte) ([]byte, error) {
	if !l.up.Load() {
		return nil, nats.ErrConnectionReconnecting
	}
	m, err := l.conn.Load().RequestWithContext(ctx, subject, msg)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return nil, errNobody
	case err != nil:
		return nil, err
	}
	return m.Data, nil
}

// publish sends the queued messages.
func (l *Link) publish(warn func(error)) {
	defer close(l.done)
	for m := range l.queue {
		if m.subject == "" {
			return
		}
		err := l.conn.Load().PublishMsg(&nats.Msg{Subject: m.subject, Reply: m.reply, Data: m.body})
		if err != nil && !errors.Is(err, nats.ErrReconnectBufExceeded) && !errors.Is(err, nats.ErrConnectionClosed) {
			l.failed(err, warn)
		}
		select {
		case l.spare <- m.body:
		default:
		}
	}
}

// closeTime bounds each step of Close.
const closeTime = 300 * time.Millisecond

// Close sends queued messages if that takes little time, and ends the connection. Where
// it is dead, NATS may take some seconds longer to end it, in the background.
func (l *Link) Close() {
	l.closed.Store(true)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.queue <- message{} // ends publish
		<-l.done
		if l.up.Load() {
			_ = l.conn.Load().FlushTimeout(closeTime) // the last report matters little
		}
	}()
	within(ended, closeTime)
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		l.mu.Lock() // again replaces no connection now
		defer l.mu.Unlock()
		l.conn.Load().Close()
	}()
	within(closed, closeTime)
}

// within waits for a channel to be closed, for at most d.
func within(done <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}
