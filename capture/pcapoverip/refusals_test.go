// SPDX-License-Identifier: Apache-2.0

package pcapoverip

import (
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/capture"
)

// TestRefusalsAreFewLines warns of a flood once a minute.
func TestRefusalsAreFewLines(t *testing.T) {
	var r refusals
	var said []int
	now := time.Unix(1_700_000_000, 0)
	for i := range 10_000 {
		r.say(now.Add(time.Duration(i)*10*time.Millisecond), func(more int) { said = append(said, more) })
	}
	if want := []int{0, 5999}; !slices.Equal(said, want) {
		t.Errorf("%v, want %v", said, want)
	}
}

// TestPeerOfManyInterfaces has a peer describe more and more interfaces in captures of its
// own. It is refused, counted, and others are still read.
func TestPeerOfManyInterfaces(t *testing.T) {
	noGoroutines(t)
	var w warned
	r, a := receiving(t, "tcp-listen://:0", ReceiverConfig{Warn: w.warn, Endless: true})
	all := reading(a)
	send := func(interfaces, packets int) {
		var b capture.Batch
		for i := range interfaces {
			b.AppendInterface(capture.Interface{Name: fmt.Sprint(interfaces, "-", i), LinkType: capture.LinkEthernet})
		}
		for range packets {
			b.Append(capture.Frame{Time: 1}, []byte{1})
		}
		c := connect(t, r.listener.Addr())
		_, _ = c.Write(b.Buf) // it may be refused meanwhile
		_ = c.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, c)
	}
	send(1000, 3)
	wait.Until(t, "the first stream", func() bool { return all.n.Load() == 3 })
	send(60_000, 3)
	w.await(t, "more than 1024 sections or interfaces of one peer")
	wait.Until(t, "its end", func() bool { s := r.Stats(); return s.PeersDropped == 1 && s.Connected == 0 })
	send(10, 5)
	wait.Until(t, "another stream", func() bool { return all.n.Load() == 8 })
	a.Stop()
	if n, err := all.all(); n != 8 || err != nil {
		t.Errorf("%d packets, %v", n, err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}
