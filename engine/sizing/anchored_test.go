// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/sizing/sizingtest"
	"github.com/flowdedup/flowdedup/engine/window"
	"github.com/flowdedup/flowdedup/layout"
)

// TestAnchored compares windows that begin at an insertion with window.Timed, for streams of repeats at random lags and for fixed populations.
func TestAnchored(t *testing.T) {
	const elements, size = 400_000, 16_000
	for _, s := range []struct {
		name string
		madeStream
		off float64
	}{
		{"lags, 90 % new", lagged(elements, size, 0.9), 0.05},
		{"lags, 60 % new", lagged(elements, size, 0.6), 0.1},
		{"lags, 30 % new", lagged(elements, size, 0.3), 0.1},
		{"lags, 10 % new", lagged(elements, size, 0.1), 0.15},
		{"population that comes 3 times", drawn(elements, 5300, size), 0.1},
		{"population that comes 20 times", drawn(elements, 800, size), 0.1},
	} {
		for _, load := range []float64{8, 4} { // of different elements in a line
			q := s.question
			q.Kind, q.Elements = Count, size
			r, err := NewRequest(q)
			if err != nil {
				t.Fatal(err)
			}
			lines := int(r.Window / load)
			q.MemoryBits = lines * lineBits
			c := planned(t, q, "timed")
			_, fpr, fnr, copies := rates(t, c, q, c.Bits/8, s.elements, 2*size)
			what := fmt.Sprintf("%s, %d lines", s.name, lines)
			if fpr > 0 {
				t.Errorf("%s: FPR %g", what, fpr)
			}
			// The elements of a population stay in their lines, so lines are the trials.
			off := s.off
			if c.FNR > 0.1 {
				off = max(off, 0.35) // misses are insertions, which crowd the same lines
			}
			sizingtest.Near(t, what+" FNR", c.FNR, fnr, off, min(copies, float64(20*lines)), false)
		}
	}
}

// TestPopulation compares fixed populations that come all the time with filters whose lines they
// crowd. Predictions are within 15 %, and five standard deviations of the spare lines whose members
// are missed, up to a tenth of their copies (1 in 3.5 million).
func TestPopulation(t *testing.T) {
	for _, c := range []struct {
		method string
		turns  float64 // in a window
		load   float64 // of remembered members, in cells of a line
		spare  int     // spare lines
	}{{"timed", 3.2, 0.75, 1200}, {"timed", 10, 0.75, 600}, {"fine", 3.2, 1, 300}, {"coarse", 10, 1, 200}} {
		cells := map[string]float64{"timed": layout.TimedCells, "fine": layout.FineCells, "coarse": layout.CoarseCells}[c.method]
		lines := 13 * c.spare
		members := int(c.load * cells * float64(lines-c.spare) * (1 + c.turns) / c.turns)
		size := int(float64(members) * c.turns)
		s := drawn(6*size, members, size)
		s.question.Kind, s.question.Elements, s.question.MemoryBits, s.question.FPR = Count, float64(size), lines*lineBits, 1e-5
		p := planned(t, s.question, c.method)
		_, _, fnr, _ := rates(t, p, s.question, p.Bits/8, s.elements, 2*size)
		sizingtest.Near(t, fmt.Sprintf("%s, %v turns: FNR", c.method, c.turns), p.FNR, fnr, 0.15, float64(10*c.spare), false)
	}
}

// TestFewMisses compares low rates with window.Timed, where the streams have few new elements:
// their gaps are far from independent. Predictions are within a fifth, and five standard
// deviations of the rows that miss (1 in 3.5 million).
func TestFewMisses(t *testing.T) {
	const elements, size = 400_000, 16_000
	for _, fresh := range []float64{0.6, 0.3, 0.1} {
		s := lagged(elements, size, fresh)
		q := s.question
		q.Kind, q.Elements = Count, size
		inserted := newAnchored(&q).insertions * size
		for _, load := range []float64{5, 4, 3.5} {
			q.MemoryBits = int(inserted/load) * lineBits
			c := planned(t, q, "timed")
			_, _, fnr, copies := rates(t, c, q, c.Bits/8, s.elements, 2*size)
			sizingtest.Near(t, fmt.Sprintf("%v new, %v in a line: FNR", fresh, load), c.FNR, fnr, 0.2, copies/4, false)
		}
	}
}

// madeStream is a stream with its description in a question.
type madeStream struct {
	elements []digest.Digest
	question Question
}

// lagged is a stream of repeats at random lags, measured.
func lagged(elements, size int, fresh float64) madeStream {
	all := sizingtest.NewStream(elements, fresh, float64(size), 21)
	track := NewTracker(window.Window{Packets: int64(size)}, false, MaxTracked)
	for _, d := range all.Elements {
		track.Add(d, 0)
	}
	return madeStream{all.Elements, Question{Distinct: track.DistinctShare(), Gaps: track.Gaps(), Sample: track.Sample(), Length: float64(elements)}}
}

// drawn is a stream of equally likely elements with only their number known.
func drawn(elements, members, size int) madeStream {
	different := float64(members) * -math.Expm1(-float64(size)/float64(members))
	return madeStream{sizingtest.Population(elements, members, 5), Question{Different: different}}
}

// TestDifferent expects the model to agree on the number of different elements in the
// window, whatever it is, and gaps within the window.
func TestDifferent(t *testing.T) {
	measured := Gaps{{1, 0.5}, {100, 0.3}, {1000, 0.2}}
	for _, kind := range []Kind{Sliding, Count, Unbounded, Landmark} {
		for _, elements := range []float64{10, 1e3, 3e8, 3.6e9} {
			for _, share := range []float64{1, 0.99, 0.5, 0.1, 1e-3, 1e-7} {
				for _, gaps := range []Gaps{nil, measured} {
					different := share * elements
					if different < 3 || gaps != nil && elements < 1000 {
						continue
					}
					q, err := NewRequest(Question{Kind: kind, Elements: elements, Different: different, Gaps: gaps})
					if err != nil {
						t.Fatal(err)
					}
					got := q.DistinctIn(elements)
					if kind == Landmark {
						got = q.Window
					}
					if math.Abs(got/different-1) > 0.02 {
						t.Errorf("%v window of %g: %g different elements, asked for %g", kind, elements, got, different)
					}
					if sum := q.Gaps.Quantile(1); kind != Unbounded && sum > 1.01*elements && gaps == nil {
						t.Errorf("%v window of %g: gaps up to %g", kind, elements, sum)
					}
				}
			}
		}
	}
	if _, err := Plan(Question{Kind: Count, Elements: 100, Different: 200}); !errors.Is(err, ErrQuestion) {
		t.Error(err)
	}
}
