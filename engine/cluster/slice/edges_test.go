// SPDX-License-Identifier: Apache-2.0

package slice

import (
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// TestValidReplies takes what Keep can have made, and nothing beyond.
func TestValidReplies(t *testing.T) {
	with := func(change func(s *Replies)) *Replies {
		s := &Replies{}
		change(s)
		return s
	}
	for name, c := range map[string]struct {
		replies *Replies
		valid   bool
	}{
		"none":             {&Replies{}, true},
		"the last place":   {with(func(s *Replies) { s.Next = keptReplies - 1 }), true},
		"no such place":    {with(func(s *Replies) { s.Next = keptReplies }), false},
		"a negative place": {with(func(s *Replies) { s.Next = -1 }), false},
		"most digests": {with(func(s *Replies) {
			s.Last[1] = reply{N: hubclient.MaxDigests, Copies: make([]byte, (hubclient.MaxDigests+7)/8)}
		}), true},
		"too many digests": {with(func(s *Replies) {
			s.Last[1] = reply{N: hubclient.MaxDigests + 8, Copies: make([]byte, (hubclient.MaxDigests+15)/8)}
		}), false},
		"negative digests":     {with(func(s *Replies) { s.Last[1].N = -1 }), false},
		"an answer that lacks": {with(func(s *Replies) { s.Last[1].N = 9; s.Last[1].Copies = make([]byte, 1) }), false},
	} {
		if got := c.replies.Valid(); got != c.valid {
			t.Errorf("%s: %v", name, got)
		}
	}
	// A request without digests is none that came before.
	if _, found := (&Replies{}).Find(&hubclient.Request{}); found {
		t.Error("an empty request has an answer")
	}
}

// TestLearnSpan learns from times up to learnSpan apart.
func TestLearnSpan(t *testing.T) {
	for more, want := range []int{1, 0} {
		var c clocks
		c.add()
		c.add()
		c.observe(0, 0, 1, at, at+learnSpan+int64(more))
		if got := c.pairs.at(0, 1).Count; got != want {
			t.Errorf("learnSpan and %d: %d differences, want %d", more, got, want)
		}
	}
}

// TestReach moves the oldest element of a full line to the spare line, if it is at most the reach old.
func TestReach(t *testing.T) {
	const digest = 5
	for more, evicted := range []uint64{0, 1} {
		s := newSlice(t, time.Second, 13*lineBytes, 13*lineBytes)
		l := s.rows.line(digest)
		for cell := range uint(cells) {
			l.set(cell, digest+uint64(cell+1)<<32, newMark(at, 1))
		}
		s.insert(l, digest, at+int64(s.reach)+int64(more), 0)
		if s.evicted != evicted || l.spilled() == (evicted > 0) {
			t.Errorf("%d after the reach: %d evicted, spilled %v", more, s.evicted, l.spilled())
		}
	}
}
