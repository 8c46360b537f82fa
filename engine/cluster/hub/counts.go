// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"encoding/hex"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/cluster/counts"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// shownWindows is how many windows of counts a status has.
const shownWindows = 24

// CountsFolder returns the folder of the counts that sites send.
func (f *Folder) CountsFolder() string { return f.at("counts") }

// countsKey returns an identifier of the hub's key, for files of counts.
func (s *Settings) countsKey() string {
	key := engine.Secret(s.Key).AESKey(engine.UseCounts)
	return hex.EncodeToString(key[:8])
}

// openCounts begins to take counts if this hub has the keys of sites: one of several
// does.
func (h *Hub) openCounts(f *Folder, limit int64) error {
	if h.settings.Joined || limit == 0 {
		return nil
	}
	store, err := counts.Open(counts.Config{Folder: f.CountsFolder(), Limit: limit, Key: h.settings.countsKey(), Log: h.log})
	if err != nil {
		return err
	}
	h.counts = store
	return nil
}

// takeCounts takes a piece of a file of counts of a site.
func (h *Hub) takeCounts(site string, m *nats.Msg) {
	if !hubclient.InInbox(site, m.Reply) {
		h.noteBad(site, badReply)
		return
	}
	answer := h.counts.Take(site, m.Data, time.Now())
	if answer == nil {
		h.noteBad(site, badBody)
		return
	}
	h.siteConns.publish(site, m.Reply, answer)
}

// CountsStatus describes the distinct counts of all sites.
type CountsStatus struct {
	counts.Totals
	Rows []counts.Row `json:"rows"` // of the latest windows, the oldest first
}

// countsStatus describes the counts, nil where another hub has them.
func (h *Hub) countsStatus() *CountsStatus {
	if h.counts == nil {
		return nil
	}
	names, _ := h.folder.siteNames() // without a list none is missing
	return &CountsStatus{h.counts.Totals(), h.counts.Rows(shownWindows, names)}
}
