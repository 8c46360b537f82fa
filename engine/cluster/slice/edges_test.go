// SPDX-License-Identifier: Apache-2.0

package slice

import (
	"errors"
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

// TestLimit takes limits up to the bytes of all line numbers.
func TestLimit(t *testing.T) {
	for limit, want := range map[uint64]error{lineBytes - 1: ErrConfig, lineBytes: nil, lineBytes << 32: nil, lineBytes<<32 + 1: ErrConfig} {
		if _, err := withoutRows(Config{Window: time.Second, Memory: lineBytes, Limit: int(limit), Slices: 1}); !errors.Is(err, want) {
			t.Errorf("a limit of %d: %v", limit, err)
		}
	}
}

// TestSavedCheck refuses what Save cannot have written, one part at a time.
func TestSavedCheck(t *testing.T) {
	for name, change := range map[string]func(s *saved, lines *[]byte, limit *int){
		"":                       func(*saved, *[]byte, *int) {},
		"part of a line":         func(_ *saved, lines *[]byte, limit *int) { *lines, *limit = append(*lines, 0), *limit+1 },
		"other lines":            func(s *saved, _ *[]byte, _ *int) { s.Lines = 1 },
		"no lines":               func(s *saved, lines *[]byte, _ *int) { s.Lines, *lines = 0, nil },
		"more than fit":          func(_ *saved, _ *[]byte, limit *int) { *limit = 2*lineBytes - 1 },
		"a site without a clock": func(s *saved, _ *[]byte, _ *int) { s.Nodes = nil },
		"a site without pairs":   func(s *saved, _ *[]byte, _ *int) { s.Pairs = nil },
		"no differences":         func(s *saved, _ *[]byte, _ *int) { s.Differences = nil },
		"a negative count":       func(s *saved, _ *[]byte, _ *int) { s.Differences[0][0] = &differences{Count: -1} },
		"another root":           func(s *saved, _ *[]byte, _ *int) { s.Nodes[0].Root = 1 },
		"no parent":              func(s *saved, _ *[]byte, _ *int) { s.Nodes[0].Parent = -1 },
		"replies":                func(s *saved, _ *[]byte, _ *int) { s.Sites[0].Replies.Next = -1 },
	} {
		s := saved{Lines: 2, Sites: make([]savedSite, 1), Nodes: make([]siteClock, 1), Pairs: [][]*pair{{nil}}, Differences: [][]*differences{{nil}}}
		lines, limit := make([]byte, 2*lineBytes), 2*lineBytes
		change(&s, &lines, &limit)
		if err := s.check(lines, limit); (err == nil) != (name == "") || err != nil && !errors.Is(err, ErrSnapshot) {
			t.Errorf("%s: %v", name, err)
		}
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
