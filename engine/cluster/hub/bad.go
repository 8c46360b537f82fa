// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"fmt"
	"sync"
	"time"

	"github.com/flowdedup/flowdedup/engine/cluster/slice"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// badEvery is the time between two warnings of bad requests of a site.
const badEvery = time.Minute

// badRequests counts requests that no sensor of flowdedup sends. The log names a site at
// its first bad request, and then once a minute.
type badRequests struct {
	mu   sync.Mutex
	site map[string]badSite
}

type badSite struct {
	count  uint64
	warned uint64 // count at the last warning
	at     time.Time
}

// note counts a bad request of the site. The result is a warning, or "".
func (b *badRequests) note(site, what string, now time.Time) (warning string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	one, known := b.site[site]
	if !known && (len(b.site) == slice.MaxSites || !hubclient.ValidName(site)) {
		return ""
	}
	one.count++
	if one.warned == 0 {
		warning = fmt.Sprintf("site %s sends bad requests: %s", site, what)
	} else if now.Sub(one.at) >= badEvery {
		warning = fmt.Sprintf("site %s sent %d more bad requests, the last: %s", site, one.count-one.warned, what)
	}
	if warning != "" {
		one.warned, one.at = one.count, now
	}
	if b.site == nil {
		b.site = map[string]badSite{}
	}
	b.site[site] = one
	return warning
}

// all returns the number of bad requests by site.
func (b *badRequests) all() map[string]uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	counts := map[string]uint64{}
	for site, one := range b.site {
		counts[site] = one.count
	}
	return counts
}

// noteBad counts a bad request of a site, and warns of it.
func (h *Hub) noteBad(site, what string) {
	if warning := h.bad.note(site, what, time.Now()); warning != "" && h.log != nil {
		h.log.Warn(warning)
	}
}

// The ways in which requests are bad.
const (
	badReply  = "a reply to a subject that is not its own inbox"
	badBody   = "a message that cannot be read"
	badTime   = "a time that no packet has"
	badDigest = "digests that are not of the hub's key"
	// badSubject is what the server denies.
	badSubject = "subjects that are not its own"
)
