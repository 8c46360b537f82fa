// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"math/bits"
	"sync"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/capture/mark"
	"github.com/flowdedup/flowdedup/engine/remote"
)

// HubDelay is how long the answers of a hub took at most, of half of them and of 99 %.
type HubDelay struct {
	P50 time.Duration `json:"p50_ns"`
	P99 time.Duration `json:"p99_ns"`
}

// HubCounts are what a hub said.
type HubCounts struct {
	Copies     uint64   `json:",omitempty"`
	Unchecked  uint64   `json:",omitempty"`
	Bytes      uint64   `json:",omitempty"` // captured bytes of the copies
	ByProtocol []uint64 `json:",omitempty"`
}

// hub is what packets wait in for the answers of a hub. It counts them when they leave,
// while later packets are judged.
type hub struct {
	*dedup.Remote
	client  *remote.Client
	before  HubCounts // of runs that this one continues
	removed func(b *capture.Batch, copies []uint64)

	mu         sync.Mutex
	copies     uint64
	bytes      uint64
	byProtocol [flow.ProtocolCount]uint64
}

// newHub makes a hub. marker is nil if copies are removed.
func newHub(client *remote.Client, saved *SavedStats, marker *mark.Marker) *hub {
	h := &hub{client: client, before: saved.Hub}
	cfg := dedup.RemoteConfig{Client: client, Removed: h.count}
	if marker != nil {
		cfg.Mark = marker.MarkWith
	}
	h.Remote = dedup.NewRemote(cfg)
	h.copies, h.bytes = h.before.Copies, h.before.Bytes
	copy(h.byProtocol[:], h.before.ByProtocol)
	return h
}

// count counts the copies of a batch.
func (h *hub) count(b *capture.Batch, copies []uint64, protocols []flow.Protocol) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w, word := range copies {
		for ; word != 0; word &= word - 1 {
			i := w*64 + bits.TrailingZeros64(word)
			h.copies++
			h.bytes += uint64(b.Frames[i].CapLen)
			h.byProtocol[protocols[i]]++
		}
	}
	if h.removed != nil {
		h.removed(b, copies)
	}
}

// saved returns the counts for a run that continues this one.
func (h *hub) saved() HubCounts {
	if h == nil {
		return HubCounts{}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return HubCounts{
		Copies: h.copies, Unchecked: h.before.Unchecked + h.client.Stats().Unchecked, Bytes: h.bytes,
		ByProtocol: append([]uint64(nil), h.byProtocol[:]...),
	}
}

// summarize adds the counts to a summary.
func (h *hub) summarize(s *Summary) {
	if h == nil {
		return
	}
	counts, stats := h.saved(), h.client.Stats()
	s.HubCopies, s.Unchecked = &counts.Copies, &counts.Unchecked
	s.HubDelay = &HubDelay{P50: stats.DelayP50, P99: stats.DelayP99}
	s.Duplicates += counts.Copies
	s.PacketsOut -= counts.Copies
	s.BytesOut -= counts.Bytes
	for p, n := range counts.ByProtocol {
		if n > 0 {
			s.DuplicatesByProtocol[flow.Protocol(p).String()] += n
		}
	}
}
