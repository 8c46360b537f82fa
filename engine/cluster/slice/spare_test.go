// SPDX-License-Identifier: Apache-2.0

package slice

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// oneSite returns packets of a site that are spread evenly over time, and all differ.
func oneSite(rng *rand.Rand, n int, from, span int64) []event {
	events := make([]event, n)
	for i := range events {
		events[i] = event{rng.Uint64(), from + span*int64(i)/int64(n)/10*10, "a"}
	}
	return events
}

// predictEvicted returns the share of the digests that evict one of the window, at the
// given number of live ones a line, not counting spare lines. The live ones of a line are
// Poisson; one more evicts if its line has no free cell and the cells that 12 lines have
// spilled fill their spare line.
func predictEvicted(load float64) (sum float64) {
	const most = 40
	line, p := [most]float64{}, math.Exp(-load) // chances to spill each number of cells
	full, had := [most]float64{}, 0             // and to be full, too
	for ; had < most; had++ {
		over := max(had-cells, 0)
		line[over] += p
		if had >= cells {
			full[over] += p
		}
		p *= load / float64(had+1)
	}
	for range linesPerSpare - 1 {
		next := [most]float64{}
		for i, a := range full {
			for j, b := range line[:most-i] {
				next[i+j] += a * b
			}
		}
		full = next
	}
	for _, p := range full[cells:] {
		sum += p
	}
	return sum
}

// TestLoads has two sites send the same packets in turn, at many loads: evictions are as
// predicted, no more copies are missed than digests were evicted, and 0.95 digests a line
// cost as few as 0.15 did without spare lines.
func TestLoads(t *testing.T) {
	const lines = 13 << 9
	rng := rand.New(rand.NewPCG(6, 1))
	for _, load := range []float64{0.5, 0.95, 1.3, 1.8, 2.5} {
		s := newSlice(t, time.Second, lines*lineBytes, lines*lineBytes)
		s.clocks.window = 0
		window := int64(time.Second / time.Microsecond)
		n := int(load * float64(len(s.rows.lines)))
		seqs, missed, sent := map[string]uint64{}, uint64(0), 0
		var waiting []event // of the other site, which sends half a window later
		for tenth := range int64(100) {
			events := oneSite(rng, n/10, at+tenth*window/10, window/10)
			apply(t, s, events, seqs)
			for _, e := range events {
				delay := window/2 + rng.Int64N(window/100)*10 // all kinds, so nothing is learned of clocks
				waiting = append(waiting, event{e.digest, e.time + delay, "b"})
			}
			sent += len(events)
			if tenth < 5 {
				continue
			}
			for _, isCopy := range apply(t, s, waiting[:len(events)], seqs) {
				if !isCopy {
					missed++
				}
			}
			waiting = waiting[len(events):]
		}
		st := s.Stats()
		if missed > st.EvictedLive {
			t.Errorf("load %v: %d copies missed, %d evicted live", load, missed, st.EvictedLive)
		}
		got, want := float64(st.EvictedLive), predictEvicted(load)*float64(sent)
		if d := math.Abs(got - want); d > 0.25*want+5*math.Sqrt(want)+3 {
			t.Errorf("load %v: %v of %d evicted, want %.1f", load, got, sent, want)
		}
		t.Logf("load %v: %v of %d evicted, predicted %.1f, missed %d, fill %.3f", load, got, sent, want, missed, st.Fill)
	}
	if p := predictEvicted(0.95); p > 1./50_000 {
		t.Errorf("at 0.95 a line, one in %.0f is evicted", 1/p)
	}
}

// TestModelOfSpareLines compares a slice whose spare lines are in use with the plain
// rule: where nothing live was evicted verdicts are equal, and a missed copy had its
// digest evicted.
func TestModelOfSpareLines(t *testing.T) {
	for _, c := range []struct {
		name   string
		lines  int
		gap    int64 // most between packets
		sites  int
		jitter int64
	}{
		{"little room", 13, 40, 3, 0},
		{"much room", 13 * 16, 40, 3, 0},
		{"jitter", 13 * 16, 40, 4, 400},
		{"no spare line", 12, 40, 3, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(7, uint64(c.lines)))
			s := newSlice(t, time.Millisecond, c.lines*lineBytes, c.lines*lineBytes)
			s.clocks.window = 0
			m := model{window: 1000, kept: map[uint64][]event{}}
			seqs, missed, spilled, now := map[string]uint64{}, uint64(0), 0, int64(at)
			for range 30_000 {
				now += 10 * rng.Int64N(c.gap/10+1)
				e := event{rng.Uint64N(200) * 0x9e3779b97f4a7c15, now, fmt.Sprint("site", rng.IntN(c.sites))}
				if c.jitter > 0 {
					e.time += (rng.Int64N(2*c.jitter) - c.jitter) / 10 * 10
				}
				got, want := apply(t, s, []event{e}, seqs)[0], m.one(e)
				if got && !want && missed == 0 {
					t.Fatal("a copy of nothing")
				}
				if want && !got {
					missed++
				}
				if s.rows.line(e.digest).spilled() {
					spilled++
				}
			}
			st := s.Stats()
			if missed > st.EvictedLive || st.EvictedLive > st.Evicted {
				t.Errorf("%d copies missed, %d evicted, %d live", missed, st.Evicted, st.EvictedLive)
			}
			if (spilled > 0) != (len(s.rows.spare) > 0) {
				t.Errorf("%d of 30,000 had a line that has spilled", spilled)
			}
			t.Logf("%d missed, %d evicted, %d live, %d spilled", missed, st.Evicted, st.EvictedLive, spilled)
		})
	}
}

// count returns how many cells are in use.
func (r *rows) count() (n uint64) {
	for i := range r.all() {
		for c := range uint(cells) {
			if (*line)(&r.all()[i]).mark(c) != 0 {
				n++
			}
		}
	}
	return n
}

// TestEvictedIsExact counts the cells: each digest that was remembered is in one, or was
// counted as evicted, also after the slice has grown and spare lines were tidied up.
func TestEvictedIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	s := newSlice(t, 10*time.Millisecond, 26*lineBytes, 104*lineBytes)
	seqs, sent, lines := map[string]uint64{}, uint64(0), len(s.rows.lines)
	for round := range int64(60) {
		n := []int{40, 150, 5, 400}[round%4]
		apply(t, s, oneSite(rng, n, at+round*10_000, 10_000), seqs)
		sent += uint64(n)
		if st := s.Stats(); s.rows.count()+st.Evicted != sent {
			t.Fatalf("round %d: %d remembered and %d evicted of %d", round, s.rows.count(), st.Evicted, sent)
		}
	}
	if len(s.rows.lines) == lines || len(s.rows.lines) != linesPerSpare*len(s.rows.spare) {
		t.Errorf("%d lines and %d spare ones, %d at first", len(s.rows.lines), len(s.rows.spare), lines)
	}
}

// TestGrowKeepsSpilled doubles a slice that has spilled: all digests are found after it.
func TestGrowKeepsSpilled(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	s := newSlice(t, time.Second, 13*8*lineBytes, 13*8*lineBytes)
	events := oneSite(rng, 180, at, 1000)
	seqs := map[string]uint64{}
	apply(t, s, events, seqs)
	spilled := 0
	for i := range s.rows.lines {
		if (*line)(&s.rows.lines[i]).spilled() {
			spilled++
		}
	}
	if spilled == 0 || s.Stats().Evicted != 0 {
		t.Fatalf("%d lines have spilled, %d digests are evicted", spilled, s.Stats().Evicted)
	}
	for range 3 {
		if err := s.rows.grow(); err != nil {
			t.Fatal(err)
		}
		if n := s.rows.count(); n != uint64(len(events)) {
			t.Fatalf("%d digests, want %d", n, len(events))
		}
	}
	for i := range events {
		events[i].site = "b"
	}
	for i, isCopy := range apply(t, s, events, seqs) {
		if !isCopy {
			t.Errorf("digest %d is lost", i)
		}
	}
}

// TestTidy has a full line empty in time: look-ups stop to ask its spare line.
func TestTidy(t *testing.T) {
	s := newSlice(t, time.Millisecond, 13*lineBytes, 13*lineBytes)
	seqs, first := map[string]uint64{}, make([]event, 6)
	for i := range first {
		first[i] = event{uint64(i + 1), at, "a"} // all in line 0
	}
	apply(t, s, first, seqs)
	l := (*line)(&s.rows.lines[0])
	if !l.spilled() || s.evicted != 0 {
		t.Fatalf("not spilled, or %d evicted", s.evicted)
	}
	for i := range first {
		first[i].site = "b"
	}
	for i, isCopy := range apply(t, s, first, seqs) {
		if !isCopy {
			t.Errorf("digest %d is lost", i)
		}
	}
	for i := range uint64(2) {
		if !l.spilled() {
			t.Errorf("tidy before digest %d", i)
		}
		apply(t, s, []event{{100 + i, at + 20_000, "a"}}, seqs)
	}
	if l.spilled() || s.evicted != 4 || s.evictedLive != 0 {
		t.Errorf("still spilled, or %d evicted, %d live", s.evicted, s.evictedLive)
	}
}

// TestSavedSpare saves and restores slices of any size while lines spill: they go on alike.
// The form before spare lines is refused.
func TestSavedSpare(t *testing.T) {
	for _, lines := range []int{1, 12, 13, 40, 200} {
		rng := rand.New(rand.NewPCG(10, uint64(lines)))
		s := newSlice(t, 20*time.Millisecond, lines*lineBytes, 4*lines*lineBytes)
		seqs := map[string]uint64{}
		for round := range int64(20) {
			data := s.Save(nil)
			twin, err := Restore(s.cfg, data)
			if err != nil {
				t.Fatal(err)
			}
			events := oneSite(rng, 6*lines, at+20_000*round, 20_000)
			for _, e := range events {
				events = append(events, event{e.digest, e.time + 10, "b"})
			}
			twinSeqs := maps.Clone(seqs)
			want, got := apply(t, s, events, seqs), apply(t, twin, events, twinSeqs)
			if fmt.Sprint(want) != fmt.Sprint(got) || !bytes.Equal(s.Save(nil), twin.Save(nil)) {
				t.Fatalf("%d lines, round %d: the restored slice differs", lines, round)
			}
			if st := twin.Stats(); st.MemoryBytes != s.Stats().MemoryBytes || st.MemoryBytes > s.cfg.Limit {
				t.Errorf("%d lines: %d bytes", lines, st.MemoryBytes)
			}
			closeSlice(t, twin)
		}
	}
	s := newSlice(t, time.Second, 13*lineBytes, 13*lineBytes)
	old, less := s.Save(nil), s.cfg
	less.Memory, less.Limit = 12*lineBytes, 12*lineBytes
	if _, err := Restore(less, old); !errors.Is(err, ErrSnapshot) {
		t.Errorf("more than fits gives %v", err)
	}
	old[len(magic)-1] = 2
	if _, err := Restore(s.cfg, old); !errors.Is(err, ErrSnapshot) {
		t.Errorf("the old form gives %v", err)
	}
}

// TestFindSpare looks a digest up in a line and its spare line: the mark of another site that is nearer
// counts, wherever it is, and a mark of this site is known in both.
func TestFindSpare(t *testing.T) {
	const digest, asks = 5, 1
	for _, c := range []struct {
		name         string
		line, spare  []mark
		other        mark
		known, alone bool // alone: the line has not spilled
	}{
		{"nearer in the spare line", []mark{newMark(at-900, 2)}, []mark{newMark(at-100, 3)}, newMark(at-100, 3), false, false},
		{"nearer in the line", []mark{newMark(at-100, 2)}, []mark{newMark(at-900, 3)}, newMark(at-100, 2), false, false},
		{"only in the spare line", nil, []mark{newMark(at-900, 3)}, newMark(at-900, 3), false, false},
		{"only in the line", []mark{newMark(at-900, 3)}, nil, newMark(at-900, 3), false, false},
		{"known in the spare line", []mark{newMark(at-900, 2)}, []mark{newMark(at, asks)}, newMark(at-900, 2), true, false},
		{"known in the line", []mark{newMark(at, asks)}, []mark{newMark(at+1, asks)}, 0, true, false},
		{"at other times", []mark{newMark(at-1, asks)}, []mark{newMark(at+1, asks)}, 0, false, false},
		{"not spilled", []mark{newMark(at-900, 2)}, []mark{newMark(at, asks), newMark(at-1, 3)}, newMark(at-900, 2), false, true},
	} {
		s := newSlice(t, time.Second, 13*lineBytes, 13*lineBytes)
		l := s.rows.line(digest)
		for i, m := range c.line {
			l.set(uint(i), digest, m)
		}
		for i, m := range c.spare {
			s.rows.spareOf(digest).set(uint(i), digest, m)
		}
		if !c.alone {
			l[cells] |= spilledBit
		}
		if other, known := s.rows.find(l, digest, at, asks); other != c.other || known != c.known {
			t.Errorf("%s: %x, %v", c.name, other, known)
		}
	}
}

// TestManualMemory holds what the manual says of 512 MiB in 64 slices: at 73 bytes they hold 7 million
// digests of a window, and with all cells in use 7 in 10^12 packets are taken for copies.
func TestManualMemory(t *testing.T) {
	const slices, memory, windows = 64, 512 << 20 / 64, 4
	s, err := New(Config{Window: time.Second, Memory: memory, Limit: memory, Slices: slices})
	if err != nil {
		t.Fatal(err)
	}
	defer closeSlice(t, s)
	const n = memory / 73
	apply(t, s, oneSite(rand.New(rand.NewPCG(7, 1)), windows*n, at, windows*int64(time.Second/time.Microsecond)), map[string]uint64{})
	st := s.Stats()
	if few := uint64(windows * n / 50_000); st.EvictedLive > 2*few || n*slices < 7e6 {
		t.Errorf("%d of %d digests are forgotten too early, %d in a window of all slices", st.EvictedLive, windows*n, n*slices)
	}
	if want := n / (cells * float64(memory/lineBytes)); math.Abs(st.Fill/want-1) > 0.1 {
		t.Errorf("%.3f of the cells are in use, want %.3f", st.Fill, want)
	}
	if got := fmt.Sprintf("%.0e", st.FPR/st.Fill); got != "7e-12" {
		t.Errorf("at most %s of the packets are taken for copies", got)
	}
}
