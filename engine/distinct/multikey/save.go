// SPDX-License-Identifier: Apache-2.0

package multikey

import (
	"errors"

	"github.com/flowdedup/flowdedup/engine/distinct"
)

// saveWindow saves a closed window in the background, and returns its memory. So memory
// holds one window that is being saved, and an error ends the run when the next one
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

// contents returns what the counters of a window remember, key by key.
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

// series returns what a counter remembers; without an element that is an empty set.
func (c *familyCounter[E]) series(key, family string) SavedSeries {
	s := SavedSeries{Key: key, Family: family, Packets: c.packets, Contents: emptySet}
	if lister, ok := c.Counter.(distinct.Lister); ok {
		s.Contents = lister.Contents()
	}
	return s
}
