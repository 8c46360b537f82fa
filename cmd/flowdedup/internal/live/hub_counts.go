// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/count"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
	"github.com/flowdedup/flowdedup/engine/distinct/countfile"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

const (
	// countsEvery is how often a site looks for new files of counts, and sends again files
	// that did not arrive.
	countsEvery = 5 * time.Second
	// countsTime is how long the hub may take for a piece.
	countsTime = 5 * time.Second
	// countsAge is how old files are that the hub may still lack.
	countsAge = 7 * 24 * time.Hour
	// lastCounts is how long the files of the end of a run may take.
	lastCounts = 5 * time.Second
)

// countsSender brings the files of a folder to the hub, while a run makes them.
type countsSender struct {
	hub    *dedup.HubLink
	dir    string
	token  hubclient.Token
	warn   func(error)
	warned bool            // that the hub takes none now
	done   map[string]bool // files that the hub has, or refuses

	cancel context.CancelFunc
	ended  chan struct{}
}

// sendCounts begins to send. It returns nil without a hub or a folder.
func sendCounts(h *dedup.HubLink, token hubclient.Token, dir string, warn func(error)) *countsSender {
	if h == nil || dir == "" {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &countsSender{hub: h, dir: dir, token: token, warn: warn, done: map[string]bool{}, cancel: cancel, ended: make(chan struct{})}
	go s.work(ctx)
	return s
}

func (s *countsSender) work(ctx context.Context) {
	defer close(s.ended)
	ticker := time.NewTicker(countsEvery)
	defer ticker.Stop()
	for {
		s.sendAll(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// finish sends the files that the end of the run has made, for lastCounts at most.
func (s *countsSender) finish() {
	if s == nil {
		return
	}
	s.cancel()
	<-s.ended
	ctx, cancel := context.WithTimeout(context.Background(), lastCounts)
	defer cancel()
	s.warned = true // a single warning says all
	s.sendAll(ctx)
	if names, err := s.waiting(); err == nil && len(names) > 0 {
		s.warn(fmt.Errorf("hub: it lacks %d files of counts in %s: the next run that saves there sends them", len(names), s.dir))
	}
}

// waiting returns the files that the hub may lack.
func (s *countsSender) waiting() (names []string, err error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, s.token.Site+"-") || !strings.HasSuffix(name, count.SavedEnding) {
			continue
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) > countsAge {
			continue
		}
		if there[name] = s.done[name]; !s.done[name] {
			names = append(names, name)
		}
	}
	s.done = there // so that it does not grow
	return names, nil
}

// sendAll sends files that the hub may lack. It warns once of a failure.
func (s *countsSender) sendAll(ctx context.Context) {
	names, err := s.waiting()
	for _, name := range names {
		if err != nil {
			break
		}
		switch err = s.send(ctx, name); {
		case err == nil:
			s.warned, s.done[name] = false, true
		case errors.Is(err, hubclient.ErrCounts), errors.Is(err, countfile.ErrInvalid):
			s.warn(fmt.Errorf("hub: %s: %w", name, err))
			s.done[name], err = true, nil
		}
	}
	if err != nil && !s.warned && ctx.Err() == nil {
		s.warned = true
		s.warn(fmt.Errorf("hub: counts do not arrive (%w): they stay in %s, and are sent later", err, s.dir))
	}
}

// send sends a file.
func (s *countsSender) send(ctx context.Context, name string) error {
	from, err := os.Open(filepath.Join(s.dir, name))
	if err != nil {
		return err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return err
	}
	f, err := countfile.Open(name, from, info.Size())
	if err != nil {
		return err
	}
	if f.Sensor != s.token.Site {
		return nil // of a different run that saves here
	}
	if len(f.Windows) != 1 {
		return fmt.Errorf("%w: it has %d windows, want 1", hubclient.ErrCounts, len(f.Windows))
	}
	t := &s.token
	to := hubclient.Subject{Namespace: t.Namespace, Filter: t.Filter, Epoch: t.Epoch, Site: t.Site}.Counts()
	return hubclient.SendCounts(ctx, from, info.Size(), f.Windows[0].Start, func(msg []byte) ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, countsTime)
		defer cancel()
		return s.hub.Request(ctx, to, msg)
	})
}
