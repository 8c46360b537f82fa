// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"errors"
	"fmt"
	"math"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/distinct"
)

// window is the state of one stretch of time.
type window struct {
	start, end int64 // noTime for packets without a time
	whole      bool  // the bounds follow the packets' times
	extent           // of the packets
	almostOver int64 // time from which on counters for the next window are made, or math.MaxInt64
	keys       []keyCounters
}

// extent has the times of the earliest and the latest packet.
type extent struct{ first, last int64 }

// noExtent is the extent of no packets.
var noExtent = extent{noTime, noTime}

// add enters the times of packets, which may have none.
func (s *extent) add(times []int64) {
	for _, t := range times {
		if t == noTime {
			continue
		}
		if s.first == noTime || t < s.first {
			s.first = t
		}
		s.last = max(s.last, t)
	}
}

// newWindow makes a window with the given counters, nil for none yet.
func newWindow(start, end int64, cfg *Config, keys []keyCounters) *window {
	if keys == nil {
		keys = make([]keyCounters, len(cfg.Keys))
	}
	w := &window{
		start: start, end: end, whole: cfg.Calendar.Every <= 0 && start != noTime,
		extent: noExtent, almostOver: math.MaxInt64, keys: keys,
	}
	if !w.whole && start != noTime {
		w.almostOver = end - (end-start)/preallocatePart
	}
	return w
}

// addTimes enters the times of a run of packets.
func (w *window) addTimes(times []int64) {
	if w.whole {
		w.add(times)
	}
}

// bounds returns the bounds to emit.
func (w *window) bounds() (start, end int64) {
	if w.whole {
		return w.first, w.last
	}
	return w.start, w.end
}

func (w *window) memory(cfg *Config) int {
	total := 0
	for i := range w.keys {
		counts := w.keys[i].appendCounts(nil, &cfg.Keys[i], nil)
		total += counts[len(counts)-1].MemoryBytes
	}
	return total
}

func (w *window) close() error { return closeKeys(w.keys) }

// keyCounters are the counters of one key in one window. A key has either addr4 or v4.
type keyCounters struct {
	addr4       familyCounter[uint32]
	v4, v6, mac familyCounter[digest.Digest]
	ranking     ranking
}

// familyCounter counts the distinct elements of one family. Its counter is made for the
// first element.
type familyCounter[E any] struct {
	engine.Counter[E]
	preallocated engine.Counter[E] // becomes Counter, if it is not nil
	packets      uint64            // packets that elements come from
}

// begin makes the counter for the first element. Until the budget is shared it may grow to
// limit bytes, 0 for no limit.
func (c *familyCounter[E]) begin(create func(memory int) (engine.Counter[E], error), limit int) error {
	c.Counter, c.preallocated = c.preallocated, nil
	if c.Counter != nil {
		return nil
	}
	var err error
	if c.Counter, err = create(0); err != nil {
		return fmt.Errorf("memory for a window: %w", err)
	}
	if bounded, ok := c.Counter.(engine.Bounded); ok && limit > 0 {
		bounded.Limit(limit)
	}
	return nil
}

func (c *familyCounter[E]) close() error {
	var errs []error
	for _, counter := range []engine.Counter[E]{c.Counter, c.preallocated} {
		if counter != nil {
			errs = append(errs, counter.Close())
		}
	}
	return errors.Join(errs...)
}

func closeKeys(keys []keyCounters) error {
	var errs []error
	for i := range keys {
		k := &keys[i]
		errs = append(errs, k.addr4.close(), k.v4.close(), k.v6.close(), k.mac.close())
	}
	return errors.Join(errs...)
}

// takePackets copies the packet counts from a key that has the same packets.
func (k *keyCounters) takePackets(from *keyCounters) {
	v4 := from.addr4.packets + from.v4.packets // either is 0
	k.addr4.packets, k.v4.packets, k.v6.packets = v4, v4, from.v6.packets
}

// appendCounts appends the counts by family, and last their sum. With a past, only
// elements that it did not know come here, at its rate of false positives. The past never
// takes one IPv4 address for another.
func (k *keyCounters) appendCounts(all []Count, key *Key, past *pastKey) []Count {
	v4, v6, mac := k.v4.count(), k.v6.count(), k.mac.count()
	if past != nil {
		v4.FPR = max(v4.FPR, rateOf(past.v4))
		v6.FPR = max(v6.FPR, rateOf(past.v6))
		mac.FPR = max(mac.FPR, rateOf(past.mac))
	}
	if k.addr4.Counter != nil {
		v4 = k.addr4.count()
	}
	all = appendFamilies(all, key, v4, v6, mac)
	if k.ranking.Summary != nil {
		all[len(all)-1].MemoryBytes += k.ranking.Needs(0)
	}
	return all
}

// count returns the count of a family. Without an element it is 0, and exact.
func (c *familyCounter[E]) count() Count {
	if c.Counter == nil {
		return Count{Packets: c.packets, Counts: engine.Counts{Method: methodExact}}
	}
	return Count{Packets: c.packets, Counts: c.Counts()}
}

// appendFamilies appends the counts of the families that a key has, with their names, and
// last their sum.
func appendFamilies(all []Count, key *Key, v4, v6, mac Count) []Count {
	v4.Key, v6.Key, mac.Key = key.Name, key.Name, key.Name
	if key.MAC {
		mac.Family = "all"
		return append(all, mac)
	}
	v4.Family, v6.Family = "ipv4", "ipv6"
	return append(all, v4, v6, Count{Key: key.Name, Family: "all", Packets: v4.Packets + v6.Packets, Counts: Sum(v4.Counts, v6.Counts)})
}

// Sum adds up two families. The sum of the bounds has at least their confidence. The
// false positive rate is the higher rate, with its method.
func Sum(a, b engine.Counts) engine.Counts {
	s := engine.Counts{
		Distinct: distinct.Sum(a.Distinct, b.Distinct), Low: distinct.Sum(a.Low, b.Low), High: distinct.Sum(a.High, b.High),
		MemoryBytes: a.MemoryBytes + b.MemoryBytes, FPR: max(a.FPR, b.FPR), Method: a.Method,
	}
	if b.FPR > a.FPR || a.Distinct == 0 {
		s.Method = b.Method
	}
	return s
}
