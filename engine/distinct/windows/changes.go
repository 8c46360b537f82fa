// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"github.com/flowdedup/flowdedup/engine/distinct"
	"github.com/flowdedup/flowdedup/engine/distinct/internal/wordset"
	"github.com/flowdedup/flowdedup/engine/internal/rowtable"
)

// Changes describes how the elements of a window differ from the elements of the window
// right before it. The numbers are exact where both counts are.
type Changes struct {
	New       distinct.Estimate // elements that the window before did not have
	Returning distinct.Estimate // elements that both have
	Gone      distinct.Estimate // elements that only the window before had
}

func (c *Changes) plus(other *Changes) *Changes {
	return &Changes{c.New.Plus(other.New), c.Returning.Plus(other.Returning), c.Gone.Plus(other.Gone)}
}

// changes remembers the last window that closed. Its sets are packed, in 2 to 8 bytes a
// word.
type changes struct {
	kept, spare []kept // of that window, and memory of the window before; nil before the first
	end         int64  // of the last window
	latest      int64  // end of the latest window so far, noTime before the first window
	compare     comparison
}

// kept is the remembered state of a family.
type kept struct {
	distinct.Contents
	estimate distinct.Estimate
	packed   wordset.Packed // the words
}

// add sets the changes of the counts of a window, and keeps the window's contents. The
// window before it is the last window that closed, or had no packets. The latter is
// certain only where all windows so far are earlier. Otherwise changes are unknown. afterOpen
// means that the window before is open.
func (c *changes) add(counts []Count, w *window, afterOpen bool, cfg *Config) {
	first, follows := c.latest == noTime, w.start == c.end
	known := !first && (follows || w.start > c.latest && !afterOpen)
	var sum *Changes // sum of the key's families so far
	series := w.contents(cfg)
	now := c.spare
	if now == nil {
		now = make([]kept, len(series))
	}
	at := 0
	for i := range counts {
		n := &counts[i]
		if at == len(series) || series[at].Key != n.Key || series[at].Family != n.Family {
			n.Changes, sum = sum, nil // the sum of the two families before
			continue
		}
		one, before := &now[at], &nothing
		one.Contents, one.estimate = series[at].Contents, distinct.Estimate{Distinct: n.Distinct, Low: n.Low, High: n.High}
		if follows && known {
			before = &c.kept[at]
		}
		changes := c.compare.changes(before, one)
		if c.kept != nil {
			c.kept[at].packed.Free()
		}
		if at++; !known {
			continue
		}
		n.Changes = &changes
		switch {
		case n.Family == "all":
			sum = nil
		case sum != nil:
			sum = sum.plus(&changes)
		default:
			sum = &changes
		}
	}
	c.kept, c.spare, c.end, c.latest = now, c.kept, w.end, max(c.latest, w.end)
}

// emptySet is the contents of a counter without an element.
var emptySet = distinct.Contents{Width: 64, Words: func(func(uint64) bool) {}, Groups: func(func(uint64, []uint64) bool) {}}

var nothing = kept{Contents: emptySet}

// comparison compares a set with the set before, or the samples of both that have the higher level, and packs it. It
// goes through the words of each once.
type comparison struct {
	to                 *wordset.Packed
	old                wordset.Reader // its words are those in the sample
	left               bool           // old has a group
	rest, level        uint
	newer, older, both int
	match              wordset.Matcher
	words              []uint64                    // scratch
	each               func(uint64, []uint64) bool // add, as a value that is made once
}

// changes returns the changes between two windows, and takes the elements of now to memory of its own.
func (c *comparison) changes(before, now *kept) Changes {
	if before.Sketch == nil && now.Sketch == nil {
		return c.sets(before, now)
	}
	var union distinct.Sketch
	before.AddTo(&union)
	now.AddTo(&union)
	if now.Sketch != nil {
		own := *now.Sketch
		now.Sketch = &own
	} else {
		c.sets(&nothing, now)
	}
	all := union.Estimate()
	all = all.AtLeast(max(before.estimate.Low, now.estimate.Low))
	return Changes{
		New:       all.Minus(before.estimate).Within(now.estimate),
		Returning: before.estimate.Plus(now.estimate).Minus(all).Within(before.estimate).Within(now.estimate),
		Gone:      all.Minus(now.estimate).Within(before.estimate),
	}
}

// sets is changes for two sets.
func (c *comparison) sets(before, now *kept) Changes {
	if c.each == nil {
		c.each = c.add
	}
	c.to, c.rest, c.level = &now.packed, now.Rest, max(before.Level, now.Level)
	c.newer, c.older, c.both = 0, 0, 0
	c.to.Reset(c.rest, now.Count)
	c.old.Reset(&before.packed)
	c.next()
	now.Groups(c.each)
	for c.left {
		c.next()
	}
	now.Groups, now.Words = now.packed.Groups, nil
	return Changes{sampleOf(c.newer-c.both, c.level), sampleOf(c.both, c.level), sampleOf(c.older-c.both, c.level)}
}

// next reads the next group of the set before.
func (c *comparison) next() {
	c.left = c.old.Next()
	c.old.Words = inSample(c.old.Words[:0], c.old.Words, c.level)
	c.older += len(c.old.Words)
}

// add adds a group, and compares it with the groups of the set before that have words of the same range.
func (c *comparison) add(group uint64, all []uint64) bool {
	c.to.Add(group, all)
	words := all
	if c.level > 0 {
		c.words = inSample(c.words[:0], all, c.level)
		words = c.words
	}
	c.newer += len(words)
	first := group << c.rest
	for last := first | (1<<c.rest - 1); c.left && c.old.First <= last; c.next() {
		if first <= c.old.Last {
			c.both += c.match.Common(words, c.old.Words)
		}
		if c.old.Last > last {
			break
		}
	}
	return true
}

// inSample returns the words of a sample: all of them for level 0, else a copy in to, which may be words[:0].
func inSample(to, words []uint64, level uint) []uint64 {
	if level == 0 {
		return words
	}
	for _, word := range words {
		if word&(1<<level-1) == 0 {
			to = append(to, word)
		}
	}
	return to
}

// sampleOf estimates the number of elements from the number in a sample.
func sampleOf(n int, level uint) distinct.Estimate {
	if level == 0 {
		return distinct.Exactly(uint64(n))
	}
	sum := rowtable.SampleSum{Weight: float64(uint64(1) << level)}
	sum.Add(uint64(n), uint8(level), 1, 1)
	low, high := sum.Bounds()
	return distinct.Estimate{Distinct: uint64(sum.Mean), Low: low, High: high}
}
