// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// aliveTime is how long the server may take to say that a hub has no connection.
	aliveTime = 250 * time.Millisecond
	// silentMargin is how long after a hub has become silent the others look.
	silentMargin = 10 * time.Millisecond
)

// aliveSubject is what a hub listens to by both of its connections, as long as they live. Sites may
// not use it.
func (s *Settings) aliveSubject(id string) string {
	return fmt.Sprintf("fd.%s.%s.alive.%s", s.Namespace, s.Filter, id)
}

// subscribeAlive shows others that the hub lives.
func (h *Hub) subscribeAlive() error {
	_, err := h.conn.Subscribe(h.settings.aliveSubject(h.id), func(m *nats.Msg) {
		_ = m.Respond(nil) // else the other one waits
	})
	if err != nil {
		return err
	}
	_, err = h.sites.Subscribe(h.settings.aliveSubject(h.id), func(*nats.Msg) {})
	return err
}

// dropDead forgets hubs that have died: they do not answer any more by their own clocks, as for half
// the time of a lease none was heard of them, and the server knows no connection of them. One that
// has a connection keeps its slices until its lease ends, as it may be busy only.
func (h *Hub) dropDead(now time.Time) {
	silent, _ := h.layout.silent(now)
	var all sync.WaitGroup // as one that was stopped takes its time
	for _, id := range silent {
		all.Go(func() {
			if _, err := h.conn.Request(h.settings.aliveSubject(id), nil, aliveTime); errors.Is(err, nats.ErrNoResponders) {
				h.layout.forgetHub(id, now)
			}
		})
	}
	all.Wait()
}

// untilShare returns how long to wait before leases are looked at again: until the next renewal, or
// until another hub has become silent.
func (h *Hub) untilShare(now time.Time) time.Duration {
	_, next := h.layout.silent(now)
	return min(leaseEvery, next.Sub(now)+silentMargin)
}
