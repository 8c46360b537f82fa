// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestCommonTime cuts the begin and the end of captures, and loses packets in between: only these
// are lost, whatever the clocks and however delays vary.
func TestCommonTime(t *testing.T) {
	r := rand.New(rand.NewPCG(59, 4))
	for n := range 40 {
		x := random{jitter: []int64{0, us, 2 * ms, 20 * ms}[n%4], offset: []int64{0, 3700 * ms, -86_400_000 * ms}[n%3], drift: []float64{0, 40e-6}[n%2]}
		a, b := x.sides(r, 3000)
		all := [2][]packet{a, b}
		for side := range all {
			begin, end := r.IntN(600), len(all[side])-r.IntN(600)
			if n%5 == 0 {
				begin, end = 59, len(all[side])
			}
			all[side] = slices.DeleteFunc(all[side][begin:end], func(p packet) bool { return lost(side, p.id) })
		}
		want := Counts{}
		for id := range uint32(3000) {
			if lost(1, id) && !lost(0, id) {
				want.OnlyA++
			} else if lost(0, id) && !lost(1, id) {
				want.OnlyB++
			}
		}
		got, _ := compared(Config{}, all[0], all[1], 500)
		if want.Both = got.Both; got.Counts != want {
			t.Errorf("%d: %+v: %+v, want %+v, %+v", n, x, got.Counts, want, got.Sides)
		}
		checkSums(t, got)
	}
}

// lost reports whether TestCommonTime takes a packet out of the middle of a side.
func lost(side int, id uint32) bool { return id > 1200 && id < 1800 && id%uint32(7+side) == 0 }
