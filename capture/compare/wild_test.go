// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// The first and the last time that a packet can have.
const (
	firstTime = 1 - calendar.Farthest
	lastTime  = calendar.Farthest - 1
)

// TestWildMatch has clocks that are as far apart as they may be, and equal packets with the first
// and the last time there is: what waits is too old, and what comes is not too early.
func TestWildMatch(t *testing.T) {
	for _, c := range []struct{ first, second int }{{sideA, sideB}, {sideB, sideA}} {
		m := newMatcher(int64(time.Second), leastRecords)
		m.offset = -mostApart
		if c.second == sideA {
			m.offset = mostApart
		}
		waits, comes := m.queues[c.first].at(0), m.queues[c.second].at(0)
		*waits = record{digest: digest.Digest{1, 2}, time: firstTime}
		*comes = record{digest: digest.Digest{1, 2}, time: lastTime}
		if m.match(c.first, waits, 0) != nil || m.match(c.second, comes, 0) != nil {
			t.Errorf("side %d first: the ends of time are a match", c.first)
		}
		if waits.state != alone || comes.state != waiting {
			t.Errorf("side %d first: states %d and %d", c.first, waits.state, comes.state)
		}
	}
}

// TestWildOld has a packet read last whose place is the first time there is.
func TestWildOld(t *testing.T) {
	c := newComparer(Config{Window: time.Second})
	for _, old := range []struct {
		passed, placed int64
		is             bool
	}{
		{lastTime + mostApart, firstTime - mostApart, true}, {firstTime - mostApart, lastTime + mostApart, true}, {0, 0, false},
	} {
		c.passed = old.passed
		if got := c.isOld(&record{placed: old.placed}); got != old.is {
			t.Errorf("passed %d, placed %d: %t", old.passed, old.placed, got)
		}
	}
}

// TestWildOffset finds no offset that clocks cannot have, and no offset grows beyond.
func TestWildOffset(t *testing.T) {
	var seen []probe
	for i := range uint64(100) {
		d := digest.Digest{i, i}
		seen = append(seen, probe{d, firstTime + int64(i), sideA}, probe{d, lastTime - int64(i), sideB})
	}
	if l, found, _ := locate(seen, time.Second); found {
		t.Errorf("an offset of %d", l.offset)
	}
	// A few good packets are found among them, as they are alone.
	for i := range uint64(40) {
		d, at := digest.Digest{1000 + i, i}, 1_700_000_000_000_000_000+int64(i)*1e6
		seen = append(seen, probe{d, at, sideA}, probe{d, at + 5e9, sideB})
	}
	if l, found, sure := locate(seen, time.Second); !found || !sure || l.offset != 5e9 {
		t.Errorf("offset %d, found %t, sure %t", l.offset, found, sure)
	}
	for _, slope := range []float64{-10, -1, -1e-4, 1e-4, 1, 10, math.MaxFloat64} {
		for _, origin := range []int64{firstTime, 0, lastTime} {
			l := line{origin: origin, offset: 5, slope: slope}
			for _, at := range []int64{firstTime - mostApart, 0, lastTime + mostApart} {
				if got := l.at(at); calendar.Distance(got, 0) > mostApart || at > origin && got != 5 && (got > 0) != (slope > 0) {
					t.Errorf("slope %g from %d: offset %d at %d", slope, origin, got, at)
				}
			}
		}
	}
}

// TestConfigErrors rejects what cannot be.
func TestConfigErrors(t *testing.T) {
	for _, cfg := range []Config{
		{Identity: identity.Config{Kind: identity.Inner + 1}},
		{Identity: identity.Config{Ignore: identity.IgnoreOnly(1 << 31)}},
		{Window: -1},
		{Memory: -1},
	} {
		if made, err := New(cfg); !errors.Is(err, ErrConfig) || made != nil {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}
