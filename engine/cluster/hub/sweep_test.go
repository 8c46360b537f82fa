// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"fmt"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// TestBanOfCut has a site send more than a hub receives, until the server cuts the hub's connection:
// the site is banned once, and another site of the same connection is not.
func TestBanOfCut(t *testing.T) {
	l := newLab(t, func(s *Settings) { s.Slices = 1 })
	patient := *l.server.options
	patient.WriteDeadline = time.Hour // the server cuts no connection for a slow test
	if err := l.server.server.ReloadOptions(&patient); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the hub to connect again", func() bool { return l.hub.conn.Stats().Reconnects > 0 && l.hub.mayAnswer(time.Now()) })
	a, err := l.member("a")
	if err != nil {
		t.Fatal(err)
	}
	l.sensor("b").ask([]uint64{1}, []int64{time.Now().UnixNano()})
	seed, err := l.folder.hubSeed()
	if err != nil {
		t.Fatal(err)
	}
	if seed, err = answersSeed(seed); err != nil {
		t.Fatal(err)
	}
	hub, rest := rawConn(t, hubclient.Token{URL: l.server.URL(), Seed: string(seed)})
	subject := func(site string) string {
		return fmt.Sprintf("fd.%s.%s.9.none.0.%s", l.settings.Namespace, l.settings.Filter, site)
	}
	if _, err := fmt.Fprintf(hub, "SUB %s 1\r\nSUB %s 2\r\nPING\r\n", subject("b"), subject("a")); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the answers to both pings; then it reads no more
		if _, err := rest.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	if n := l.server.server.NumSlowConsumersClients(); n != 0 {
		t.Fatalf("%d connections were cut before", n)
	}
	const megabytes = 200 // of which the kernel takes some
	for range megabytes {
		if a.Publish(subject("a"), make([]byte, 1<<20)) != nil {
			break // it is banned
		}
	}
	wait.Until(t, "a ban", func() bool { return len(l.server.Bans()) > 0 })
	l.server.sweep()
	if bans := l.server.Bans(); len(bans) != 1 || bans["a"].Count != 1 {
		t.Errorf("bans %v", bans)
	}
}
