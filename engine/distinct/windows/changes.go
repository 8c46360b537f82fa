// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"iter"

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

// changes remembers the last window that closed. Its sets are packed, in 2 to 6 bytes a
// word.
type changes struct {
	kept   []kept
	end    int64 // of the last window
	latest int64 // end of the latest window so far, noTime before the first window
}

// kept is the remembered state of a family.
type kept struct {
	distinct.Contents
	estimate distinct.Estimate
	packed   *wordset.Packed // the words, nil for none
}

// add sets the changes of the counts of a window, and keeps the window's contents. The
// window before it is the last window that closed, or had no packets. The latter is
// certain only where all windows so far are earlier. Otherwise changes are unknown. afterOpen
// means that the window before is open.
func (c *changes) add(counts []Count, w *window, afterOpen bool, cfg *Config) {
	first, follows := c.latest == noTime, w.start == c.end
	known := !first && (follows || w.start > c.latest && !afterOpen)
	var now []kept
	var sum *Changes // sum of the key's families so far
	series := w.contents(cfg)
	for i := range counts {
		n := &counts[i]
		if len(series) == 0 || series[0].Key != n.Key || series[0].Family != n.Family {
			n.Changes, sum = sum, nil // the sum of the two families before
			continue
		}
		one := kept{Contents: series[0].Contents, estimate: distinct.Estimate{Distinct: n.Distinct, Low: n.Low, High: n.High}}
		var packed kept
		if series = series[1:]; !known {
			packed = one.pack(wordset.Blocks(one.Words, one.Count))
		} else {
			before := kept{Contents: emptySet}
			if follows {
				before = c.kept[len(now)]
			}
			n.Changes, packed = compare(&before, &one)
			if sum != nil {
				sum = sum.plus(n.Changes)
			} else {
				sum = n.Changes
			}
		}
		if n.Family == "all" {
			sum = nil
		}
		now = append(now, packed)
	}
	c.kept, c.end, c.latest = now, w.end, max(c.latest, w.end)
}

// emptySet is the contents of a counter without an element.
var emptySet = distinct.Contents{Width: 64, Words: func(func(uint64) bool) {}}

// pack returns k in memory of its own. blocks yields the words of k.
func (k *kept) pack(blocks iter.Seq[[]uint64]) kept {
	packed := *k
	if k.Sketch != nil {
		own := *k.Sketch
		packed.Sketch = &own
	} else {
		packed.packed = wordset.Pack(blocks)
		packed.Words = packed.packed.Words
	}
	return packed
}

// compare returns the changes from one window to the next, which it packs.
func compare(before, now *kept) (*Changes, kept) {
	if before.Sketch == nil && now.Sketch == nil {
		return compareSets(before, now)
	}
	var union distinct.Sketch
	before.AddTo(&union)
	now.AddTo(&union)
	all := union.Estimate()
	all = all.AtLeast(max(before.estimate.Low, now.estimate.Low))
	return &Changes{
		New:       all.Minus(before.estimate).Within(now.estimate),
		Returning: before.estimate.Plus(now.estimate).Minus(all).Within(before.estimate).Within(now.estimate),
		Gone:      all.Minus(now.estimate).Within(before.estimate),
	}, now.pack(wordset.Blocks(now.Words, now.Count))
}

// compareSets compares two sets, or the samples of both that have the higher level. It goes
// through the words of now once, as each line of them is sorted on the way.
func compareSets(before, now *kept) (*Changes, kept) {
	level := max(before.Level, now.Level)
	var newer, older, both int
	var words, old []uint64
	blocks := before.packed.Blocks()
	more := func() bool {
		block := blocks()
		old = inSample(block[:0], block, level)
		older += len(old)
		return block != nil
	}
	packed := now.pack(func(yield func([]uint64) bool) {
		for block := range wordset.Blocks(now.Words, now.Count) {
			words = inSample(words[:0], block, level)
			newer += len(words)
			for left := words; len(left) > 0 && (len(old) > 0 || more()); {
				n, ofNow, ofOld := wordset.Common(left, old)
				both, left, old = both+n, left[ofNow:], old[ofOld:]
			}
			yield(block)
		}
	})
	for more() {
	}
	return &Changes{sampleOf(newer-both, level), sampleOf(both, level), sampleOf(older-both, level)}, packed
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
