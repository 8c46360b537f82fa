// SPDX-License-Identifier: Apache-2.0

package natslink

import (
	"errors"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// TestClosedForGood has a server end connections so that NATS makes no other. The Link makes one, says
// why once, and carries messages as soon as it may.
func TestClosedForGood(t *testing.T) {
	for _, text := range []string{"maximum control line exceeded", "Maximum Payload Violation", "Parser Error", "anything"} {
		s := newServer(t, "127.0.0.1:0")
		warnings := make(chan error, 100)
		link, unreached, err := Dial(hubclient.Token{URL: "nats://" + s.listener.Addr().String(), Site: "paris"}, func(err error) { warnings <- err })
		if err = errors.Join(err, unreached); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(link.Close)
		all := make(chan got, 10000)
		if err := link.Listen("_INBOX.paris.>", func(subject string, msg []byte, refused bool) { all <- got{subject, string(msg), refused} }); err != nil {
			t.Fatal(err)
		}
		s.setEnding(text)
		for range 3 {
			first := link.conn.Load()
			wait.Until(t, "another connection", func() bool {
				_ = link.Send("a", "_INBOX.paris.1", []byte("x"))
				time.Sleep(time.Millisecond)
				return link.conn.Load() != first
			})
		}
		s.setEnding("")
		var g got
		wait.Until(t, "an answer", func() bool {
			_ = link.Send("a", "_INBOX.paris.2", []byte("y"))
			select {
			case g = <-all:
				return g.body == "y"
			case <-time.After(10 * time.Millisecond):
				return false
			}
		})
		if len(warnings) > 1 {
			t.Errorf("%s: %d warnings", text, len(warnings))
		}
	}
}

// TestDeniedSubscription has a server that denies subscriptions for a while. The Link subscribes when
// it may.
func TestDeniedSubscription(t *testing.T) {
	s := newServer(t, "127.0.0.1:0")
	s.denies.Store(true)
	link, all, _ := dial(t, s.listener.Addr().String())
	wait.Until(t, "a denial", link.Denied)
	s.denies.Store(false)
	wait.Until(t, "an answer", func() bool {
		_ = link.Send("a", "_INBOX.paris.1", []byte("x"))
		select {
		case <-all:
			return true
		case <-time.After(10 * time.Millisecond):
			return false
		}
	})
}

func (s *server) setEnding(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end = text
}
