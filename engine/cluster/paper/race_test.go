// SPDX-License-Identifier: Apache-2.0

package paper

import (
	"math/rand/v2"
	"sync"
	"testing"
)

// outcome counts the verdicts on elements that two producers sent at the same time.
type outcome struct{ one, bothNew, bothSeen int }

// race has two producers send the same batches at the same time.
func race(t *testing.T, a arrangement, primitive func(*producer, []uint64) []bool) (o outcome) {
	t.Helper()
	s := startServer(t)
	startSlices(t, s, a)
	producers := []*producer{{t: t, conn: dial(t, s), a: a}, {t: t, conn: dial(t, s), a: a}}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		digests := make([]uint64, 200)
		for i := range digests {
			digests[i] = rng.Uint64()
		}
		var seen [2][]bool
		var barrier sync.WaitGroup
		for i, p := range producers {
			barrier.Go(func() { seen[i] = primitive(p, digests) })
		}
		barrier.Wait()
		for i := range digests {
			switch {
			case seen[0][i] && seen[1][i]:
				o.bothSeen++
			case !seen[0][i] && !seen[1][i]:
				o.bothNew++
			default:
				o.one++
			}
		}
	}
	return o
}

// TestRace sends 20,000 elements from two producers at the same time. If one slice
// decides, each is new at one of them, as in the chains of the hub (its TestChainRace).
// Side by side some are new at both: since the test sees this here, it would see it
// elsewhere. No element is ever taken for a duplicate at both.
func TestRace(t *testing.T) {
	const bits = 1 << 24 // few false positives
	seen := 0
	for _, c := range []struct {
		name      string
		a         arrangement
		primitive func(*producer, []uint64) []bool
		exact     bool
	}{
		{"horizontal test-and-set", arrangement{h: 4, v: 1, k: 4, bits: bits}, (*producer).testAndSet, true},
		{"vertical test-and-set side by side", arrangement{h: 1, v: 4, k: 4, bits: bits}, (*producer).testAndSet, false},
		{"vertical first-test-then-set side by side", arrangement{h: 1, v: 4, k: 4, bits: bits}, (*producer).firstTest, false},
		{"horizontal first-test-then-set", arrangement{h: 4, v: 1, k: 4, bits: bits}, (*producer).firstTest, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := race(t, c.a, c.primitive)
			t.Logf("new at one %d, at both %d, at none %d", o.one, o.bothNew, o.bothSeen)
			if o.bothSeen > 0 || c.exact && o.bothNew > 0 {
				t.Errorf("%+v", o)
			}
			if !c.exact {
				seen += o.bothNew
			}
		})
	}
	if seen == 0 {
		t.Error("no race was seen where there must be some")
	}
}

// TestIsOneFilter has slices side by side answer one producer as the unsliced filter does,
// element for element.
func TestIsOneFilter(t *testing.T) {
	const bits = 1 << 12
	whole := make([]bool, bits)
	a := arrangement{h: 1, v: 8, k: 4, bits: bits}
	for name, primitive := range map[string]func(*producer, []uint64) []bool{
		"test-and-set": (*producer).testAndSet, "first-test-then-set": (*producer).firstTest,
	} {
		clear(whole)
		s := startServer(t)
		startSlices(t, s, a)
		p := &producer{t: t, conn: dial(t, s), a: a}
		rng := rand.New(rand.NewPCG(2, 1))
		for range 700 {
			digest := rng.Uint64N(1000) * 0x9e3779b97f4a7c15
			want := true
			for _, at := range a.addresses(digest) {
				want = want && whole[at.slice*(bits/8)+int(at.offset)]
			}
			for _, at := range a.addresses(digest) {
				whole[at.slice*(bits/8)+int(at.offset)] = true
			}
			if got := primitive(p, []uint64{digest})[0]; got != want {
				t.Fatalf("%s: seen %v, want %v", name, got, want)
			}
		}
	}
}
