// SPDX-License-Identifier: Apache-2.0

package paper

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/engine/theory"
)

const (
	k        = 8
	bits     = 1 << 18
	elements = bits * 693 / 1000 / k // so half of the bits are set
	queries  = 20_000
)

// filled starts slices, and sets the bits of the given number of elements.
func filled(t *testing.T, a arrangement) ([]*slice, *producer, *rand.Rand) {
	t.Helper()
	s := startServer(t)
	all, p := startSlices(t, s, a), &producer{t: t, conn: dial(t, s), a: a}
	rng := rand.New(rand.NewPCG(3, 1))
	batches(rng, elements, func(digests []uint64) { p.send(opSet, digests) })
	return all, p, rng
}

// batches gives n random elements to f.
func batches(rng *rand.Rand, n int, f func(digests []uint64)) {
	for ; n > 0; n -= 1000 {
		digests := make([]uint64, min(n, 1000))
		for i := range digests {
			digests[i] = rng.Uint64()
		}
		f(digests)
	}
}

// near fails unless a share of the given number of trials agrees with its expectation:
// six standard deviations are wrong once in 10^9. slack is the filter's own deviation, as
// its bits are random too.
func near(t *testing.T, what string, got, want float64, trials int, slack float64) {
	t.Helper()
	if limit := 6*math.Sqrt(want*(1-want)/float64(trials)) + slack; math.Abs(got-want) > limit {
		t.Errorf("%s: %.5f, want %.5f within %.5f", what, got, want, limit)
	}
}

// TestFigure1 has slices fail, one after the other, by ending their subscriptions. The
// share of new elements that count as duplicates equals the paper's formulas, as it does
// for engine/paper in one process.
func TestFigure1(t *testing.T) {
	const slices = 10
	for _, vertical := range []bool{false, true} {
		a, name := arrangement{h: slices, v: 1, k: k, bits: bits}, "horizontal"
		if vertical {
			a, name = arrangement{h: 1, v: slices, k: k, bits: bits}, "vertical"
		}
		all, p, rng := filled(t, a)
		sliced := theory.Sliced{Bits: bits, K: k, Slices: slices}
		alone, err := theory.BloomFPR(bits, k, elements)
		if err != nil {
			t.Fatal(err)
		}
		for failed := range 5 {
			if failed > 0 {
				if err := all[failed-1].sub.Unsubscribe(); err != nil {
					t.Fatal(err)
				}
				if err := all[failed-1].conn.Flush(); err != nil {
					t.Fatal(err)
				}
			}
			duplicates := 0
			batches(rng, queries, func(digests []uint64) {
				for _, v := range p.send(opTest, digests) {
					if v.set { // whatever failed slices leave open is a duplicate
						duplicates++
					}
				}
			})
			choices := 1 // of slices that an element makes
			if vertical {
				choices = k
			}
			want, _, err := sliced.SplitHybrid(choices, failed, alone, 0)
			if err != nil {
				t.Fatal(err)
			}
			got := float64(duplicates) / queries
			t.Logf("%s, %d of %d failed: over the wire %.4f, formula %.4f", name, failed, slices, got, want)
			near(t, name, got, want, queries, 0.002+0.05*want)
		}
	}
}

// TestFigure5Hybrid has two of ten vertical slices fail. An element is a duplicate if none
// of its bits in slices that live is clear, and at least x bits are in these.
func TestFigure5Hybrid(t *testing.T) {
	const slices, failed = 10, 2
	all, p, rng := filled(t, arrangement{h: 1, v: slices, k: k, bits: bits})
	for _, s := range all[:failed] {
		if err := s.sub.Unsubscribe(); err != nil {
			t.Fatal(err)
		}
		if err := s.conn.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	var fresh, known []verdict
	batches(rng, queries, func(digests []uint64) { fresh = append(fresh, p.send(opTest, digests)...) })
	batches(rand.New(rand.NewPCG(3, 1)), elements, func(digests []uint64) { known = append(known, p.send(opTest, digests)...) })
	alone, err := theory.BloomFPR(bits, k, elements)
	if err != nil {
		t.Fatal(err)
	}
	for x := range k + 1 {
		wantFPR, wantFNR, err := theory.Sliced{Bits: bits, K: k, Slices: slices}.SplitHybrid(k, failed, alone, x)
		if err != nil {
			t.Fatal(err)
		}
		fp, fn := 0, 0
		for _, v := range fresh {
			if v.set && v.live >= x {
				fp++
			}
		}
		for _, v := range known {
			if !v.set || v.live < x {
				fn++
			}
		}
		fpr, fnr := float64(fp)/queries, float64(fn)/float64(len(known))
		t.Logf("x = %d: false positives %.4f (formula %.4f), misses %.4f (formula %.4f)", x, fpr, wantFPR, fnr, wantFNR)
		near(t, "false positives", fpr, wantFPR, queries, 0.002+0.05*wantFPR)
		near(t, "misses", fnr, wantFNR, elements, 1e-9)
	}
}

// TestFigure7 counts the slices that a test of a new element reaches in a chain: those up to
// the first clear bit, on average as many as the formula says.
func TestFigure7(t *testing.T) {
	const slices, elements = 20, 2000
	all, p, rng := filled(t, arrangement{h: 1, v: slices, k: k, bits: bits})
	count := func() (sum int) {
		for _, s := range all {
			sum += int(s.tests.Swap(0))
		}
		return sum
	}
	count()
	total := 0
	for range elements {
		m := message{op: opFirst}
		for _, at := range p.a.addresses(rng.Uint64()) {
			i := slicesIndex(m.route, at.slice)
			if i == len(m.route) {
				m.route, m.bits = append(m.route, at.slice), append(m.bits, nil)
			}
			m.bits[i] = append(m.bits[i], elementBit{0, at.offset})
		}
		p.request(&m, 1)
		reached := count()
		if want := upToClear(all, &m); reached != want {
			t.Fatalf("%d slices were reached, want %d of %d", reached, want, len(m.route))
		}
		total += reached
	}
	want, err := theory.Sliced{Bits: bits, K: k, Slices: slices}.PipelinedAccesses(0.5)
	if err != nil {
		t.Fatal(err)
	}
	got := float64(total) / elements
	t.Logf("%.3f slices a lookup, formula %.3f", got, want)
	if math.Abs(got-want) > 0.2 {
		t.Errorf("%.3f slices a lookup, want %.3f", got, want)
	}
}

func slicesIndex(route []int, slice int) int {
	for i, s := range route {
		if s == slice {
			return i
		}
	}
	return len(route)
}

// upToClear returns how many slices of a route are asked until one has a clear bit.
func upToClear(all []*slice, m *message) (n int) {
	for i, s := range m.route {
		n++
		for _, e := range m.bits[i] {
			if all[s].bits[e.offset/64]>>(e.offset%64)&1 == 0 {
				return n
			}
		}
	}
	return n
}
