// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// The subjects that only the hub's own key may use.
func statusSubject(s *Settings) string { return "fdctl." + s.Namespace + "." + s.Filter + ".status" }
func reloadSubject(s *Settings) string { return "fdctl." + s.Namespace + "." + s.Filter + ".reload" }

// subscribeControl subscribes to the requests of the hub's other programs.
func (h *Hub) subscribeControl() error {
	_, err := h.conn.Subscribe(statusSubject(&h.settings), func(m *nats.Msg) {
		text, err := json.Marshal(h.part())
		if err == nil {
			err = m.Respond(text)
		}
		if err != nil {
			h.log.Warn("status: " + err.Error())
		}
	})
	if err != nil || h.settings.Joined { // keys are with the first hub, whose answer counts
		return err
	}
	_, err = h.conn.Subscribe(reloadSubject(&h.settings), func(m *nats.Msg) {
		answer := "ok"
		if err := h.Reload(); err != nil {
			answer = err.Error()
			h.log.Warn("keys: " + answer)
		}
		if err := m.Respond([]byte(answer)); err != nil {
			h.log.Warn("keys: " + err.Error())
		}
	})
	return err
}

// Admin is a connection for administering hubs.
type Admin struct {
	conn     *nats.Conn
	settings Settings
}

// controlTime is how long hubs may take to answer.
const controlTime = 2 * time.Second

// Dial connects to the hubs of a folder.
func Dial(f *Folder, s Settings, log Logger) (*Admin, error) {
	seed, err := f.hubSeed()
	if err != nil {
		return nil, err
	}
	conn, err := connect(s.localURL(), "flowdedup-hub admin", seed, log, nats.MaxReconnects(0), nats.CustomInboxPrefix(controlInbox), s.trust())
	if err != nil {
		return nil, err
	}
	return &Admin{conn: conn, settings: s}, nil
}

// Close ends the connection.
func (a *Admin) Close() { a.conn.Close() }

// Reload has the embedded server take the keys of its folder. Where there is none it does
// nothing.
func (a *Admin) Reload() error {
	m, err := a.conn.Request(reloadSubject(&a.settings), nil, controlTime)
	if errors.Is(err, nats.ErrNoResponders) {
		return nil
	}
	if err != nil {
		return err
	}
	if text := string(m.Data); text != "ok" {
		return fmt.Errorf("%w: %s", ErrServer, text)
	}
	return nil
}

// Status asks all hubs. It waits until all slices are described, or for two seconds.
func (a *Admin) Status() (Status, error) {
	inbox := a.conn.NewInbox()
	sub, err := a.conn.SubscribeSync(inbox)
	if err != nil {
		return Status{}, err
	}
	if err := a.conn.PublishRequest(statusSubject(&a.settings), inbox, nil); err != nil {
		return Status{}, err
	}
	var parts []part
	for end, seen := time.Now().Add(controlTime), 0; seen < a.settings.Slices; {
		m, err := sub.NextMsg(time.Until(end))
		if err != nil {
			break // the answers that came are shown
		}
		var p part
		if err := json.Unmarshal(m.Data, &p); err != nil {
			return Status{}, fmt.Errorf("%w: a hub of another version", ErrServer)
		}
		parts = append(parts, p)
		seen += len(p.Slices)
	}
	if len(parts) == 0 {
		return Status{}, fmt.Errorf("%w: no hub answers", ErrServer)
	}
	return merge(a.settings, parts), sub.Unsubscribe()
}
