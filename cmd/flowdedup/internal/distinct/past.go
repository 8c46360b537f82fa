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
)

// past counts keys over the span before any moment, beside the windows.
type past struct {
	cfg       *Config
	addresses *engine.Addresses
	keys      []pastKey
	digests   []asm.Digest // scratch
	times     []int64
}

// pastKey are the counters of one key, nil before the first element.
type pastKey struct{ v4, v6, mac *engine.Sliding }

func newPast(cfg *Config) *past {
	return &past{
		cfg: cfg, addresses: engine.NewAddresses(cfg.Secret.AESKey(engine.KeyBijection)),
		keys: make([]pastKey, len(cfg.Keys)),
	}
}

// enter takes all elements of a batch.
func (s *past) enter(p *Packets) error {
	for i := range p.keys {
		e, k := &p.keys[i], &s.keys[i]
		s.digests = slices.Grow(s.digests[:0], len(e.addr4.items))[:len(e.addr4.items)]
		s.addresses.Sum(s.digests, e.addr4.items)
		if err := errors.Join(
			s.set(&k.v4, s.digests, e.addr4.frames, p), s.set(&k.v4, e.v4.items, e.v4.frames, p),
			s.set(&k.v6, e.v6.items, e.v6.frames, p), s.set(&k.mac, e.mac.items, e.mac.frames, p),
		); err != nil {
			return err
		}
	}
	return nil
}

// set takes elements of one family.
func (s *past) set(c **engine.Sliding, digests []asm.Digest, frames []uint32, p *Packets) error {
	if len(digests) == 0 {
		return nil
	}
	if *c == nil {
		var err error
		if *c, err = engine.NewSliding(engine.SlidingConfig{Window: s.cfg.Past}); err != nil {
			return fmt.Errorf("memory for the past %v: %w", s.cfg.Past, err)
		}
	}
	s.times = s.times[:0]
	for _, frame := range frames {
		s.times = append(s.times, p.times[frame])
	}
	(*c).TestAndSet(nil, digests, s.times)
	return nil
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
		v4, v6 := pastCounts(k.v4, now), pastCounts(k.v6, now)
		counts = append(counts, Count{of.String(), "ipv4", v4}, Count{of.String(), "ipv6", v6}, Count{of.String(), "all", sum(v4, v6)})
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
