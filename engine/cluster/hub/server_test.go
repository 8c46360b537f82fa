// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// keptWarnings keeps warnings.
type keptWarnings struct {
	mu    sync.Mutex
	lines []string
}

func (*keptWarnings) Log(string) {}

func (k *keptWarnings) Warn(text string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lines = append(k.lines, text)
}

func (k *keptWarnings) all() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.lines)
}

// TestServerLog has a server log the same again and again.
func TestServerLog(t *testing.T) {
	var k keptWarnings
	l := newServerLog(&k)
	for range 3 {
		l.warn("disk 1")
		l.warn("disk 2")
	}
	if want := []string{"NATS: disk 1", "NATS: disk 2"}; !slices.Equal(k.lines, want) {
		t.Errorf("%q, want %q", k.lines, want)
	}
	clock := time.Now()
	l.now = func() time.Time { return clock }
	for i := range 10 * maxLogged {
		l.warn(strconv.Itoa(i))
	}
	if len(l.logged) > maxLogged || len(k.lines) != maxLogged {
		t.Errorf("%d remembered, %d lines", len(l.logged), len(k.lines))
	}
	clock = clock.Add(time.Minute)
	l.warn("a subject with \x1b[2J\n")
	if want := []string{"578 more warnings", "NATS: a subject with ?[2J?"}; !slices.Equal(k.lines[maxLogged:], want) {
		t.Errorf("%q, want %q", k.lines[maxLogged:], want)
	}
}
