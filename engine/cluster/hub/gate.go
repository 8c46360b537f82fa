// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"encoding/base64"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

const (
	// maxConnections bounds the connections of a site: it has one for each process with its token.
	maxConnections = 16
	// maxClients bounds the connections of the server.
	maxClients = 4096
	// cutTime is how long a site is not admitted that sends without end. It doubles each time, up
	// to longestCut, until the site has kept to the rules for as long.
	cutTime    = time.Second
	longestCut = time.Minute
)

// gate admits clients to a server: the hub, and each site on a bounded number of connections.
type gate struct {
	now func() time.Time

	mu    sync.Mutex
	users map[string]*guest // by public key
}

// guest is a user of the server, with its connections if it is a site.
type guest struct {
	user
	conns []server.ClientAuthentication
	until time.Time     // it is cut off
	last  time.Duration // of the time that it is, or was
}

// take replaces the users, and returns the connections of sites that are none any more.
func (g *gate) take(all []user) (gone []uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := g.users
	g.users = map[string]*guest{}
	for _, u := range all {
		one := before[u.key]
		if one == nil {
			one = &guest{}
		}
		one.user = u
		g.users[u.key] = one
		delete(before, u.key)
	}
	for _, one := range before {
		gone = append(gone, one.ids()...)
	}
	return gone
}

// siteOf returns the site of a key, empty for none.
func (g *gate) siteOf(key string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if one := g.users[key]; one != nil {
		return one.site
	}
	return ""
}

// ids returns the server's numbers of the connections.
func (u *guest) ids() (ids []uint64) {
	for _, c := range u.conns {
		ids = append(ids, c.GetID())
	}
	return ids
}

// Check implements server.Authentication.
func (g *gate) Check(c server.ClientAuthentication) bool {
	if c.Kind() != server.CLIENT {
		return false
	}
	opts := c.GetOpts()
	g.mu.Lock()
	defer g.mu.Unlock()
	one := g.users[opts.Nkey]
	if one == nil || !one.room(g.now()) || !signed(c.GetNonce(), opts) {
		return false
	}
	if one.site != "" {
		one.conns = append(one.conns, c)
	}
	c.RegisterUser(&server.User{Username: opts.Nkey, Permissions: one.permissions()})
	return true
}

// signed reports whether a client has the seed of its key.
func signed(nonce []byte, opts *server.ClientOpts) bool {
	sig, err := base64.RawURLEncoding.DecodeString(opts.Sig)
	if err != nil {
		return false
	}
	key, err := nkeys.FromPublicKey(opts.Nkey)
	return err == nil && key.Verify(nonce, sig) == nil
}

// room reports whether one more connection is admitted.
func (u *guest) room(now time.Time) bool {
	u.conns = slices.DeleteFunc(u.conns, func(c server.ClientAuthentication) bool {
		return c.RemoteAddress() == nil // it is closed
	})
	return len(u.conns) < maxConnections && !now.Before(u.until)
}

// cut does not admit a site for a while. It returns its connections, and for how long.
func (g *gate) cut(site string) (ids []uint64, span time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	for _, u := range g.users {
		if u.site != site || site == "" || now.Before(u.until) {
			continue
		}
		if now.Sub(u.until) > 2*u.last {
			u.last = 0
		}
		u.last = min(max(cutTime, 2*u.last), longestCut)
		u.until, span = now.Add(u.last), u.last
		ids = u.ids()
	}
	return ids, span
}
