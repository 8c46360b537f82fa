// SPDX-License-Identifier: Apache-2.0

package natslink

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// server implements the part of a NATS server that a Link sees. It answers each message
// with one that has the same body, to the reply subject, and reports that nobody takes
// messages to "nobody".
type server struct {
	t        *testing.T
	listener net.Listener
	denies   atomic.Bool // subscriptions

	mu      sync.Mutex
	refuse  string // text that all clients get, empty for none
	refused int    // clients
	end     string // text after which a client that sends is cut off, empty for none
	conns   []net.Conn
}

func newServer(t *testing.T, address string) *server {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, listener: l}
	t.Cleanup(s.close)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns = append(s.conns, conn)
			s.mu.Unlock()
			go s.serve(conn)
		}
	}()
	return s
}

// close ends all connections.
func (s *server) close() {
	_ = s.listener.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		_ = c.Close()
	}
}

// refusal returns the text that a client gets, empty for none.
func (s *server) refusal() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != "" {
		s.refused++
	}
	return s.refuse
}

// ending returns the text that ends the connection of a client that sends.
func (s *server) ending() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end
}

// refusals returns how many clients were refused.
func (s *server) refusals() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

// What hubs send to clients of a banned site, to ones that they do not know, and to one process of a
// site too many.
const (
	bannedText  = "User Authentication Expired"
	unknownText = "Authorization Violation"
	fullText    = "Failed Account Registration"
)

// bar refuses clients, and ends their connections.
func (s *server) bar(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = text
	for _, c := range s.conns {
		_ = c.Close()
	}
}

func (s *server) admit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = ""
}

func (s *server) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	fmt.Fprintf(conn, "INFO {\"server_id\":\"x\",\"version\":\"2.15.0\",\"max_payload\":1048576,\"headers\":true,\"proto\":1}\r\n")
	for sid := ""; ; {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		words := strings.Fields(line)
		switch words[0] {
		case "CONNECT":
			if text := s.refusal(); text != "" {
				fmt.Fprintf(conn, "-ERR '%s'\r\n", text)
				return
			}
		case "PING":
			fmt.Fprint(conn, "PONG\r\n")
		case "SUB":
			if s.denies.Load() {
				fmt.Fprintf(conn, "-ERR 'Permissions Violation for Subscription to %q'\r\n", words[1])
				continue
			}
			sid = words[len(words)-1]
		case "PUB":
			if text := s.ending(); text != "" {
				fmt.Fprintf(conn, "-ERR '%s'\r\n", text)
				return
			}
			var n int
			fmt.Sscan(words[len(words)-1], &n)
			body := make([]byte, n+2)
			if _, err := io.ReadFull(in, body); err != nil {
				return
			}
			switch {
			case len(words) < 4: // no reply
			case words[1] == "nobody":
				head := "NATS/1.0 503\r\n\r\n"
				fmt.Fprintf(conn, "HMSG %s %s %d %d\r\n%s\r\n", words[2], sid, len(head), len(head), head)
			default:
				fmt.Fprintf(conn, "MSG %s %s %d\r\n%s", words[2], sid, n, body)
			}
		}
	}
}

// got is a message that came.
type got struct {
	subject, body string
	refused       bool
}

// dial connects to the server, and returns the messages that come.
func dial(t *testing.T, address string) (link *Link, all chan got, unreached error) {
	t.Helper()
	link, unreached, err := Dial(hubclient.Token{URL: "nats://" + address, Site: "paris"}, func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(link.Close)
	all = make(chan got, 10000)
	if err := link.Listen("_INBOX.paris.>", func(subject string, msg []byte, refused bool) {
		all <- got{subject, string(msg), refused}
	}); err != nil {
		t.Fatal(err)
	}
	return link, all, unreached
}

// next returns the next message.
func next(t *testing.T, all chan got) got {
	t.Helper()
	select {
	case g := <-all:
		return g
	case <-time.After(wait.Timeout):
		t.Fatal("nothing comes")
		return got{}
	}
}

func TestLink(t *testing.T) {
	s := newServer(t, "127.0.0.1:0")
	link, all, unreached := dial(t, s.listener.Addr().String())
	if unreached != nil || !link.Connected() {
		t.Fatal(unreached)
	}
	msg := []byte("one")
	for _, m := range []struct{ to, reply string }{{"a", "_INBOX.paris.1"}, {"b", ""}, {"nobody", "_INBOX.paris.2"}, {"c", "_INBOX.paris.3"}} {
		if err := link.Send(m.to, m.reply, msg); err != nil {
			t.Fatal(err)
		}
		msg[0]++ // which is the caller's again
	}
	for _, want := range []got{{"_INBOX.paris.1", "one", false}, {"_INBOX.paris.2", "", true}, {"_INBOX.paris.3", "rne", false}} {
		if g := next(t, all); g != want {
			t.Errorf("%+v, want %+v", g, want)
		}
	}
}

// TestLinkComesBack ends a connection, and wants another without a word of old messages.
func TestLinkComesBack(t *testing.T) {
	address := "127.0.0.1:" + lab.FreePort(t)
	s := newServer(t, address)
	link, all, _ := dial(t, address)
	s.close()
	wait.Until(t, "the end of the connection", func() bool { return !link.Connected() })
	for range 100 {
		_ = link.Send("a", "_INBOX.paris.old", []byte("old")) // nobody hears it
	}
	wait.Until(t, "an empty queue", func() bool { return len(link.queue) == 0 })
	newServer(t, address)
	wait.Until(t, "a connection", link.Connected)
	if err := link.Send("a", "_INBOX.paris.new", []byte("new")); err != nil {
		t.Fatal(err)
	}
	if g := next(t, all); g.body != "new" {
		t.Errorf("%+v", g)
	}
}

// TestLinkWithoutServer starts without a server, which comes later.
func TestLinkWithoutServer(t *testing.T) {
	address := "127.0.0.1:" + lab.FreePort(t)
	link, all, unreached := dial(t, address)
	if unreached == nil || link.Connected() {
		t.Error("connected to nothing")
	}
	newServer(t, address)
	wait.Until(t, "a connection", link.Connected)
	if err := link.Send("a", "_INBOX.paris.1", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if g := next(t, all); g.body != "x" {
		t.Errorf("%+v", g)
	}
}

// TestLinkRefused starts during a ban, is banned again later, and then removed: it says so once each
// time, and connects when it may.
func TestLinkRefused(t *testing.T) {
	s := newServer(t, "127.0.0.1:0")
	s.bar(bannedText)
	warnings := make(chan error, 100)
	link, unreached, err := Dial(hubclient.Token{URL: "nats://" + s.listener.Addr().String(), Site: "paris"}, func(err error) { warnings <- err })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(link.Close)
	if !errors.Is(unreached, ErrBanned) || link.Connected() {
		t.Errorf("started in a ban: %v", unreached)
	}
	for text, want := range map[string]error{bannedText: ErrBanned, unknownText: ErrToken, fullText: ErrFull} {
		s.admit()
		wait.Until(t, "a connection", link.Connected)
		before := s.refusals()
		s.bar(text)
		if err := <-warnings; !errors.Is(err, want) {
			t.Errorf("%s: %v", text, err)
		}
		wait.Until(t, "more attempts", func() bool { return s.refusals() >= before+3 })
	}
	s.admit()
	wait.Until(t, "a connection", link.Connected)
	if len(warnings) > 0 {
		t.Errorf("one more warning: %v", <-warnings)
	}
}

// TestRefusedLater starts before the server, which then refuses the token: the site reads why, once.
func TestRefusedLater(t *testing.T) {
	for text, want := range map[string]error{bannedText: ErrBanned, unknownText: ErrToken, fullText: ErrFull} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := listener.Addr().String()
		listener.Close()
		warnings := make(chan error, 100)
		link, unreached, err := Dial(hubclient.Token{URL: "nats://" + address, Site: "paris"}, func(err error) { warnings <- err })
		if unreached == nil || err != nil {
			t.Fatalf("connected to nothing: %v", err)
		}
		t.Cleanup(link.Close)
		s := newServer(t, address)
		s.bar(text)
		wait.Until(t, "a warning: "+text, func() bool { return len(warnings) > 0 })
		wait.Until(t, "attempts", func() bool { return s.refusals() >= 3 })
		if err := <-warnings; !errors.Is(err, want) {
			t.Errorf("%s: %v", text, err)
		}
		s.admit()
		wait.Until(t, "a connection", link.Connected)
		if len(warnings) > 0 {
			t.Errorf("%s: one more warning: %v", text, <-warnings)
		}
	}
}

func TestDialErrors(t *testing.T) {
	s, full := newServer(t, "127.0.0.1:0"), newServer(t, "127.0.0.1:0")
	s.refuse, full.refuse = unknownText, fullText
	url := "nats://" + s.listener.Addr().String()
	for name, c := range map[string]struct {
		token hubclient.Token
		want  error
	}{
		"an unknown site":   {hubclient.Token{URL: url, Site: "paris"}, ErrToken},
		"a process more":    {hubclient.Token{URL: "nats://" + full.listener.Addr().String(), Site: "paris"}, ErrFull},
		"no seed":           {hubclient.Token{URL: url, Site: "paris", Seed: "SUAB"}, hubclient.ErrToken},
		"no certificates":   {hubclient.Token{URL: url, Site: "paris", CA: "PEM"}, hubclient.ErrToken},
		"an impossible URL": {hubclient.Token{URL: "nats://[:1", Site: "paris"}, hubclient.ErrToken},
	} {
		if _, _, err := Dial(c.token, func(error) {}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFullQueue has a peer that takes nothing. The caller must not wait.
func TestFullQueue(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	held := make(chan net.Conn, 10)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(conn, "INFO {\"server_id\":\"x\",\"version\":\"2.15.0\",\"max_payload\":1048576,\"headers\":true,\"proto\":1}\r\n")
			in := bufio.NewReader(conn)
			_, _ = in.ReadString('\n')
			_, _ = in.ReadString('\n')
			fmt.Fprint(conn, "PONG\r\n")
			held <- conn // and reads no more
		}
	}()
	link, _, err := Dial(hubclient.Token{URL: "nats://" + l.Addr().String(), Site: "paris"}, func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	msg := make([]byte, 1<<16)
	full := false // which a process that is slow sees later: the queue empties while it connects again
	for begin := time.Now(); !full && time.Since(begin) < wait.Timeout; {
		full = link.Send("a", "", msg) != nil
	}
	if !full {
		t.Error("takes all, and nobody reads it")
	}
	(<-held).Close()
	link.Close()
	for len(held) > 0 {
		(<-held).Close()
	}
}
