package distinct

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/asm"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// pastSteps is how many steps Config.Past is divided in. An hour has steps of 30 s, so that
// counts at full minutes are exact; more steps would have each element
// looked at more often.
const pastSteps = 120

// past counts keys over the span before any moment, beside the windows.
type past struct {
	cfg       *Config
	calendar  calendar.Calendar
	step      int64 // that sightings are dated by
	last      int64 // the latest time of the batch
	sameStep  bool  // all of its times are of one step
	addresses *engine.Addresses
	keys      []pastKey
	memory    int // that counters may have at first; 0 for the default

	digests []asm.Digest // scratch
	times   []int64
	seen    []uint64
}

// pastKey are the counters of one key, nil before the first element.
type pastKey struct{ v4, v6, mac *engine.Sliding }

func newPast(cfg *Config, memory int) *past {
	return &past{
		memory: memory,
		cfg:    cfg, calendar: cfg.Calendar, step: int64(pastStep(cfg.Past)), keys: make([]pastKey, len(cfg.Keys)),
		addresses: engine.NewAddresses(cfg.Secret.AESKey(engine.KeyBijection)),
	}
}

// pastStep returns the steps of a span: short ones, and those that do not divide it, are
// rounded up.
func pastStep(span time.Duration) time.Duration { return (span-1)/pastSteps + 1 }

// enter takes the elements of a key in a batch, and enters their packets in known, unless
// that is nil, if they have come in the same step before.
func (s *past) enter(p *Packets, key int, known *settled) error {
	e, k := &p.keys[key], &s.keys[key]
	s.digests = slices.Grow(s.digests[:0], len(e.addr4.items))[:len(e.addr4.items)]
	s.addresses.Sum(s.digests, e.addr4.items)
	return errors.Join(
		s.set(&k.v4, s.digests, e.addr4.frames, p, known), s.set(&k.v4, e.v4.items, e.v4.frames, p, known),
		s.set(&k.v6, e.v6.items, e.v6.frames, p, known), s.set(&k.mac, e.mac.items, e.mac.frames, p, known),
	)
}

// set takes elements of one family.
func (s *past) set(c **engine.Sliding, digests []asm.Digest, frames []uint32, p *Packets, known *settled) error {
	if len(digests) == 0 {
		return nil
	}
	if *c == nil {
		var err error
		if *c, err = engine.NewSliding(engine.SlidingConfig{Window: s.cfg.Past, Step: time.Duration(s.step), Memory: s.memory}); err != nil {
			return fmt.Errorf("memory for the past %v: %w", s.cfg.Past, err)
		}
	}
	var seen []uint64
	if known != nil {
		words := (len(digests) + 63) / 64
		s.seen = slices.Grow(s.seen[:0], words)[:words]
		seen = s.seen
	}
	if s.sameStep {
		(*c).TestAndSetStep(seen, digests, s.last)
	} else {
		s.times = s.times[:0]
		for _, frame := range frames {
			s.times = append(s.times, p.times[frame])
		}
		(*c).TestAndSet(seen, digests, s.times)
	}
	if known != nil {
		known.enter(seen, frames)
	}
	return nil
}

// settles looks at the times of a batch, and reports whether elements that come again settle their
// packets: all are of one step, and that is part of one window.
func (s *past) settles(times []int64) bool {
	first, last := times[0], times[0]
	for _, t := range times {
		first, last = min(first, t), max(last, t)
	}
	if s.sameStep = false; !calendar.InRange(first) || !calendar.InRange(last) {
		return false
	}
	step := first - calendar.Phase(first, s.step)
	s.last, s.sameStep = last, last-step < s.step
	start, end := s.calendar.Window(first)
	return s.sameStep && step >= start && step <= end-s.step
}

// Past returns the counts over Config.Past before now, in nanoseconds since 1970 UTC, in
// the order of Present; nil without Config.Past. It is not for the moment when a batch is
// counted.
func (c *Counting) Past(now int64) (counts []Count) {
	if c.past == nil {
		return nil
	}
	for i := range c.past.keys {
		k, of := &c.past.keys[i], c.cfg.Keys[i].Of
		if of.String() == "mac" {
			counts = append(counts, Count{of.String(), "all", pastCounts(k.mac, now)})
			continue
		}
		v4, v6 := c.settledCounts(i, pastCounts(k.v4, now)), c.settledCounts(i, pastCounts(k.v6, now))
		counts = append(counts, Count{of.String(), "ipv4", v4}, Count{of.String(), "ipv6", v6}, Count{of.String(), "all", sum(v4, v6)})
	}
	return counts
}

// settledCounts are counts of a key with the rate at which packets are settled falsely: an
// element that is only seen in these is missing.
func (c *Counting) settledCounts(key int, counts engine.Counts) engine.Counts {
	if by := c.by[key]; by >= 0 && by != key {
		for _, counter := range c.past.keys[by].families() {
			if *counter != nil {
				counts.FPR = max(counts.FPR, (*counter).Count(0).FPR)
			}
		}
	}
	return counts
}

func pastCounts(s *engine.Sliding, now int64) engine.Counts {
	if s == nil {
		return engine.Counts{Method: methodExact}
	}
	return s.Count(now)
}

// families names the counters of a key that there are.
func (k *pastKey) families() map[string]**engine.Sliding {
	return map[string]**engine.Sliding{familyV4: &k.v4, familyV6: &k.v6, familyMAC: &k.mac}
}

// save writes the counters.
func (s *past) save(c *Counting, w io.Writer) (saved []SavedCounter, err error) {
	for i := range s.keys {
		for family, counter := range s.keys[i].families() {
			if *counter == nil || err != nil {
				continue
			}
			saved = append(saved, SavedCounter{Key: i, Family: family})
			err = (*counter).Snapshot(w, c.cfg.Secret, c.label(i, "past "+family))
		}
	}
	return saved, err
}

// resume reads what save wrote. What has left the span meanwhile is forgotten.
func (s *past) resume(c *Counting, r io.Reader, saved []SavedCounter) error {
	for _, one := range saved {
		if one.Key < 0 || one.Key >= len(s.keys) {
			return fmt.Errorf("%w: key %d", engine.ErrSnapshot, one.Key)
		}
		counter := s.keys[one.Key].families()[one.Family]
		if counter == nil {
			return fmt.Errorf("%w: family %q", engine.ErrSnapshot, one.Family)
		}
		var err error
		*counter, err = engine.RestoreSliding(r, engine.RestoreConfig{
			Secret: c.cfg.Secret, Label: c.label(one.Key, "past "+one.Family), Memory: math.MaxInt,
		})
		if err != nil {
			return err
		}
		if step := int64((*counter).Step()); step != s.step {
			return fmt.Errorf("%w: steps of %v, not %v", engine.ErrSnapshot, time.Duration(step), time.Duration(s.step))
		}
		(*counter).Advance(time.Now().UnixNano())
	}
	return nil
}

func (s *past) close() error {
	var errs []error
	for i := range s.keys {
		for _, counter := range s.keys[i].families() {
			if *counter != nil {
				errs = append(errs, (*counter).Close())
			}
		}
	}
	return errors.Join(errs...)
}
