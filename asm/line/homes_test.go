// SPDX-License-Identifier: Apache-2.0

package line

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/internal/cpu"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
	"github.com/flowdedup/flowdedup/layout"
)

// homeModel is a cell of a line, plainly.
type homeModel struct {
	tag, home    uint32
	present      bool
	misses, time uint64
}

func homeCell(l *layout.Line, at int) homeModel {
	state := l[layout.HomeStates+at]
	return homeModel{
		uint32(l[at&1] >> (at / 2 * 32)), uint32(l[layout.HomePoints+at&1] >> (at / 2 * 32)), state>>63 == 1,
		state >> 58 & 31, state << 6,
	}
}

func setHomeCell(l *layout.Line, at int, c homeModel) {
	shift := at / 2 * 32
	for word, half := range map[int]uint32{at & 1: c.tag, layout.HomePoints + at&1: c.home} {
		l[word] = l[word]&^(math.MaxUint32<<shift) | uint64(half)<<shift
	}
	l[layout.HomeStates+at] = c.misses<<58 | c.time>>6
	if c.present {
		l[layout.HomeStates+at] |= 1 << 63
	}
}

// atHomeModel does the work of AtHome, for one packet.
func atHomeModel(lines []layout.Line, s *Sightings, i int, r *HomeRule) (home, stop bool) {
	conversation, now := s.Conversation[i], s.Times[i]
	line := &lines[conversation%uint64(len(lines))]
	at := 0
	for at < layout.HomeCells && homeCell(line, at).tag != uint32(conversation>>32) {
		at++
	}
	if conversation == 0 || now == math.MinInt64 || s.Fragment[i] != 0 || at == layout.HomeCells || !homeCell(line, at).present {
		return false, true
	}
	c := homeCell(line, at)
	switch {
	case c.home == uint32(s.Point[i]):
		c.misses, c.time, home = 0, uint64(now), true
	case s.Copies>>i&1 != 0:
		return false, false
	default:
		if c.misses == 0 || now < int64(c.time) {
			c.misses, c.time = 0, uint64(now)
		}
		c.misses = min(c.misses+1, r.Misses)
		lasted := now - int64(c.time)
		if lasted < 0 || lasted >= r.Silence || c.misses == r.Misses && lasted > r.Hold {
			return false, true
		}
	}
	setHomeCell(line, at, c)
	return home, false
}

// randomHomes has lines of a few conversations, and packets of most of them.
func randomHomes(rng *rand.Rand, lines []layout.Line, s *Sightings, r *HomeRule) {
	span := r.Silence / 4
	for i := range lines {
		first := rng.IntN(5)
		for at := range layout.HomeCells {
			setHomeCell(&lines[i], at, homeModel{
				tag: uint32(first+at+rng.IntN(20)/19) % 5, home: rng.Uint32N(2) << 30, present: rng.IntN(30) > 0,
				misses: rng.Uint64N(r.Misses + 1), time: uint64(rng.Int64N(span)),
			})
		}
	}
	for i := range s.Conversation {
		s.Conversation[i], s.Fragment[i] = uint64(rng.IntN(17)%4)<<32|rng.Uint64N(1<<16), 0
		s.Point[i], s.Times[i] = rng.Uint64()<<32|rng.Uint64N(2)<<30, rng.Int64N(span)
		switch rng.IntN(400) {
		case 0:
			s.Fragment[i] = rng.Uint64()
		case 1:
			s.Conversation[i] = 0
		case 2:
			s.Times[i] = math.MinInt64
		case 3:
			s.Times[i] = math.MaxInt64 - rng.Int64N(span)
		case 4:
			s.Times[i] = math.MinInt64 + 1 + rng.Int64N(span)
		}
	}
	s.Copies = rng.Uint64()
}

// TestAtHome compares the results, and the lines, with a plain model, with guard pages
// around all buffers.
func TestAtHome(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(31, 32))
		homes, away, stops, whole := 0, 0, 0, 0
		for round := range 1200 {
			front, n := round%2 == 0, rng.IntN(65)
			r := &HomeRule{Silence: 1 << 40, Hold: rng.Int64N(1 << 39), Misses: 1 + rng.Uint64N(31)}
			if round%3 == 0 {
				r.Hold = math.MaxInt64
			}
			lines := kerneltest.Part(kerneltest.Guarded[layout.Line](t, 16, front), 16, front)
			words := func() []uint64 { return kerneltest.Part(kerneltest.Guarded[uint64](t, 64, front), n, front) }
			s := &Sightings{Conversation: words(), Fragment: words(), Point: words(), Times: kerneltest.Part(kerneltest.Guarded[int64](t, 64, front), n, front)}
			randomHomes(rng, lines, s, r)
			model, generic := slices.Clone(lines), slices.Clone(lines)
			got, done := AtHome(lines, s, r)
			for i := range n {
				home, stop := atHomeModel(model, s, i, r)
				if stop != (i == done) || home != (got>>i&1 != 0) {
					t.Fatalf("packet %d of %d: at home %v, stop %v; got %b, done %d", i, n, home, stop, got, done)
				}
				if stop {
					stops++
					break
				}
				if home {
					homes++
				} else {
					away++
				}
			}
			if done == n {
				whole++
			}
			if got>>done != 0 && done < 64 || !slices.Equal(lines, model) {
				t.Fatalf("%d of %d: bits %b, or lines differ", done, n, got)
			}
			kerneltest.AtLevel(cpu.Generic, func() {
				if same, to := AtHome(generic, s, r); same != got || to != done || !slices.Equal(generic, lines) {
					t.Fatalf("generic: %b, %d, want %b, %d", same, to, got, done)
				}
			})
		}
		if homes < 400 || away < 400 || stops < 120 || whole < 20 {
			t.Errorf("%d at home, %d away, %d stops, %d done wholly", homes, away, stops, whole)
		}
	})
}

func TestAtHomePanics(t *testing.T) {
	for name, call := range map[string]func(){
		"lines": func() {
			AtHome(make([]layout.Line, 3), &Sightings{Conversation: make([]uint64, 1), Fragment: make([]uint64, 1), Point: make([]uint64, 1), Times: make([]int64, 1)}, &HomeRule{})
		},
		"slices": func() {
			AtHome(make([]layout.Line, 4), &Sightings{Conversation: make([]uint64, 1), Fragment: make([]uint64, 1), Point: make([]uint64, 1)}, &HomeRule{})
		},
	} {
		t.Run(name, func(t *testing.T) { kerneltest.Panics(t, "", call) })
	}
}
