// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/hubclient"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/layout"
)

// reference answers for one chain.
type reference interface {
	seen(element, unit uint64) bool
}

type bitsOf struct{ *paper.Sliced }

func (f bitsOf) seen(element, _ uint64) bool { return f.TestAndSet(digest.Digest{element, 0}) }

type timersOf struct{ *paper.TimerBloom }

func (f timersOf) seen(element, unit uint64) bool {
	return f.TestAndSetAt(digest.Digest{element, 0}, unit)
}

// eventsOf counts the elements that it has reported as new: that is the time of its
// filter.
type eventsOf struct {
	reference
	delivered uint64
}

func (f *eventsOf) seen(element, _ uint64) bool {
	seen := f.reference.seen(element, f.delivered)
	if !seen {
		f.delivered++
	}
	return seen
}

// diced is a filter of timers in v-h diced slices, which engine/paper has not.
type diced struct {
	shape  Shape
	window uint64
	zeroAt map[uint64]uint64
	now    uint64
}

func (f *diced) seen(element, unit uint64) bool {
	pos := make([]uint64, f.shape.Hashes)
	layout.Positions(pos, digest.Digest{element, 0}, uint64(f.shape.Size()*f.shape.Slices()))
	layout.DiceVertical(pos, uint64(f.shape.Size()), f.shape.H)
	f.now = max(f.now, unit)
	var values []uint64
	for _, p := range pos {
		values = append(values, f.zeroAt[p])
	}
	if layout.EqualGroup(values, f.now) >= max(1, f.shape.Equal) {
		return true
	}
	if zeroAt := unit + f.window; zeroAt > f.now {
		for _, p := range pos {
			f.zeroAt[p] = max(f.zeroAt[p], zeroAt)
		}
	}
	return false
}

// newReference returns the filter of engine/paper that equals one chain of a shape.
func newReference(t testing.TB, s Shape) reference {
	t.Helper()
	size := s.Size() * s.Links()
	switch {
	case s.Grow != "" && s.Filter == Timers && s.Links() > 1:
		return newGrownTimers(t, s)
	case s.Grow != "" && s.Filter == Timers:
		return newDynamic(t, s)
	case s.Grow != "":
		return newGrown(t, s)
	}
	if s.Filter == Events {
		s.Filter = Timers // whose units are given
		return &eventsOf{reference: newTimers(t, s, uint64(s.Deliveries)+1)}
	}
	if s.Filter == Timers {
		return newTimers(t, s, s.Window())
	}
	c := paper.SlicedConfig{Bits: size, K: s.Hashes, Slices: s.Links(), AtLeast: s.AtLeast}
	f, err := paper.NewVertical(c)
	if s.Layout == VH {
		c.Slices = s.V
		f, err = paper.NewVHDiced(c, s.H)
	}
	if err != nil {
		t.Fatal(err)
	}
	return bitsOf{f}
}

// newTimers returns a filter of timers with a window in units.
func newTimers(t testing.TB, s Shape, window uint64) reference {
	t.Helper()
	if s.Layout == VH {
		return &diced{shape: s, window: window, zeroAt: map[uint64]uint64{}}
	}
	f, err := paper.NewTimerBloom(paper.TimerConfig{Timers: s.Size() * s.Links(), K: s.Hashes, Window: int(window), Equal: s.Equal})
	if err != nil {
		t.Fatal(err)
	}
	return timersOf{f}
}

// stream makes events that come again, at about the same times or later, some of them late.
type stream struct {
	rng  *rand.Rand
	time int64
	past []uint64
}

func (s *stream) next() (element uint64, t int64) {
	s.time += s.rng.Int64N(3) * hubclient.DeltaUnit
	if len(s.past) > 0 && s.rng.IntN(3) > 0 {
		element = s.past[len(s.past)-1-s.rng.IntN(min(len(s.past), 400))]
	} else {
		element = s.rng.Uint64() & (1<<hubclient.DigestBits - 1)
		if s.past = append(s.past, element); len(s.past) > 10_000 {
			s.past = s.past[5000:]
		}
	}
	t = s.time
	if s.rng.IntN(20) == 0 {
		t -= s.rng.Int64N(8000)
	}
	return element, t / hubclient.DeltaUnit * hubclient.DeltaUnit
}

// shapes are all layouts with all filters and primitives.
func shapes() (all []Shape) {
	for _, s := range []Shape{
		{Layout: Horizontal, H: 5, V: 1}, {Layout: Vertical, H: 1, V: 6}, {Layout: HV, H: 3, V: 4}, {Layout: VH, H: 3, V: 4},
	} {
		for _, filter := range Filters {
			for _, primitive := range Primitives {
				for _, equal := range []int{0, 3} {
					s.Filter, s.Primitive, s.Equal, s.Hashes, s.AtLeast = filter, primitive, equal, 4, 4
					s.Bytes, s.WindowUS, s.Deliveries = 8<<10, 0, 0
					switch filter {
					case Bloom:
						s.Bytes = 4 << 10 // fills up, so that all of its rates come by
					case Timers:
						s.WindowUS = 5000
					case Events:
						s.Deliveries = 100
					}
					if s.Check() == nil {
						all = append(all, s)
					}
				}
			}
		}
	}
	return all
}

// TestReferences has each layout with each filter answer as engine/paper's does, event by
// event. Two sites send batches to all chains, several at a time. Meanwhile slices move, and are
// killed.
func TestReferences(t *testing.T) {
	count := eventsOr(t, 200_000, 10_000)
	for _, s := range shapes() {
		if s.Filter == Bloom { // it never forgets
			s.Bytes = max(s.Bytes, count/50)
		}
		t.Run(fmt.Sprintf("%v, equal %d", s, s.Equal), func(t *testing.T) {
			w := newWires(t, s, rand.New(rand.NewPCG(1, 2)))
			w.moves = max(400, count/1000)
			w.kills = w.moves
			compare(t, w, count, nil)
		})
	}
}

// eventsOr returns the number of events that FLOWDEDUP_EVENTS says, or one of the others.
func eventsOr(t *testing.T, long, short int) int {
	t.Helper()
	if text := os.Getenv("FLOWDEDUP_EVENTS"); text != "" {
		count, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return count
	}
	if testing.Short() {
		return short
	}
	return long
}

// compare sends the given number of events, and compares each verdict. lose, if not nil,
// is called once in the middle, when nothing is under way.
func compare(t *testing.T, w *wires, count int, lose func(references []reference)) {
	t.Helper()
	s := w.shape
	var references []reference
	for range s.Chains() {
		references = append(references, newReference(t, s))
	}
	source := &stream{rng: w.rng, time: 1e15}
	want, copies, rounds := map[string][]byte{}, 0, 0
	for came := 0; came < count; rounds++ {
		if lose != nil && came >= count/2 {
			for w.step() {
			}
			lose(references)
			lose = nil
		}
		site, chain := rounds%2, w.rng.IntN(s.Chains())
		n := 1 + w.rng.IntN(200)
		elements, times, bits := make([]uint64, n), make([]int64, n), make([]byte, (n+7)/8)
		for i := range n {
			elements[i], times[i] = source.next()
			unit := uint64(times[i]) / hubclient.DeltaUnit / s.Unit()
			if references[chain].seen(elements[i], unit) {
				bits[i/8] |= 1 << (i % 8)
				copies++
			}
		}
		name := fmt.Sprint("request ", rounds)
		want[name] = bits
		first := s.Number(chain, 0)
		msg := request(uint64(rounds), elements, times)
		w.waiting[first] = append(w.waiting[first], &sent{site: []string{"a", "b"}[site], reply: name, msg: msg})
		came += n
		for range w.rng.IntN(5 * s.Links()) { // more than arrive, on average
			w.step()
		}
	}
	for w.step() {
	}
	for name, bits := range want {
		if got := w.answers[name]; string(got) != string(bits) {
			t.Fatalf("%s: %x, want %x", name, got, bits)
		}
	}
	if copies < count/50 || copies > count*99/100 {
		t.Errorf("%d copies of %d events show little", copies, count)
	}
}
