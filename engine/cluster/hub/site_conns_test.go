// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/engine/cluster/slice"
)

// TestSitesUnreadable takes the list of sites away: the hub serves the ones that it knows, and says
// what is wrong.
func TestSitesUnreadable(t *testing.T) {
	l := newLab(t, func(s *Settings) { s.Slices = 1 })
	a := l.sensor("a")
	sites := l.folder.at(sitesFolder)
	if err := os.Rename(sites, sites+".away"); err != nil {
		t.Fatal(err)
	}
	if err := l.hub.updateSites(); !errors.Is(err, ErrFolder) {
		t.Errorf("%v", err)
	}
	a.ask([]uint64{1}, []int64{time.Now().UnixNano()})
	if names := l.hub.layout.siteNames(); len(names) != 1 {
		t.Errorf("sites %q are announced", names)
	}
	if err := os.Rename(sites+".away", sites); err != nil {
		t.Fatal(err)
	}
	if err := l.hub.updateSites(); err != nil {
		t.Error(err)
	}
}

// TestMostSites gives tokens to as many sites as a hub serves, and to one more.
func TestMostSites(t *testing.T) {
	folder, settings, err := MakeFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := range slice.MaxSites - 1 {
		if err := os.WriteFile(folder.at(siteFile(fmt.Sprint(i))), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	join := func(site string, want error) {
		t.Helper()
		if _, err := folder.Join(settings, site); !errors.Is(err, want) {
			t.Errorf("site %s: %v, want %v", site, err, want)
		}
	}
	join("last", nil)
	join("more", ErrSites)
	join("last", nil)
	if err := folder.Remove("7"); err != nil {
		t.Fatal(err)
	}
	join("more", nil)
}

// TestTooManySites has more sites than a hub serves, as of another version: it serves the first
// ones, and takes another one when there is room.
func TestTooManySites(t *testing.T) {
	h := &Hub{owners: map[int]*owner{}, log: newTestLog(t), settings: defaults()}
	l := newLab(t, nil)
	h.siteConns = newSiteConns(h, nil)
	h.siteConns.open = func() (*nats.Conn, error) { return l.hub.sites, nil }
	var names []string
	for i := range slice.MaxSites + 5 {
		names = append(names, fmt.Sprintf("s%03d", i))
	}
	serves := func(want int, last string) {
		t.Helper()
		if n := len(*h.siteConns.bySite.Load()); n != want || h.siteConns.sites[last] == nil {
			t.Errorf("%d sites, want %d up to %s", n, want, last)
		}
	}
	for _, c := range []struct {
		names []string
		want  int
		last  string
	}{{names, slice.MaxSites, "s254"}, {names[5:], slice.MaxSites, "s259"}, {names[5:9], 4, "s008"}, {names[:9], 9, "s000"}} {
		if err := h.siteConns.set(c.names); err != nil {
			t.Fatal(err)
		}
		serves(c.want, c.last)
	}
	n := 0
	for _, one := range h.siteConns.all {
		n += one.sites
	}
	if n != 9 {
		t.Errorf("%d sites on the connections", n)
	}
}

// TestRefusedForAWhile has the server refuse the hub's keys several times, as one does while its users
// are replaced: the hub connects again once it may.
func TestRefusedForAWhile(t *testing.T) {
	l := newLab(t, func(s *Settings) { s.Slices = 2 })
	l.sensor("a")
	hub := l.another("other") // over TCP
	defer func() {
		if err := hub.Close(); err != nil {
			t.Error(err)
		}
	}()
	var tries atomic.Int64
	set := func(until time.Time) {
		auth := &l.server.auth
		auth.mu.Lock()
		defer auth.mu.Unlock()
		auth.now = func() time.Time {
			tries.Add(1)
			return time.Now()
		}
		for _, one := range auth.accounts {
			if one.site == "" {
				one.until = until
			}
		}
	}
	hub.siteConns.mu.Lock()
	conns := []*nats.Conn{hub.conn, hub.sites, hub.siteConns.all[0].conn}
	hub.siteConns.mu.Unlock()
	set(time.Now().Add(time.Hour))
	for _, conn := range conns {
		id, err := conn.GetClientID()
		if err != nil {
			t.Fatal(err)
		}
		l.server.disconnect([]uint64{id})
	}
	wait.Until(t, "refusals", func() bool { return tries.Load() >= int64(4*len(conns)) })
	set(time.Time{})
	wait.Until(t, "connections, and a lease", func() bool {
		ok := hub.mayAnswer(time.Now())
		for _, conn := range conns {
			ok = ok && conn.IsConnected()
		}
		return ok
	})
}

// TestOverloads has sites overload slices: as a hub that has stalled refuses all that has waited, and
// then what sensors go on sending, and as a flood.
func TestOverloads(t *testing.T) {
	settings := defaults()
	for _, slices := range []int{1, 64, 200} {
		settings.Slices = slices
		var honest, flood servedSite
		limit, now := settings.mostUnanswered(), time.Now()
		for range slices * mostWaiting {
			if honest.overloads(now, limit) {
				t.Fatalf("%d slices: banned for a stall of the hub", slices)
			}
		}
		rate := slices * maxConnections * 2 * 4 // four transmissions of two probes a second
		for range 10 * rate {
			if now = now.Add(time.Second / time.Duration(rate)); honest.overloads(now, limit) {
				t.Fatalf("%d slices: banned for probes of a slow hub", slices)
			}
		}
		begin, bans := now, 0
		for range 8 * limit {
			if now = now.Add(time.Second / time.Duration(2*limit)); flood.overloads(now, limit) {
				bans++
			}
		}
		if bans < 2 || bans > 4 {
			t.Errorf("%d slices: %d bans within %v of a flood", slices, bans, now.Sub(begin))
		}
	}
}

// TestManyOverloads has a site that has overloaded slices often do so once more, without filling a
// queue: it is banned.
func TestManyOverloads(t *testing.T) {
	l := newLab(t, func(s *Settings) { s.Slices = 1 })
	l.bans.Store(true)
	a, o := newAttacker(t, l), l.hub.all()[0]
	s := (*l.hub.siteConns.bySite.Load())["a"]
	s.mu.Lock()
	s.refused, s.last = minUnanswered, time.Now().Add(time.Hour) // which it may not send yet
	s.mu.Unlock()
	o.mu.Lock() // it takes nothing
	for range overloadAt + 2 {
		if err := a.conn.PublishRequest(a.mine[0], "_INBOX.a.run.0.7", a.bodies[5]); err != nil {
			t.Fatal(err)
		}
	}
	wait.Until(t, "the requests", func() bool {
		n, _, err := o.subs["a"].Pending()
		return err == nil && n > overloadAt
	})
	if bans := l.server.Bans(); len(bans) > 0 {
		t.Errorf("bans %v before a request is refused", bans)
	}
	o.mu.Unlock()
	wait.Until(t, "a ban", func() bool { return l.server.Bans()["a"].Count == 1 })
}

// TestDropped stalls a slice until it drops requests of a site, as it does those of honest sensors
// after some seconds: the site is not banned.
func TestDropped(t *testing.T) {
	l := newLab(t, func(s *Settings) { s.Slices = 1 })
	l.bans.Store(true)
	a, o := newAttacker(t, l), l.hub.all()[0]
	o.mu.Lock() // it takes nothing
	for range mostWaiting + 10 {
		if err := a.conn.PublishRequest(a.mine[0], "_INBOX.a.run.0.7", a.bodies[5]); err != nil {
			t.Fatal(err)
		}
	}
	wait.Until(t, "a warning that requests are dropped", func() bool {
		log := l.hub.siteConns.log
		log.mu.Lock()
		defer log.mu.Unlock()
		return len(log.logged) > 0
	})
	o.mu.Unlock()
	wait.Until(t, "an empty queue", func() bool {
		n, _, err := o.subs["a"].Pending()
		return err == nil && n == 0
	})
	if bans := l.server.Bans(); len(bans) > 0 {
		t.Errorf("bans %v", bans)
	}
}

// TestFlood has a site send more requests than a slice takes, again and again: the hub drops the
// rest, and warns once.
func TestFlood(t *testing.T) {
	l := newLab(t, func(s *Settings) { s.Slices = 1 })
	if err := l.hub.Close(); err != nil {
		t.Fatal(err)
	}
	log := &keptWarnings{}
	var err error
	if l.hub, err = Start(Config{Name: "hub", Folder: l.folder, Settings: l.settings, Log: log, Memory: 1 << 22, Limit: 1 << 26, Reload: l.server.Reload, Dial: l.server.Dial()}); err != nil {
		t.Fatal(err)
	}
	a, o, dropped := newAttacker(t, l), l.hub.all()[0], 0
	for round := range 4 {
		o.mu.Lock() // it takes nothing
		for range mostWaiting + 10 {
			if err := a.conn.PublishRequest(a.mine[0], "_INBOX.a.run.0.7", a.bodies[5]); err != nil {
				t.Fatal(err)
			}
		}
		before := dropped
		wait.Until(t, "messages to be dropped", func() bool {
			dropped, err = o.subs["a"].Dropped()
			return err == nil && dropped > before
		})
		o.mu.Unlock()
		wait.Until(t, "the rest to be taken", func() bool {
			waiting, _, err := o.subs["a"].Pending()
			return err == nil && waiting == 0
		})
		if n := len(log.all()); round > 0 && n != 1 {
			t.Errorf("%d warnings", n)
		}
	}
}
