// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"slices"
	"testing"
	"time"
)

// kept keeps the logged lines.
type kept struct{ lines []string }

func (k *kept) Log(text string)  { k.lines = append(k.lines, text) }
func (k *kept) Warn(text string) { k.lines = append(k.lines, text) }

// TestServerLog has a server log the same again and again.
func TestServerLog(t *testing.T) {
	var k kept
	l := newServerLog(&k)
	for range 3 {
		l.Warnf("disk %d", 1)
		l.Errorf("disk %d", 2)
	}
	if want := []string{"NATS: disk 1", "NATS: disk 2"}; !slices.Equal(k.lines, want) {
		t.Errorf("%q, want %q", k.lines, want)
	}
	clock := time.Now()
	l.now = func() time.Time { return clock }
	for i := range 10 * maxLogged {
		l.Warnf("%d", i)
	}
	if len(l.logged) > maxLogged || len(k.lines) != maxLogged {
		t.Errorf("%d remembered, %d lines", len(l.logged), len(k.lines))
	}
	clock = clock.Add(time.Minute)
	l.Warnf("a subject with \x1b[2J\n")
	if want := []string{"NATS: 578 more warnings", "NATS: a subject with ?[2J?"}; !slices.Equal(k.lines[maxLogged:], want) {
		t.Errorf("%q, want %q", k.lines[maxLogged:], want)
	}
}
