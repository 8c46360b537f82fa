// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
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

// TestSelf compares captures with themselves: few different packets come often, a window lasts as long as
// most captures, and some times are wrong by an hour.
func TestSelf(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 27))
		packets := make([]packet, 200)
		for i := range packets {
			if packets[i] = (packet{time: int64(i) * 470 * ms, id: r.Uint32N(30)}); i > 0 && r.IntN(50) == 0 {
				packets[i].time += []int64{-60_000 * ms, 3_600_000 * ms, -3_600_000 * ms}[r.IntN(3)]
			}
		}
		if got, _ := compared(Config{Window: time.Minute}, packets, packets, 500); got.Both != 200 || got.Offset != 0 {
			t.Errorf("seed %d: %+v, an offset of %v", seed, got.Counts, got.Offset)
		}
	}
}

// lost reports whether TestCommonTime takes a packet out of the middle of a side.
func lost(side int, id uint32) bool { return id > 1200 && id < 1800 && id%uint32(7+side) == 0 }

// TestTalk checks that conversations which differ in one bit of an address or a port are
// distinguished: the ports of one client follow each other.
func TestTalk(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	c := &Comparer{}
	for range 1000 {
		var v4 [16]byte
		var v6 [48]byte
		for i := range v4 {
			v4[i] = byte(random.Uint32())
		}
		for i := range v6 {
			v6[i] = byte(random.Uint32())
		}
		for bit := range 12 * 8 {
			other := v4
			other[bit/8] ^= 1 << (bit % 8)
			if c.talk4(&v4)>>2 == c.talk4(&other)>>2 {
				t.Fatalf("IPv4: bit %d makes no difference", bit)
			}
		}
		for bit := range 36 * 8 {
			other := v6
			other[bit/8] ^= 1 << (bit % 8)
			if c.talk6(&v6)>>2 == c.talk6(&other)>>2 {
				t.Fatalf("IPv6: bit %d makes no difference", bit)
			}
		}
	}
}
