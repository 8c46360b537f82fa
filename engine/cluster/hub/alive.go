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
	// aliveTime bounds the time in which the server reports that a hub has no connection.
	aliveTime = 250 * time.Millisecond
	// silentMargin is the time after a hub has become silent until the others look.
	silentMargin = 10 * time.Millisecond
)

// aliveSubject is the subject that both connections of a hub subscribe to, as long as they
// live. Sites may not use it.
func (s *Settings) aliveSubject(id string) string {
	return fmt.Sprintf("fd.%s.%s.alive.%s", s.Namespace, s.Filter, id)
}

// subscribeAlive shows others that the hub lives.
func (h *Hub) subscribeAlive() error {
	_, err := h.conn.Subscribe(h.settings.aliveSubject(h.id), func(m *nats.Msg) {
		_ = m.Respond(nil) // without an answer the other hub waits
	})
	if err != nil {
		return err
	}
	_, err = h.sites.Subscribe(h.settings.aliveSubject(h.id), func(*nats.Msg) {})
	return err
}

// dropDead forgets hubs that have died. Such a hub was not heard of for half the time of a
// lease, so by its own clock it does not answer any more, and the server knows no connection
// of it. A hub with a connection keeps its slices until its lease ends, as it may only be
// busy.
func (h *Hub) dropDead(now time.Time) {
	silent, _ := h.layout.silent(now)
	var all sync.WaitGroup // side by side, as a stopped hub takes its time
	for _, id := range silent {
		all.Go(func() {
			if _, err := h.conn.Request(h.settings.aliveSubject(id), nil, aliveTime); errors.Is(err, nats.ErrNoResponders) {
				h.layout.forgetHub(id, now)
			}
		})
	}
	all.Wait()
}

// untilShare returns the time until leases are checked again: at the next renewal, or when
// another hub has become silent.
func (h *Hub) untilShare(now time.Time) time.Duration {
	_, next := h.layout.silent(now)
	return min(leaseEvery, next.Sub(now)+silentMargin)
}
