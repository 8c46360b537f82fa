// SPDX-License-Identifier: Apache-2.0

package counts

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A full store has files of many sites. A site that sends more than its share, the limit
// divided by the number of sites, evicts only its own files. Else the oldest windows go,
// with the files of all sites.

// share returns how many bytes each site is guaranteed, the given one included.
func (s *Store) share(site string) int64 {
	sites := map[string]bool{site: true}
	for _, w := range s.windows {
		for _, f := range w.files {
			sites[f.site] = true
		}
	}
	return s.cfg.Limit / int64(len(sites))
}

// roomFor refuses a file that no eviction can make room for, and removes nothing.
func (s *Store) roomFor(site string, size, start int64) error {
	share := s.share(site)
	if size > share {
		return refusal("a file of %d bytes is above the site's share of %d: give the hub more --counts", size, share)
	}
	own, newer, newerOwn := int64(0), int64(0), int64(0)
	for _, w := range s.windows {
		for _, f := range w.files {
			if f.site == site {
				own += f.bytes
			}
			if w.start >= start {
				newer += f.bytes
				if f.site == site {
					newerOwn += f.bytes
				}
			}
		}
	}
	switch {
	case s.bytes <= s.cfg.Limit-size:
		return nil
	case own > share-size && newerOwn > share-size, own <= share-size && newer > s.cfg.Limit-size:
		return refusal("the hub keeps newer windows, and has no room for this: give it more --counts")
	}
	return nil
}

// makeRoom makes room for a file that is complete.
func (s *Store) makeRoom(site string, size, start int64) error {
	if err := s.roomFor(site, size, start); err != nil {
		return err
	}
	own := int64(0)
	for _, w := range s.windows {
		for _, f := range w.files {
			if f.site == site {
				own += f.bytes
			}
		}
	}
	share := s.share(site)
	for _, w := range s.windows {
		for i := 0; i < len(w.files) && w.start < start && s.bytes > s.cfg.Limit-size && own > share-size; {
			f := w.files[i]
			if f.site != site {
				i++
				continue
			}
			if err := s.evictFile(w, i); err != nil {
				return err
			}
			own -= f.bytes
		}
	}
	return s.evictWindows(size, start)
}

// evictFile removes a file of a window. The union stays: it was made with the file.
func (s *Store) evictFile(w *window, i int) error {
	f := w.files[i]
	if err := os.Remove(s.path(w, f.name)); err != nil {
		return err
	}
	w.files = append(w.files[:i:i], w.files[i+1:]...)
	w.bytes -= f.bytes
	s.bytes -= f.bytes
	s.noteEvicted(1)
	if !w.changed.IsZero() {
		return nil
	}
	s.saveUnion(w)
	return nil
}

// evictWindows removes the oldest windows until there is room for more bytes, but none that
// begins at before or later. It removes further windows if there are too many.
func (s *Store) evictWindows(more, before int64) error {
	for len(s.windows) > 0 && s.windows[0].start < before && s.bytes > s.cfg.Limit-more {
		if err := s.evictWindow(0); err != nil {
			return err
		}
	}
	for len(s.windows) > s.cfg.Windows {
		if err := s.evictWindow(s.surplus()); err != nil {
			return err
		}
	}
	return nil
}

// surplus returns the number of the window that goes if there are too many: the oldest without
// files, or the oldest that nobody has but the site with the most windows, or the oldest. So
// a site that sends windows without end loses its own.
func (s *Store) surplus() int {
	windows, most := map[string]int{}, ""
	for i, w := range s.windows {
		if len(w.files) == 0 {
			return i
		}
		of := map[string]bool{}
		for _, f := range w.files {
			of[f.site] = true
		}
		for site := range of {
			windows[site]++
		}
	}
	for site, n := range windows {
		if n > windows[most] || n == windows[most] && site < most {
			most = site
		}
	}
	only := func(w *window) bool {
		return !slices.ContainsFunc(w.files, func(f file) bool { return f.site != most })
	}
	return max(0, slices.IndexFunc(s.windows, only))
}

// evictWindow removes a window.
func (s *Store) evictWindow(i int) error {
	w := s.windows[i]
	if err := os.RemoveAll(filepath.Join(s.cfg.Folder, w.folder)); err != nil {
		return err
	}
	s.bytes -= w.bytes
	s.windows = slices.Delete(s.windows, i, i+1)
	s.noteEvicted(len(w.files))
	return nil
}

// evictions counts files that made room for others.
type evictions struct {
	files  uint64
	warned uint64 // files at the last warning
	at     time.Time
}

// noteEvicted counts files, and warns once a minute.
func (s *Store) noteEvicted(files int) {
	e := &s.evicted
	e.files += uint64(files)
	if now := time.Now(); e.files > e.warned && now.Sub(e.at) >= time.Minute {
		s.cfg.Log.Warn(fmt.Sprintf("counts: %d files of old windows were removed for new ones: --counts is full", e.files-e.warned))
		e.warned, e.at = e.files, now
	}
}
