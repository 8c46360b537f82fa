// SPDX-License-Identifier: Apache-2.0

package window

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"github.com/flowdedup/flowdedup/engine/snapshot"
)

const timersMillisecond = int64(time.Millisecond)

// TestTimersClocks has packets come late, and clocks go back.
func TestTimersClocks(t *testing.T) {
	const ms = timersMillisecond
	s, want := &check.Packets{}, []bool{}
	add := func(id uint64, at int64, isCopy bool) {
		s.Add(digest.Digest{id * 0x9e3779b97f4a7c15, id << 59}, at, 0)
		want = append(want, isCopy)
	}
	add(1, calendar.NoTime, false)
	add(1, calendar.NoTime, false)
	add(1, 100*ms, false)
	add(1, 100*ms-ms/2, true) // late, within the window
	add(2, 99*ms-ms/2, false) // late by more
	add(2, 99*ms-ms/2, true)  // a copy in quarantine
	add(2, 99*ms+ms/4, true)  // the same, though its time is believed
	add(2, 99*ms+ms/4, true)  // the quarantine is outvoted
	add(2, 99*ms+ms/4, false) // and forgotten
	add(2, 100*ms, true)
	add(4, 103*ms, false) // after a pause
	add(4, 103*ms, true)
	for i := range uint64(14) { // the last one of them sets the clock
		add(5+i, 103*ms+ms/2, false)
	}
	add(4, 104*ms, true)
	add(5, 104*ms, true)
	for i := range uint64(calendar.Quorum) { // the clock goes back
		add(20+i%2, int64(i), i > 1)
	}
	add(20, ms, true)
	add(4, 104*ms, false) // and forward again
	add(20, 104*ms, false)
	for _, batch := range []int{1, 7, len(want)} {
		f := newTimers(t, TimersConfig{Window: mustWindow(t, "1ms"), Memory: 1 << 16})
		if got := s.Verdicts(f, batch); !slices.Equal(got, want) {
			t.Errorf("batches of %d: %v, want %v", batch, got, want)
		}
	}
}

// missedCopies counts the packets that were kept though a packet with the same digest had
// been kept within the window. Nothing in that depends on the filter's clock.
func missedCopies(s *check.Packets, got []bool, window int64) (missed int) {
	kept := map[digest.Digest][]int64{}
	for i, d := range s.Digests {
		t := s.Times[i]
		if got[i] || t == calendar.NoTime {
			continue
		}
		if slices.ContainsFunc(kept[d], func(k int64) bool { return calendar.Distance(k, t) <= uint64(window) }) {
			missed++
		}
		kept[d] = append(kept[d], t)
	}
	return missed
}

// interfaceBlocks makes a capture of three interfaces, which see each packet 10 us after
// each other. A capture has blocks of the given number of packets of each.
func interfaceBlocks(n, block int) *check.Packets {
	s, digests := &check.Packets{}, check.Digests(84, n)
	for from := 0; from < n; from += block {
		for port := range 3 {
			for i := from; i < min(from+block, n); i++ {
				s.Add(digests[i], int64(1e18)+int64(i)*100_000+int64(port)*10_000, uint32(port))
			}
		}
	}
	return s
}

// stepping moves the clock of a part of an ordered stream.
func stepping(from, to int, by time.Duration) *check.Packets {
	s := check.RandomPackets(85, 6000, check.Clocks(timersMillisecond)["in order"])
	for i := from; i < min(to, len(s.Times)); i++ {
		if s.Times[i] != calendar.NoTime {
			s.Times[i] += int64(by)
		}
	}
	return s
}

// TestTimersUnordered compares the copies that the filter misses, and the elements that it
// counts as late, with a map. Batches and restarts change neither.
func TestTimersUnordered(t *testing.T) {
	const none, any = 0, math.MaxInt
	random := func(clock string) *check.Packets {
		return check.RandomPackets(86, 6000, check.Clocks(timersMillisecond)[clock])
	}
	for _, c := range []struct {
		name                string
		stream              *check.Packets
		mostMissed          int
		leastLate, mostLate int
	}{
		{"in order", random("in order"), none, none, none},
		{"pauses", random("slow"), none, none, none},
		{"one pause", stepping(3000, 6000, 400*24*time.Hour), none, none, none},
		{"out of order", random("out of order"), any, 1, any},
		{"jumps", random("jumps"), any, 1, any},
		{"blocks of 5", interfaceBlocks(3000, 5), none, none, none},
		{"blocks of 15", interfaceBlocks(3000, 15), any, 1000, any},
		{"blocks of 300", interfaceBlocks(3000, 300), any, 5000, any},
		{"a false future time", stepping(3000, 3001, 24*time.Hour), none, 1, 1},
		{"a false past time", stepping(3000, 3001, -24*time.Hour), none, 1, 1},
		{"15 packets ahead", stepping(3000, 3015, time.Hour), none, 5, 15},
		{"16 packets ahead", stepping(3000, 3016, time.Hour), any, 1, any},
		{"15 packets back", stepping(3000, 3015, -time.Hour), none, 5, 15},
		{"16 packets back", stepping(3000, 3016, -time.Hour), any, 5, 60},
		{"set back an hour", stepping(3000, 6000, -time.Hour), none, 1000, 3000},
		{"the least time", stepping(3000, 3001, math.MinInt64), none, 1, 1},
	} {
		for _, config := range []TimersConfig{{}, {TimerBits: 16}} {
			config.Window, config.Memory = mustWindow(t, "1ms"), 1<<18
			whole := newTimers(t, config)
			got := c.stream.Verdicts(whole, len(c.stream.Times))
			late := int(whole.Stats().Late.Elements)
			missed := missedCopies(c.stream, got, timersMillisecond)
			if missed > min(late, c.mostMissed) || late < c.leastLate || late > c.mostLate {
				t.Errorf("%s, %+v: %d missed, %d late", c.name, config, missed, late)
			}
			checkTimersCuts(t, c.name, config, c.stream, got, whole)
		}
	}
}

// checkTimersCuts wants the same of a filter that gets a stream in parts, and restarts
// between them.
func checkTimersCuts(t *testing.T, name string, config TimersConfig, s *check.Packets, want []bool, whole *Timers) {
	t.Helper()
	if got := s.Verdicts(newTimers(t, config), 1); !slices.Equal(got, want) {
		t.Errorf("%s: other verdicts one by one", name)
	}
	f, rng := newTimers(t, config), rand.New(rand.NewPCG(87, 87))
	for at := 0; at < len(want); {
		to := min(at+1+rng.IntN(1000), len(want))
		if !slices.Equal(s.Part(at, to).Verdicts(f, 1+rng.IntN(100)), want[at:to]) {
			t.Fatalf("%s: other verdicts from packet %d to %d", name, at, to)
		}
		at, f = to, check.Restart(t, f, RestoreTimers)
	}
	if f.Stats() != whole.Stats() {
		t.Errorf("%s: %+v, want %+v", name, f.Stats(), whole.Stats())
	}
}

// TestTimersDisorder has packets come late by less than the window. They count as if they
// came when the latest packet did, and no copy within the window is missed.
func TestTimersDisorder(t *testing.T) {
	s := check.RandomPackets(88, 20_000, check.Clocks(timersMillisecond)["out of order"])
	got := s.Verdicts(newTimers(t, TimersConfig{Window: mustWindow(t, "1ms"), Memory: ample}), 1000)
	latest := int64(calendar.NoTime)
	for i, at := range s.Times {
		latest = max(latest, at)
		if at != calendar.NoTime {
			s.Times[i] = latest
		}
	}
	if missed := missedCopies(s, got, timersMillisecond); missed > 0 {
		t.Errorf("%d copies missed", missed)
	}
}

// TestTimersLate says which packet was late first, and by how much.
func TestTimersLate(t *testing.T) {
	f := newTimers(t, TimersConfig{Window: mustWindow(t, "1ms"), Memory: ample})
	stepping(3000, 3001, -time.Hour).Verdicts(f, 1000)
	late := f.Stats().Late
	if late.First != 3001 || late.By < time.Hour-time.Millisecond || late.By > time.Hour+time.Millisecond || late.SuggestedMemory != 0 {
		t.Errorf("%+v", late)
	}
}

// TestTimersCountSaved has a saved number of timers that is wrong. A pause must not be
// swept to its end for that.
func TestTimersCountSaved(t *testing.T) {
	f := newTimers(t, TimersConfig{Window: mustWindow(t, "1ms"), Memory: 6400})
	f.counts.NonZero = 1
	f = check.Restart(t, f, RestoreTimers)
	stepping(10, 6000, 400*24*time.Hour).Verdicts(f, 1000)
}

// TestTimersQuarantineSaved refuses clocks that cannot be.
func TestTimersQuarantineSaved(t *testing.T) {
	f := newTimers(t, TimersConfig{Window: mustWindow(t, "1ms"), Memory: 6400})
	stepping(990, 1000, time.Hour).Part(0, 1000).Verdicts(f, 100)
	if f.waiting == 0 {
		t.Fatal("nothing in quarantine: the stream tests nothing")
	}
	for name, damage := range map[string]func(f *Timers){
		"fewer votes":   func(f *Timers) { f.waiting = 0 },
		"too many held": func(f *Timers) { f.waiting = calendar.Quorum },
		"less than 0":   func(f *Timers) { f.waiting = -1 },
		"not started":   func(f *Timers) { f.started = false },
		"another tick":  func(f *Timers) { f.now++ },
		"swept before":  func(f *Timers) { f.began = f.swept + 1 },
		"late sweep":    func(f *Timers) { f.swept -= 1000; f.began = 0 },
	} {
		clock := f.timersClock
		damage(f)
		saved := check.Saved(t, f)
		f.timersClock = clock
		if _, err := RestoreTimers(bytes.NewReader(saved), check.SavedConfig); !errors.Is(err, snapshot.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
