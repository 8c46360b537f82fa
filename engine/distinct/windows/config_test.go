// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// TestCheck wants impossible configurations to be refused before the first packet.
func TestCheck(t *testing.T) {
	hour := calendar.Calendar{Every: time.Hour}
	changed := func(change func(c *Config)) Config {
		c := Config{Keys: hostAndFlow}
		change(&c)
		return c
	}
	for name, tt := range map[string]struct {
		cfg  Config
		want error
	}{
		"zero values":     {changed(func(*Config) {}), nil},
		"method":          {changed(func(c *Config) { c.Method = "foo" }), errConfig},
		"rate below 0":    {changed(func(c *Config) { c.FPR = -1 }), engine.ErrFPR},
		"rate of 1":       {changed(func(c *Config) { c.FPR = 1 }), engine.ErrFPR},
		"no elements":     {changed(func(c *Config) { c.Keys = []Key{{Name: "ip"}} }), errConfig},
		"slides":          {changed(func(c *Config) { c.Slide, c.Window = time.Minute, time.Hour }), nil},
		"no whole slides": {changed(func(c *Config) { c.Slide, c.Window = time.Minute, 90*time.Second }), errConfig},
		"no window":       {changed(func(c *Config) { c.Slide = time.Minute }), errConfig},
		"too many slides": {changed(func(c *Config) { c.Slide, c.Window = time.Second, 2*time.Hour }), errConfig},
		"slides of lru":   {changed(func(c *Config) { c.Slide, c.Window, c.Method = 1, 2, methodLRU }), errConfig},
		"changes":         {changed(func(c *Config) { c.Changes, c.Calendar = true, hour }), nil},
		"changes of lru":  {changed(func(c *Config) { c.Changes, c.Calendar, c.Method = true, hour, methodLRU }), errConfig},
		"changes of all":  {changed(func(c *Config) { c.Changes = true }), errConfig},
		"saved exact sets": {changed(func(c *Config) {
			c.Save, c.Calendar, c.Method = func(int64, int64, []SavedSeries) error { return nil }, hour, methodExact
		}), errConfig},
	} {
		err := tt.cfg.Check()
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
		func() {
			defer func() {
				if panicked := recover() != nil; panicked != (tt.want != nil) {
					t.Errorf("%s: New panics: %v", name, panicked)
				}
			}()
			New(&tt.cfg)
		}()
	}
}

// TestZeroMethod counts by the method that Methods names first, whose digests are in rows.
func TestZeroMethod(t *testing.T) {
	methods := func(cfg Config) (all []string) {
		cfg.Keys = hostAndFlow
		cfg.Emit = func(_, _ int64, counts []Count) error {
			for _, c := range counts {
				all = append(all, c.Method)
			}
			return nil
		}
		c := New(&cfg)
		b := c.NewBatch()
		fill(b, newPackets(100, 0, time.Second))
		if err := errors.Join(c.Count(b, nil), c.Close()); err != nil {
			t.Fatal(err)
		}
		return all
	}
	zero, auto := methods(Config{}), methods(Config{Method: Methods()[0], FPR: engine.DefaultFPR})
	if len(zero) == 0 || !slices.Equal(zero, auto) {
		t.Errorf("%q, and with the defaults named %q", zero, auto)
	}
}
