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
