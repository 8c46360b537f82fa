// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync"
	"time"

	"github.com/flowdedup/flowdedup/engine/cluster/hub"
)

const (
	// sampleEvery is the time between the points of charts, and mostSamples how many they
	// have: ten minutes.
	sampleEvery = 5 * time.Second
	mostSamples = 120
)

// history keeps the samples of the last minutes.
type history struct {
	mu   sync.Mutex
	past []sample // the oldest first
}

// sample has the values of all sites at a time.
type sample struct {
	at    time.Time
	sites map[string]siteSample
}

// siteSample has a site's values for charts.
type siteSample struct {
	digests   float64 // a second
	unchecked uint64  // in all
}

// follow takes samples until the context ends.
func (h *history) follow(ctx context.Context, status func() hub.Status) {
	ticker := time.NewTicker(sampleEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			h.add(now, status())
		}
	}
}

func (h *history) add(now time.Time, st hub.Status) {
	one := sample{now, map[string]siteSample{}}
	for i := range st.Sites {
		s := &st.Sites[i]
		one.sites[s.Site] = siteSample{s.DigestRate, s.Unchecked}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.past = append(h.past, one); len(h.past) > mostSamples {
		h.past = h.past[1:]
	}
}

// each gives f all samples, each with the sample before.
func (h *history) each(f func(before, now sample)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := 1; i < len(h.past); i++ {
		f(h.past[i-1], h.past[i])
	}
}
