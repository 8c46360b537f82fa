// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net"
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
	// shortestBan is how long the first ban of a site lasts. Each further ban takes twice as long, up
	// to longestBan, until the site has kept to the rules for twice the last ban.
	shortestBan = time.Second
	longestBan  = time.Minute
)

// authenticator lets clients use a server: the hub, and each site on a bounded number of
// connections.
type authenticator struct {
	now func() time.Time
	log *serverLog // of clients that are refused

	mu       sync.Mutex
	accounts map[string]*account // by public key
	clients  map[uint64]*account // with conns, by the server's numbers of these
}

// account is a user of the server, with its connections and bans if it is a site.
type account struct {
	user
	conns []server.ClientAuthentication
	bans  uint64
	until time.Time     // end of the last ban
	last  time.Duration // of the last ban
}

// Ban describes the bans of a site, since the server has started.
type Ban struct {
	Count uint64    `json:"count"`
	Until time.Time `json:"until"` // end of the last ban
}

// setUsers replaces the users, and returns the connections of sites that are no users any more, or
// have another name.
func (a *authenticator) setUsers(all []user) (gone []uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.accounts
	a.accounts, a.clients = map[string]*account{}, map[uint64]*account{}
	for _, u := range all {
		one := before[u.key]
		if one == nil || one.site != u.site {
			one = &account{}
		} else {
			delete(before, u.key)
		}
		one.user = u
		a.accounts[u.key] = one
		for _, id := range one.ids() {
			a.clients[id] = one
		}
	}
	for _, one := range before {
		gone = append(gone, one.ids()...)
	}
	return gone
}

// siteOf returns the site with a connection, by its number at the server, empty for none.
func (a *authenticator) siteOf(id uint64) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if one := a.clients[id]; one != nil {
		return one.site
	}
	return ""
}

// ids returns the server's numbers of the connections.
func (u *account) ids() (ids []uint64) {
	for _, c := range u.conns {
		ids = append(ids, c.GetID())
	}
	return ids
}

// Check implements server.Authentication.
func (a *authenticator) Check(c server.ClientAuthentication) bool {
	if c.Kind() != server.CLIENT {
		return false
	}
	site, err := a.admit(c)
	switch {
	case errors.Is(err, errBanned):
		refuse(c)
	case errors.Is(err, errFull):
		a.log.say(fmt.Sprintf("site %s: %v, and another one at %s is refused", site, err, host(c)))
		c.RegisterUser(&server.User{Account: server.NewAccount(site)}) // see errFull
	case err != nil:
		name := []rune(c.GetOpts().Name)
		a.log.say(fmt.Sprintf("a client at %s named %q is refused: %v", host(c), string(name[:min(len(name), maxClientName)]), err))
	}
	return err == nil
}

// host returns the host of a client.
func host(c server.ClientAuthentication) string {
	address := c.RemoteAddress()
	if address == nil {
		return "?" // it has gone
	}
	name, _, err := net.SplitHostPort(address.String())
	if err != nil {
		return address.String()
	}
	return name
}

// maxClientName bounds the name of a client in the log, in characters.
const maxClientName = 64

// Why clients are not admitted. A server sends "Authorization Violation" for all reasons. But it sends
// "Failed Account Registration" earlier to a client whose account it does not know: sites with too many
// connections get such an account.
var (
	errUnknown = errors.New("its token is not valid, or not any more")
	errBanned  = errors.New("it is banned")
	errFull    = fmt.Errorf("%d processes use its token", maxConnections)
)

// admit registers a client as the user whose key it has, and returns its site, empty for a hub.
func (a *authenticator) admit(c server.ClientAuthentication) (site string, err error) {
	opts := c.GetOpts()
	a.mu.Lock()
	defer a.mu.Unlock()
	one := a.accounts[opts.Nkey]
	switch {
	case one == nil || !signed(c.GetNonce(), opts):
		return "", errUnknown
	case a.now().Before(one.until):
		return one.site, errBanned
	case !a.mayConnect(one):
		return one.site, errFull
	}
	if one.site != "" {
		one.conns = append(one.conns, c)
		a.clients[c.GetID()] = one
	}
	c.RegisterUser(&server.User{Username: opts.Nkey, Permissions: one.permissions()})
	return one.site, nil
}

// refuse ends the connection of a banned site. The site has to tell a ban from a token that is not valid
// any more. So it is registered as a user whose time is over: the server then sends "User Authentication
// Expired".
func refuse(c server.ClientAuthentication) {
	c.RegisterUser(&server.User{ConnectionDeadline: time.Now()})
	// The server closes it in a goroutine of its own.
	for end := time.Now().Add(time.Second); c.RemoteAddress() != nil && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
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

// mayConnect reports whether a user may have one more connection.
func (a *authenticator) mayConnect(u *account) bool {
	u.conns = slices.DeleteFunc(u.conns, func(c server.ClientAuthentication) bool {
		closed := c.RemoteAddress() == nil
		if closed {
			delete(a.clients, c.GetID())
		}
		return closed
	})
	return len(u.conns) < maxConnections
}

// ban refuses connections of a site for a while. It returns the site's connections and the length
// of the ban, which is 0 if an earlier ban still lasts.
func (a *authenticator) ban(site string) (ids []uint64, span time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	for _, u := range a.accounts {
		if u.site != site || site == "" || now.Before(u.until) {
			continue
		}
		if now.Sub(u.until) > 2*u.last {
			u.last = 0
		}
		u.last = min(max(shortestBan, 2*u.last), longestBan)
		u.until, span = now.Add(u.last), u.last
		u.bans++
		ids = append(ids, u.ids()...)
	}
	return ids, span
}

// bans returns the bans of sites that had any, by their names.
func (a *authenticator) bans() map[string]Ban {
	a.mu.Lock()
	defer a.mu.Unlock()
	bans := map[string]Ban{}
	for _, u := range a.accounts {
		if u.bans > 0 {
			bans[u.site] = Ban{u.bans, u.until}
		}
	}
	return bans
}
