// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/distinct"
	"github.com/flowdedup/flowdedup/engine/sliding"
	"github.com/flowdedup/flowdedup/engine/snapshot"
)

// Saved describes the open part of a Counter. Save writes the counters themselves.
type Saved struct {
	Windows []SavedWindow
	Past    []SavedCounter
}

// SavedWindow describes an open window that another Counter can continue.
type SavedWindow struct {
	Start, End, Packets int64
	Counters            []SavedCounter // key by key
}

// SavedCounter is the place of a counter, and the number of packets it has counted.
type SavedCounter struct {
	Key     int // number in Config.Keys
	Family  string
	Packets uint64
	Sketch  bool `json:",omitempty"` // a sketch in place of rows
}

// The families of counters, as snapshots name them.
const (
	familyAddr4 = "addr4"
	familyV4    = "v4"
	familyV6    = "v6"
	familyMAC   = "mac"
)

// pastFamilies are the names of pastKey.families.
var pastFamilies = [...]string{familyV4, familyV6, familyMAC}

var errNoSnapshot = errors.New("counters of this method cannot be saved")

// Save writes the counters of all open windows for Resume, except the window of packets
// without a time, and returns their description. It must not be called during Count.
// Errors come from w, or are about counters that cannot be saved.
func (c *Counter) Save(w io.Writer) (saved Saved, err error) {
	c.windows.Each(func(start, end, packets int64, content *window) {
		if start == noTime || err != nil {
			return
		}
		s := SavedWindow{Start: start, End: end, Packets: packets}
		for i := range content.keys {
			if err == nil {
				err = c.saveKey(w, &s, i, &content.keys[i])
			}
		}
		saved.Windows = append(saved.Windows, s)
	})
	if c.past != nil && err == nil {
		saved.Past, err = c.past.save(c, w)
	}
	return saved, err
}

func (c *Counter) saveKey(w io.Writer, s *SavedWindow, key int, k *keyCounters) error {
	return errors.Join(
		saveFamily(c, w, s, key, familyAddr4, &k.addr4), saveFamily(c, w, s, key, familyV4, &k.v4),
		saveFamily(c, w, s, key, familyV6, &k.v6), saveFamily(c, w, s, key, familyMAC, &k.mac),
	)
}

// saveFamily writes a counter, if there is a counter.
func saveFamily[E any](c *Counter, w io.Writer, s *SavedWindow, key int, family string, counter *familyCounter[E]) error {
	if counter.Counter == nil {
		return nil
	}
	one, ok := counter.Counter.(interface {
		Snapshot(w io.Writer, secret engine.Secret, label string) error
	})
	if !ok {
		return errNoSnapshot
	}
	_, sketch := counter.Counter.(*distinct.Sketched[E])
	s.Counters = append(s.Counters, SavedCounter{key, family, counter.packets, sketch})
	return one.Snapshot(w, c.cfg.Secret, c.label(key, family))
}

// save writes the counters of the past.
func (s *past) save(c *Counter, w io.Writer) (saved []SavedCounter, err error) {
	for i := range s.keys {
		for f, counter := range s.keys[i].families() {
			if *counter == nil || err != nil {
				continue
			}
			saved = append(saved, SavedCounter{Key: i, Family: pastFamilies[f]})
			err = (*counter).Snapshot(w, c.cfg.Secret, c.label(i, "past "+pastFamilies[f]))
		}
	}
	return saved, err
}

// label names the elements of a counter in its snapshot.
func (c *Counter) label(key int, family string) string { return c.cfg.Keys[key].Name + ", " + family }

func (c *Counter) restoreConfig(key int, family string) snapshot.RestoreConfig {
	return snapshot.RestoreConfig{Secret: c.cfg.Secret, Label: c.label(key, family), Memory: math.MaxInt}
}

// Resume opens the windows that another Counter has saved. It must be called before the
// first packet. Elements that have left the past by now, in nanoseconds since 1970 UTC,
// are forgotten. Resume reads nothing behind the output of Save. Errors wrap
// snapshot.ErrInvalid, or come from r and the counters.
func (c *Counter) Resume(r io.Reader, saved *Saved, now int64) error {
	for i := range saved.Windows {
		s := &saved.Windows[i]
		w := newWindow(s.Start, s.End, c.cfg, nil)
		for _, counter := range s.Counters {
			if err := c.restore(r, w, counter); err != nil {
				return errors.Join(err, w.close())
			}
		}
		c.windows.Resume(s.Start, s.End, s.Packets, w)
	}
	if c.past == nil {
		return nil
	}
	for _, one := range saved.Past {
		if err := c.restorePast(r, one, now); err != nil {
			return err
		}
	}
	return nil
}

// restore reads a counter of a window.
func (c *Counter) restore(r io.Reader, w *window, s SavedCounter) (err error) {
	if s.Key < 0 || s.Key >= len(w.keys) {
		return errNoKey(s.Key)
	}
	k, cfg := &w.keys[s.Key], c.restoreConfig(s.Key, s.Family)
	if s.Sketch {
		return c.restoreSketch(r, k, s, cfg)
	}
	switch s.Family {
	case familyAddr4:
		k.addr4, err = restored[uint32](distinct.RestoreIPv4Rows(r, cfg))(s.Packets)
	case familyV4:
		k.v4, err = restored[digest.Digest](distinct.RestoreDigestRows(r, cfg))(s.Packets)
	case familyV6:
		k.v6, err = restored[digest.Digest](distinct.RestoreDigestRows(r, cfg))(s.Packets)
	case familyMAC:
		k.mac, err = restored[digest.Digest](distinct.RestoreDigestRows(r, cfg))(s.Packets)
	default:
		err = errNoFamily(s.Family)
	}
	return err
}

// restoreSketch reads a counter that had become a sketch.
func (c *Counter) restoreSketch(r io.Reader, k *keyCounters, s SavedCounter, cfg snapshot.RestoreConfig) error {
	if s.Family == familyAddr4 {
		addresses := c.cfg.newSketchedAddresses()
		k.addr4 = familyCounter[uint32]{Counter: addresses, packets: s.Packets}
		return addresses.Restore(r, cfg)
	}
	digests := distinct.NewSketchedDigests()
	one := familyCounter[digest.Digest]{Counter: digests, packets: s.Packets}
	switch s.Family {
	case familyV4:
		k.v4 = one
	case familyV6:
		k.v6 = one
	case familyMAC:
		k.mac = one
	default:
		return errNoFamily(s.Family)
	}
	return digests.Restore(r, cfg)
}

func errNoKey(key int) error { return fmt.Errorf("%w: key %d", snapshot.ErrInvalid, key) }

func errNoFamily(family string) error {
	return fmt.Errorf("%w: family %q", snapshot.ErrInvalid, family)
}

// restored gives a counter its packets, unless it could not be read.
func restored[E any](c engine.Counter[E], err error) func(packets uint64) (familyCounter[E], error) {
	return func(packets uint64) (familyCounter[E], error) {
		if err != nil {
			return familyCounter[E]{}, err
		}
		return familyCounter[E]{Counter: c, packets: packets}, nil
	}
}

// restorePast reads a counter of the past, and forgets elements that have left the span
// by now.
func (c *Counter) restorePast(r io.Reader, s SavedCounter, now int64) (err error) {
	if s.Key < 0 || s.Key >= len(c.past.keys) {
		return errNoKey(s.Key)
	}
	k := &c.past.keys[s.Key]
	var counter **sliding.Rows
	switch s.Family {
	case familyV4:
		counter = &k.v4
	case familyV6:
		counter = &k.v6
	case familyMAC:
		counter = &k.mac
	default:
		return errNoFamily(s.Family)
	}
	if *counter, err = sliding.Restore(r, c.restoreConfig(s.Key, "past "+s.Family)); err != nil {
		return err
	}
	if step := int64((*counter).Step()); step != c.past.step {
		return fmt.Errorf("%w: steps of %v, not %v", snapshot.ErrInvalid, time.Duration(step), time.Duration(c.past.step))
	}
	(*counter).Advance(now)
	return nil
}

// saveWindow saves a closed window in the background, and returns its memory. So memory
// holds one window that is being saved, and an error ends the run when the next window
// closes.
func (c *Counter) saveWindow(w *window) {
	c.waitForSave()
	all := w.contents(c.cfg)
	saved := make(chan error, 1)
	c.saving = saved
	save := c.save
	go func() { saved <- errors.Join(save(w.start, w.end, all), w.close()) }()
}

// waitForSave waits until no window is being saved.
func (c *Counter) waitForSave() {
	if c.saving != nil {
		c.keepError(<-c.saving)
		c.saving = nil
	}
}

// contents returns the contents of a window's counters, key by key.
func (w *window) contents(cfg *Config) (all []SavedSeries) {
	for i := range w.keys {
		k, key := &w.keys[i], &cfg.Keys[i]
		if key.MAC {
			all = append(all, k.mac.series(key.Name, "all"))
			continue
		}
		v4 := k.addr4.series(key.Name, "ipv4")
		if k.v4.Counter != nil {
			v4 = k.v4.series(key.Name, "ipv4")
		}
		all = append(all, v4, k.v6.series(key.Name, "ipv6"))
	}
	return all
}

// series returns the contents of a counter, an empty set if it has no element.
func (c *familyCounter[E]) series(key, family string) SavedSeries {
	s := SavedSeries{Key: key, Family: family, Packets: c.packets, Contents: emptySet}
	if lister, ok := c.Counter.(distinct.Lister); ok {
		s.Contents = lister.Contents()
	}
	return s
}
