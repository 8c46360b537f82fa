// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/engine/cluster/slice"
	"github.com/flowdedup/flowdedup/engine/hubclient"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// TestLostReferences makes two of the slices of a chain lose their state, in the middle
// of the stream. For any required number of answers, verdicts equal those of
// engine/paper's filter with as many failed slices.
func TestLostReferences(t *testing.T) {
	count := 200_000
	if testing.Short() {
		count = 10_000
	}
	for _, s := range shapes() {
		if s.Filter != Bloom || s.Links() == 1 {
			continue
		}
		for x := range s.Hashes + 1 {
			s.AtLeast = x
			s.Bytes = 32 << 10
			t.Run(fmt.Sprintf("%v, %d answers", s, x), func(t *testing.T) {
				w := newWires(t, s, rand.New(rand.NewPCG(3, uint64(x))))
				compare(t, w, count, func(references []reference) {
					for chain, r := range references {
						for _, link := range []int{0, s.Links() - 1} { // including links that do more than others
							w.crash(s.Number(chain, link))
							if err := r.(bitsOf).Fail(link); err != nil {
								t.Fatal(err)
							}
						}
					}
				})
			})
		}
	}
}

// ask sends one batch of new times through a filter of one chain, and waits for the answer.
func (w *wires) ask(seq uint64, site string, elements []uint64, t int64) (copies []bool) {
	w.t.Helper()
	times := make([]int64, len(elements))
	for i := range times {
		times[i] = t
	}
	name := fmt.Sprint(site, seq)
	w.waiting[0] = append(w.waiting[0], &sent{site: site, reply: name, msg: request(seq, elements, times)})
	for w.step() {
	}
	for i := range elements {
		copies = append(copies, w.answers[name][i/8]>>(i%8)&1 != 0)
	}
	return copies
}

func ones(bits []bool) (n int) {
	for _, b := range bits {
		if b {
			n++
		}
	}
	return n
}

func random(rng *rand.Rand, n int) (elements []uint64) {
	for range n {
		elements = append(elements, rng.Uint64()&(1<<hubclient.DigestBits-1))
	}
	return elements
}

// TestRecovers has a slice of timers lose all. Until a window has passed the heuristic decides
// without it, and then it answers again.
func TestRecovers(t *testing.T) {
	s := Shape{Layout: Vertical, H: 1, V: 4, Filter: Timers, Hashes: 4, Bytes: 1 << 18, Primitive: FirstTestThenSet, WindowUS: 1000}
	w := newWires(t, s, rand.New(rand.NewPCG(5, 5)))
	known := random(w.rng, 500)
	w.ask(1, "a", known, 1e15)
	w.crash(2)
	if n := ones(w.ask(2, "b", known, 1e15+300)); n != len(known) {
		t.Errorf("%d of %d known to the other slices", n, len(known))
	}
	w.ask(3, "a", random(w.rng, 10), 1e15+400)
	if !w.links[2].Stats().Lost {
		t.Error("it answers at once")
	}
	w.ask(4, "a", random(w.rng, 10), 1e15+2000)
	if w.links[2].Stats().Lost {
		t.Error("it answers no more")
	}
}

// TestBeginsAnew makes all slices lose their state: then nothing is a duplicate, whatever
// the setting, and all of them find later elements again.
func TestBeginsAnew(t *testing.T) {
	for _, s := range shapes() {
		if s.Chains() > 1 {
			continue
		}
		s.AtLeast, s.Bytes = 0, 1<<20
		t.Run(s.String(), func(t *testing.T) {
			w := newWires(t, s, rand.New(rand.NewPCG(6, 6)))
			known := random(w.rng, 50)
			w.ask(1, "a", known, 1e15)
			for n := range w.links {
				w.crash(n)
			}
			if n := ones(w.ask(2, "b", known, 1e15)); n != 0 {
				t.Errorf("%d of %d are duplicates of nothing", n, len(known))
			}
			if n := ones(w.ask(3, "a", known, 1e15)); n != len(known) {
				t.Errorf("%d of %d are found again", n, len(known))
			}
			for n, l := range w.links {
				if l.Stats().Lost {
					t.Errorf("slice %d does not answer", n)
				}
			}
		})
	}
}

// TestRepeats loses messages between slices, so sites repeat requests until they are
// answered. No element is a copy of itself: the first of its kind is new.
func TestRepeats(t *testing.T) {
	for _, s := range shapes() {
		if s.Chains() > 1 {
			continue
		}
		s.Bytes, s.Equal = 1<<20, 0 // no false positives
		t.Run(s.String(), func(t *testing.T) {
			w := newWires(t, s, rand.New(rand.NewPCG(7, 7)))
			w.drops, w.moves = 30, 100
			repeats, answered := 0, 0
			for seq := range uint64(200) {
				elements := random(w.rng, 20)
				msg := request(seq, elements, make([]int64, len(elements)))
				name := fmt.Sprint("r", seq)
				for w.answers[name] == nil {
					repeats++
					w.waiting[0] = append(w.waiting[0], &sent{site: "a", reply: name, msg: msg})
					for w.rng.IntN(100) > 0 && w.step() {
					}
					if repeats > 10_000 {
						t.Fatal("no answer")
					}
				}
				answered++
				for _, b := range w.answers[name] {
					if b != 0 {
						t.Fatalf("request %d: elements are copies of themselves: %x", seq, w.answers[name])
					}
				}
			}
			if repeats == answered {
				t.Error("no request was repeated")
			}
		})
	}
}

// TestNothingPending has sets that were lost on their way be sent again, and forgotten when
// they are back.
func TestNothingPending(t *testing.T) {
	s := Shape{Layout: Vertical, H: 1, V: 5, Filter: Bloom, Hashes: 3, Bytes: 1 << 16, Primitive: FirstTestThenSet, AtLeast: 3}
	w := newWires(t, s, rand.New(rand.NewPCG(8, 8)))
	for seq := range uint64(200) {
		w.drops = 5
		elements := random(w.rng, 5)
		w.waiting[0] = append(w.waiting[0], &sent{site: "a", reply: fmt.Sprint(seq), msg: request(seq, elements, make([]int64, 5))})
		for w.step() {
		}
	}
	d := w.links[4].decide
	if len(d.pending) == 0 {
		t.Error("no set was lost: the test shows nothing")
	}
	w.drops = 0
	for seq := uint64(1000); len(d.pending) > 0; seq++ {
		if seq > 1010 {
			t.Fatalf("%d sets are pending", len(d.pending))
		}
		w.ask(seq, "b", random(w.rng, 5), 0)
	}
	if len(d.recent) != 0 {
		t.Errorf("%d positions are remembered", len(d.recent))
	}
}

// TestFull lets no set come back: the number under way stays bounded, for few large sets
// and for many small ones, until one is back.
func TestFull(t *testing.T) {
	s := Shape{Layout: Vertical, H: 1, V: 5, Filter: Bloom, Hashes: 8, Bytes: 1 << 26, Primitive: FirstTestThenSet}
	for _, elements := range []int{1, maxElements} {
		d, p, rng := newDecider(s), newPlaces(s), rand.New(rand.NewPCG(9, 9))
		pos := make([]uint64, p.k)
		for !d.full() {
			var news []setting
			for _, e := range random(rng, elements) {
				p.of(pos, e)
				d.remember(pos, 1)
				news = append(news, setting{e, 1})
			}
			d.send(news)
		}
		if len(d.pending) > maxPending || len(d.recent) > maxRecent+maxElements*s.Hashes {
			t.Errorf("sets of %d elements: %d sets, %d positions", elements, len(d.pending), len(d.recent))
		}
		if d.back(d.pending[0].Number, &p); d.full() {
			t.Errorf("sets of %d elements: still full when one is back", elements)
		}
	}
}

// TestRates has slices of a half-full filter be lost, and compares the shares of wrong verdicts
// with theory.SplitHybrid, which status shows.
func TestRates(t *testing.T) {
	const lost, queries = 2, 20_000
	for x := range 9 {
		s := Shape{Layout: Vertical, H: 1, V: 10, Filter: Bloom, Hashes: 8, Bytes: 1 << 15, Primitive: FirstTestThenSet, AtLeast: x}
		w := newWires(t, s, rand.New(rand.NewPCG(9, 9)))
		bits := s.Size() * s.Links()
		known := random(w.rng, bits*693/1000/s.Hashes)
		seq := uint64(0)
		send := func(elements []uint64) (seen int) {
			for from := 0; from < len(elements); from += 1000 {
				seq++
				seen += ones(w.ask(seq, "a", elements[from:min(from+1000, len(elements))], 0))
			}
			return seen
		}
		send(known)
		fill := 0.0
		for _, l := range w.links {
			fill += l.Stats().Fill / float64(len(w.links))
		}
		for n := range lost {
			w.crash(n)
		}
		fnr := 1 - float64(send(known))/float64(len(known)) // sets nothing that links that live lack
		wantFPR, wantFNR, err := theory.Sliced{Bits: bits, K: s.Hashes, Slices: s.V}.SplitHybrid(s.Hashes, lost, math.Pow(fill, 8), x)
		if err != nil {
			t.Fatal(err)
		}
		// Each set of queries fills the filter further, so few are asked.
		fpr := float64(send(random(w.rng, queries/20))) / (queries / 20)
		if limit := 6*math.Sqrt(wantFNR*(1-wantFNR)/float64(len(known))) + 1e-9; math.Abs(fnr-wantFNR) > limit {
			t.Errorf("x = %d: misses %.4f, formula %.4f within %.4f", x, fnr, wantFNR, limit)
		}
		if limit := 6*math.Sqrt(wantFPR/(queries/20)) + 0.02 + 0.1*wantFPR; math.Abs(fpr-wantFPR) > limit {
			t.Errorf("x = %d: false positives %.4f, formula %.4f within %.4f", x, fpr, wantFPR, limit)
		}
	}
}

// TestShapes wants impossible shapes to be refused.
func TestShapes(t *testing.T) {
	good := Shape{Layout: HV, H: 2, V: 3, Filter: Timers, Hashes: 4, Bytes: 1 << 12, Primitive: FirstTestThenSet, WindowUS: 1000}
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Shape){
		"layout": func(s *Shape) { s.Layout = "diagonal" }, "filter": func(s *Shape) { s.Filter = "" },
		"primitive": func(s *Shape) { s.Primitive = TestAndSet }, "none": func(s *Shape) { s.H = 0 },
		"many": func(s *Shape) { s.V = math.MaxInt }, "vertical": func(s *Shape) { s.Layout = Vertical },
		"horizontal": func(s *Shape) { s.Layout = Horizontal }, "hashes": func(s *Shape) { s.Hashes = MaxHashes + 1 },
		"bytes": func(s *Shape) { s.Bytes = 6*8 - 1 }, "equal": func(s *Shape) { s.Equal = 5 },
		"answers": func(s *Shape) { s.AtLeast = -1 }, "window": func(s *Shape) { s.WindowUS = 0 },
		"growth of events": func(s *Shape) { s.Filter, s.Deliveries, s.Grow, s.FPR, s.Limit = Events, 9, ByDensity, 0.1, s.Bytes }, "rate": func(s *Shape) { s.FPR = 0.1 },
		"growth":         func(s *Shape) { s.Filter, s.Grow, s.FPR, s.Limit = Bloom, "slowly", 0.1, s.Bytes },
		"growth at 0":    func(s *Shape) { s.Filter, s.Grow, s.Limit = Bloom, ByDensity, s.Bytes },
		"growth at NaN":  func(s *Shape) { s.Filter, s.Grow, s.FPR, s.Limit = Bloom, ByDensity, math.NaN(), s.Bytes },
		"growth at once": func(s *Shape) { s.Filter, s.Grow, s.FPR, s.Limit = Bloom, ByCardinality, 1e-300, s.Bytes },
		"limit":          func(s *Shape) { s.Filter, s.Grow, s.FPR, s.Limit = Bloom, ByDensity, 0.1, s.Bytes-1 },
		"events":         func(s *Shape) { s.Filter = Events }, "few timers": func(s *Shape) { s.Filter, s.Deliveries = Events, 1000 },
	} {
		s := good
		change(&s)
		if err := s.Check(); !errors.Is(err, ErrShape) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := New(s, 0); !errors.Is(err, ErrShape) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(good, 6); !errors.Is(err, ErrShape) {
		t.Error(err)
	}
}

// TestStore compares a store of timers with plain numbers, over many bases.
func TestStore(t *testing.T) {
	s, err := newStore(100, true)
	if err != nil {
		t.Fatal(err)
	}
	plain, now, rng := make([]uint64, 100), uint64(1<<40), rand.New(rand.NewPCG(1, 1))
	for range 20_000 {
		now += rng.Uint64N(1 << 24)
		off, z := rng.Uint64N(100), now+1+rng.Uint64N(1000)
		s.set(off, z)
		plain[off] = max(plain[off], z)
		for off, want := range plain {
			if got := s.get(uint64(off)); got != want && (got > now || want > now) {
				t.Fatalf("timer %d at %d: %d, want %d", off, now, got, want)
			}
		}
	}
	if s.base <= 1<<40 {
		t.Errorf("base %d has not moved", s.base)
	}
	if err := s.arena.Close(); err != nil {
		t.Error(err)
	}
}

// TestBadMessages gives links messages that no link sends.
func TestBadMessages(t *testing.T) {
	s := Shape{Layout: Vertical, H: 1, V: 3, Filter: Bloom, Hashes: 3, Bytes: 1 << 12, Primitive: TestAndSet, AtLeast: 3}
	l := newLink(t, s, 1)
	defer l.Close()
	good := newMessage(kindTAS, 1, "a", "_INBOX.a.x", request(1, []uint64{1, 2}, []int64{0, 0}), 1).all
	if _, err := l.Pass(good); err != nil {
		t.Fatal(err)
	}
	for n := range good {
		if _, err := l.Pass(good[:n]); !errors.Is(err, ErrMessage) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	for _, m := range []*message{
		newMessage(kindTest, 1, "a", "r", request(1, []uint64{1}, []int64{0}), 1),
		newMessage(kindTAS, 1, "a b", "r", request(1, []uint64{1}, []int64{0}), 1),
		newMessage(kindTAS, 1, "a", "r", request(1, []uint64{1}, []int64{0}), 2),
		newMessage(kindSet, 1, "", "", nil, 9), newMessage(9, 1, "", "", nil, 0),
	} {
		if _, err := l.Pass(m.all); !errors.Is(err, ErrMessage) {
			t.Errorf("kind %d: %v", m.kind, err)
		}
	}
}

// FuzzPass gives a link any message.
func FuzzPass(f *testing.F) {
	s := Shape{Layout: Vertical, H: 1, V: 2, Filter: Events, Hashes: 3, Bytes: 1 << 12, Primitive: FirstTestThenSet, AtLeast: 1, Deliveries: 10}
	body := request(1, []uint64{1, 2}, []int64{0, 0})
	f.Add(newMessage(kindTest, 1, "a", "r", body, stateBytes(kindTest, 2, s)).all)
	f.Add(newSet(3, 4, []setting{{1, 2}, {3, 4}}).all)
	f.Add(newMessage(kindFresh, 0, "", "", nil, 0).all)
	f.Fuzz(func(t *testing.T, msg []byte) {
		for n := range 2 {
			l := newLink(t, s, n)
			if _, err := l.Pass(append([]byte(nil), msg...)); err != nil && !errors.Is(err, ErrMessage) {
				t.Error(err)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestBadSnapshots restores snapshots that no link has saved.
func TestBadSnapshots(t *testing.T) {
	s := Shape{Layout: Vertical, H: 1, V: 3, Filter: Bloom, Hashes: 3, Bytes: 1 << 12, Primitive: FirstTestThenSet, AtLeast: 3}
	w := newWires(t, s, rand.New(rand.NewPCG(1, 1)))
	w.ask(1, "a", random(w.rng, 10), 0)
	good := w.links[2].Save(nil)
	for n := range good {
		if _, err := Restore(s, 2, good[:n]); !errors.Is(err, slice.ErrSnapshot) {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
	if _, err := Restore(s, 1, good); !errors.Is(err, slice.ErrSnapshot) {
		t.Error(err)
	}
	other := s
	other.Hashes = 2
	if _, err := Restore(other, 2, good); !errors.Is(err, slice.ErrSnapshot) {
		t.Error(err)
	}
}
