// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"errors"
	"fmt"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/sliding"
)

// pastSteps is the number of steps that Config.Past is divided into. An hour has steps of
// 30 s, so that counts at full minutes are exact; with more steps each element would be
// looked up more often.
const pastSteps = 120

// past counts keys over the span before any moment, in addition to the windows.
type past struct {
	cfg        *Config
	step       int64 // step by which elements are dated
	last       int64 // the latest time of the batch
	sameStep   bool  // all of its times are of one step
	sameWindow bool  // and the step is part of one window
	addresses  *sliding.Addresses
	keys       []pastKey
	memory     int // initial size of counters; 0 for the default

	digests []digest.Digest // scratch
	times   []int64
	seen    []uint64
}

// pastKey are the counters of one key, nil before the first element.
type pastKey struct{ v4, v6, mac *sliding.Rows }

func newPast(cfg *Config, memory int) *past {
	return &past{
		cfg: cfg, step: int64(pastStep(cfg.Past)), keys: make([]pastKey, len(cfg.Keys)), memory: memory,
		addresses: sliding.NewAddresses(cfg.Secret.AESKey(engine.UsePermutation)),
	}
}

// pastStep returns the step of a span, rounded up to whole nanoseconds.
func pastStep(span time.Duration) time.Duration { return (span-1)/pastSteps + 1 }

// countPast counts the elements of a batch in the past. It makes the caller add the
// elements of implied keys for the packets that need them.
func (c *Counter) countPast(b *Batch) error {
	c.past.begin(b.times)
	for _, key := range c.direct {
		if err := c.past.count(b, key, c.impliedBy[key] >= 0); err != nil {
			return err
		}
	}
	for i, group := range b.derived {
		b.derive(i)
		for _, key := range group.Keys {
			if err := c.past.count(b, key, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin reads the times of a batch.
func (s *past) begin(times []int64) {
	first, last := span(times)
	s.sameStep, s.sameWindow = false, false
	if !calendar.InRange(first) || !calendar.InRange(last) {
		return
	}
	step := first - calendar.Phase(first, s.step)
	s.last, s.sameStep = last, last-step < s.step
	start, end := s.cfg.Calendar.Window(first)
	s.sameWindow = s.sameStep && step >= start && step <= end-s.step
}

// span returns the earliest and the latest of some times.
func span(times []int64) (first, last int64) {
	first, last = times[0], times[0]
	for ; len(times) >= 4; times = times[4:] {
		t := (*[4]int64)(times)
		first = min(first, min(min(t[0], t[1]), min(t[2], t[3])))
		last = max(last, max(max(t[0], t[1]), max(t[2], t[3])))
	}
	for _, t := range times {
		first, last = min(first, t), max(last, t)
	}
	return first, last
}

// count counts the elements of a key in a batch. If list is set, it lists the unseen elements.
func (s *past) count(b *Batch, key int, list bool) error {
	e, k := &b.keys[key], &s.keys[key]
	s.digests = resize(s.digests, len(e.Addr4.items))
	s.addresses.Sum(s.digests, e.Addr4.items)
	return errors.Join(
		s.countFamily(&k.v4, s.digests, e.Addr4.packets, b, e.Addr4.unseenIf(list)),
		s.countFamily(&k.v4, e.V4.items, e.V4.packets, b, e.V4.unseenIf(list)),
		s.countFamily(&k.v6, e.V6.items, e.V6.packets, b, e.V6.unseenIf(list)),
		s.countFamily(&k.mac, e.MAC.items, e.MAC.packets, b, e.MAC.unseenIf(list)),
	)
}

// countFamily counts elements of one family. It adds to others, unless that is nil, the
// elements that did not come before in the same step of one window.
func (s *past) countFamily(c **sliding.Rows, digests []digest.Digest, packets []uint32, b *Batch, others *unseen) error {
	if len(digests) == 0 {
		return nil
	}
	if *c == nil {
		var err error
		cfg := sliding.Config{Window: s.cfg.Past, Step: time.Duration(s.step), Memory: s.memory}
		if *c, err = sliding.New(cfg); err != nil {
			return fmt.Errorf("memory for the past %v: %w", s.cfg.Past, err)
		}
	}
	var seen []uint64
	if others != nil {
		s.seen = resize(s.seen, (len(digests)+63)/64)
		seen = s.seen
	}
	if s.sameStep {
		(*c).TestAndSetStep(seen, digests, s.last)
	} else {
		s.times = b.appendTimes(s.times[:0], packets)
		(*c).TestAndSet(seen, digests, s.times)
	}
	if !s.sameWindow {
		clear(seen)
	}
	if others != nil {
		others.add(seen, 0, len(digests))
	}
	return nil
}

// appendTimes appends the times of packets.
func (b *Batch) appendTimes(times []int64, packets []uint32) []int64 {
	for _, p := range packets {
		times = append(times, b.times[p])
	}
	return times
}

// Past returns the counts over Config.Past before now, in nanoseconds since 1970 UTC, in
// the order of Current. Count.Packets is 0. Without Config.Past it returns nil. It must
// not be called during Count.
func (c *Counter) Past(now int64) (counts []Count) {
	if c.past == nil {
		return nil
	}
	for i := range c.past.keys {
		k, implied := &c.past.keys[i], c.impliedFPR(i, nil)
		of := func(s *sliding.Rows) Count {
			counts := pastCounts(s, now)
			counts.FPR = max(counts.FPR, implied)
			return Count{Counts: counts}
		}
		counts = appendFamilies(counts, &c.cfg.Keys[i], of(k.v4), of(k.v6), of(k.mac))
	}
	return counts
}

// fpr returns the rate at which elements of a key are falsely taken for others.
func (s *past) fpr(key int) (rate float64) {
	for _, counter := range s.keys[key].families() {
		rate = max(rate, rateOf(*counter))
	}
	return rate
}

// key returns the counters of a key, or nil without a past.
func (s *past) key(i int) *pastKey {
	if s == nil {
		return nil
	}
	return &s.keys[i]
}

// rateOf returns the rate at which rows falsely take elements for others, 0 without rows.
func rateOf(s *sliding.Rows) float64 {
	if s == nil {
		return 0
	}
	return s.Count(0).FPR
}

func pastCounts(s *sliding.Rows, now int64) engine.Counts {
	if s == nil {
		return engine.Counts{Method: methodExact}
	}
	return s.Count(now)
}

// families returns the counters of a key by family.
func (k *pastKey) families() [3]**sliding.Rows { return [...]**sliding.Rows{&k.v4, &k.v6, &k.mac} }

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
