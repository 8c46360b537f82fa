// SPDX-License-Identifier: Apache-2.0

package counts

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/flowdedup/flowdedup/engine/distinct/countfile"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// longest bounds the length of a window: all of it has to have the same settings.
const longest = 366 * 24 * time.Hour

// ahead bounds how much later than the hub's clock a window may begin.
const ahead = 24 * time.Hour

// upload is the only upload of a site.
type upload struct {
	id    [sha256.Size]byte
	size  int64
	start int64
	next  int64
	at    time.Time // of the last piece
	sum   hash.Hash
	to    *os.File
}

// Take takes a message of a site, and returns the answer, or nil for an unreadable
// message.
func (s *Store) Take(site string, msg []byte, now time.Time) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	var p hubclient.CountsPart
	if err := p.Decode(msg); errors.Is(err, hubclient.ErrVersion) {
		s.refused++
		return hubclient.CountsReply{Refused: "the hub is of another version"}.Encode()
	} else if err != nil {
		s.refused++
		return nil
	}
	s.expire(time.Now())
	next, err := s.take(site, &p, now)
	reply := hubclient.CountsReply{Next: next}
	if err != nil {
		s.refused++
		_, reason, _ := strings.Cut(err.Error(), ": ")
		if !errors.Is(err, errRefused) {
			s.warnOften(fmt.Sprintf("counts of %s: %v", site, err))
			reason, reply.Later = "it cannot store them", true
		}
		reply.Refused = reason
		if err := s.drop(site); err != nil {
			s.cfg.Log.Warn(fmt.Sprintf("counts of %s: %v", site, err))
		}
	}
	return reply.Encode()
}

// take takes a piece, and returns the offset of the next.
func (s *Store) take(site string, p *hubclient.CountsPart, now time.Time) (next int64, err error) {
	u := s.uploads[site]
	if u == nil || u.id != p.ID || u.size != p.Size || u.start != p.Start {
		if s.has(site, p) {
			return p.Size, nil
		}
		if u, err = s.begin(site, p, now); err != nil {
			return 0, err
		}
	}
	if p.Offset != u.next || len(p.Data) == 0 && u.size > 0 {
		return u.next, nil // the hub has this piece, or lacks an earlier piece
	}
	if _, err := u.to.Write(p.Data); err != nil {
		return 0, err
	}
	u.sum.Write(p.Data)
	u.at = time.Now()
	if u.next += int64(len(p.Data)); u.next < u.size {
		return u.next, nil
	}
	if [sha256.Size]byte(u.sum.Sum(nil)) != u.id {
		return 0, refusal("the file has changed on its way")
	}
	return u.size, s.complete(site, u)
}

// has reports whether a file is there.
func (s *Store) has(site string, p *hubclient.CountsPart) bool {
	name := nameOf(site, p.ID)
	for _, w := range s.windows {
		if w.start != p.Start {
			continue
		}
		for _, f := range w.files {
			if f.name == name {
				return true
			}
		}
	}
	return false
}

// nameOf returns the name of a file: of the site and 128 bits of its digest.
func nameOf(site string, id [sha256.Size]byte) string {
	return site + "." + hex.EncodeToString(id[:16]) + ending
}

// begin begins to take a file. It removes nothing: a site may promise anything.
func (s *Store) begin(site string, p *hubclient.CountsPart, now time.Time) (*upload, error) {
	if err := s.drop(site); err != nil {
		return nil, err
	}
	if p.Start != math.MinInt64 && time.Unix(0, p.Start).Sub(now) > ahead {
		return nil, refusal("the window begins at %s: check the clock of the sensor", time.Unix(0, p.Start).UTC().Format(time.RFC3339))
	}
	if err := s.roomFor(site, p.Size, p.Start); err != nil {
		return nil, err
	}
	to, err := os.OpenFile(filepath.Join(s.cfg.Folder, incoming, site), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	u := &upload{id: p.ID, size: p.Size, start: p.Start, at: time.Now(), sum: sha256.New(), to: to}
	s.uploads[site] = u
	s.wakeUp()
	return u, nil
}

// expire drops uploads that stand still.
func (s *Store) expire(now time.Time) {
	for site, u := range s.uploads {
		if now.Sub(u.at) < s.cfg.Expire {
			continue
		}
		s.cfg.Log.Warn(fmt.Sprintf("counts of %s: a file stood still at %d of %d bytes, and is dropped", site, u.next, u.size))
		if err := s.drop(site); err != nil {
			s.cfg.Log.Warn(fmt.Sprintf("counts of %s: %v", site, err))
		}
	}
}

// drop drops the upload of a site.
func (s *Store) drop(site string) error {
	u := s.uploads[site]
	if u == nil {
		return nil
	}
	delete(s.uploads, site)
	return errors.Join(u.to.Close(), os.Remove(u.to.Name()))
}

// complete puts a file in its place.
func (s *Store) complete(site string, u *upload) error {
	f, err := countfile.Open("the file", u.to, u.size)
	if errors.Is(err, countfile.ErrInvalid) {
		return refusal("%v", err)
	} else if err != nil {
		return err
	}
	if err := s.check(site, u, f); err != nil {
		return err
	}
	if err := u.to.Sync(); err != nil {
		return err
	}
	if err := s.makeRoom(site, u.size, u.start); err != nil {
		return err
	}
	w := s.window(f.Windows[0].Start, f.Windows[0].End)
	if err := os.MkdirAll(filepath.Join(s.cfg.Folder, w.folder), 0o700); err != nil {
		return err
	}
	name := nameOf(site, u.id)
	if err := os.Rename(u.to.Name(), s.path(w, name)); err != nil {
		return err
	}
	delete(s.uploads, site)
	w.files = append(w.files, file{name, site, u.size})
	w.bytes += u.size
	s.bytes += u.size
	w.changed = time.Now()
	s.wakeUp()
	return errors.Join(u.to.Close(), s.evictWindows(0, math.MaxInt64))
}

// check refuses a file that cannot be united with the files of its window.
func (s *Store) check(site string, u *upload, f *countfile.File) error {
	if len(f.Windows) != 1 || f.Windows[0].Start != u.start {
		return refusal("the file has %d windows, want the one that was named", len(f.Windows))
	}
	if f.Sensor != site {
		return refusal("they are of the sensor %q: --sensor has to be the site's name", f.Sensor)
	}
	if w := f.Windows[0]; w.Start != math.MinInt64 && uint64(w.End)-uint64(w.Start) > uint64(longest) {
		return refusal("a window that is longer than a year")
	}
	f.Name = "this file"
	for _, one := range f.Settings {
		if one.Name == countfile.KeySetting && one.Value != s.cfg.Key {
			return refusal("they were saved under another --key than the hub's")
		}
	}
	start, end := f.Windows[0].Start, f.Windows[0].End
	for _, w := range s.windows {
		if w.start != start && (w.start >= end || start >= w.end) || len(w.files) == 0 {
			continue
		}
		of := 0
		for _, one := range w.files {
			if one.site == site {
				of++
			}
		}
		if len(w.files) == maxFiles || of == maxOfSite {
			return refusal("the window has %d files already", len(w.files))
		}
		other, from, err := s.open(w, w.files[0].name)
		if err != nil {
			return err
		}
		differ := countfile.Differ(other, f)
		if err := from.Close(); err != nil {
			return err
		}
		if differ != nil {
			return refusal("%v", differ)
		}
	}
	return nil
}
